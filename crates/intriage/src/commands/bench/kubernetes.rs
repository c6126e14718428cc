//! `--kubernetes N`: the Indexed Job that runs this load in N shards.

use super::args::BenchArgs;

/// Says what will not be as the user may think.
pub(super) fn warn(args: &BenchArgs) {
    let url = args.url.as_ref().or(args.base_url.as_ref()).map_or("", String::as_str);
    if ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| url.contains(own)) {
        anstream::eprintln!(
            "note: {url} is the pod itself there: give the address that pods know the server by"
        );
    }
    if args.output.record.is_some() {
        anstream::eprintln!(
            "note: --record is left out: each shard keeps /runs/shard.itr, and the job's comment says how to fetch them"
        );
    }
}

/// The manifest, to be piped into `kubectl apply -f -`.
pub(super) fn job(shards: u32, image: &str) -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments = Vec::new();
    let mut skip = false;
    for word in words {
        // What only this command needs, and what each shard gets of its own.
        if skip {
            skip = false;
            continue;
        }
        let own = ["--kubernetes", "--image", "--record", "--save-result", "--shard", "--format", "--salt"];
        if own.contains(&word.as_str()) {
            skip = true;
            continue;
        }
        if own.iter().any(|o| word.starts_with(&format!("{o}="))) {
            continue;
        }
        arguments.push(word);
    }
    // One salt for all shards: they are parts of the same plan.
    arguments.push("--salt".to_owned());
    arguments.push(std::process::id().to_string());
    let quoted: Vec<String> = arguments.iter().map(|a| format!("            - {}", quote(a))).collect();
    let quoted = quoted.join("\n");
    format!(
        "# {shards} shards of one load; afterwards:
#   for i in $(seq 0 {last}); do kubectl cp $(kubectl get pod -l batch.kubernetes.io/job-name=intriage-bench,batch.kubernetes.io/job-completion-index=$i -o name | cut -d/ -f2):/runs/shard.itr shard-$i.itr; done
#   intriage bench merge shard-*.itr
apiVersion: batch/v1
kind: Job
metadata:
  name: intriage-bench
spec:
  completions: {shards}
  parallelism: {shards}
  completionMode: Indexed
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: bench
          image: {image}
          # Each shard sends its share of the plan, keeps its record, and waits to be asked for it.
          command:
            - sh
            - -c
            - intriage \"$@\" --shard \"$JOB_COMPLETION_INDEX/{shards}\" --record /runs/shard.itr --format json; code=$?; sleep 600; exit $code
            - intriage
          args:
{quoted}
          volumeMounts:
            - name: runs
              mountPath: /runs
          resources:
            requests:
              cpu: \"2\"
            limits:
              cpu: \"2\"
      volumes:
        - name: runs
          emptyDir: {{}}
",
        last = shards - 1,
        image = quote(image),
    )
}

/// A YAML string that is only ever itself.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quotes_do_not_end_the_string() {
        assert_eq!(quote("it's: {a}"), "'it''s: {a}'");
    }
}
