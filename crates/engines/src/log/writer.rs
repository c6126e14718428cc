//! Which process or rank of a server wrote a line. The ranks of one server share its log, and their lines lie between
//! each other.

/// What a rank is called in SGLang's stamps.
const RANKS: [&str; 6] = ["DP", "TP", "PP", "EP", "ATTN_TP", "ATTN_DP"];
/// A name stands this far into a line at most.
const PREFIX: usize = 160;

/// The process or rank that wrote a line: `Worker_TP0`, `EngineCore_DP1`, `DP1 TP0`, `rank0`, `RayWorkerWrapper pid=811`.
pub(super) fn writer(line: &str) -> Option<String> {
    let end = (0..=line.len().min(PREFIX)).rev().find(|at| line.is_char_boundary(*at))?;
    let prefix = &line[..end];
    process(prefix).or_else(|| torchrun(prefix)).or_else(|| stamped(prefix)).or_else(|| field(line))
}

/// vLLM and Ray: `(Worker_TP0 pid=271)`, `(RayWorkerWrapper pid=811, ip=10.0.0.1)`, `(VllmWorker rank=1 pid=811)`.
fn process(prefix: &str) -> Option<String> {
    let (_, rest) = prefix.split_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    let (name, pid) = inside.split_once("pid=")?;
    let name = name.trim_end();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_=. ".contains(c);
    if !name.chars().all(plain) {
        return None;
    }
    // A name with a number tells the rank; of several without one only the process tells which it is.
    let alone = name.ends_with(|c: char| c.is_ascii_digit()) || matches!(name, "APIServer" | "EngineCore");
    let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
    Some(match (alone, name.is_empty()) {
        (true, _) => name.to_owned(),
        (false, true) => format!("pid={pid}"),
        (false, false) => format!("{name} pid={pid}"),
    })
}

/// PyTorch's launcher: `[rank0]: `, `[default0]:`.
fn torchrun(prefix: &str) -> Option<String> {
    let (name, _) = prefix.strip_prefix('[')?.split_once("]:")?;
    let number = name.strip_prefix("rank").or_else(|| name.strip_prefix("default"))?;
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    numbered.then(|| format!("rank{number}"))
}

/// SGLang: `[2026-11-15 02:26:49 DP1 TP0] `.
fn stamped(prefix: &str) -> Option<String> {
    let (inside, _) = prefix.split_once('[')?.1.split_once(']')?;
    let is_rank = |word: &&str| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        name.len() < word.len() && RANKS.contains(&name)
    };
    let ranks: Vec<&str> = inside.split(' ').filter(is_rank).collect();
    (!ranks.is_empty()).then(|| ranks.join(" "))
}

/// TGI: `… shard-manager: text_generation_launcher: Shard complete standard error output: rank=1`.
fn field(line: &str) -> Option<String> {
    let (before, number) = line.trim_end().rsplit_once(" rank=")?;
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (numbered && before.contains("text_generation")).then(|| format!("rank{number}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_and_processes_are_named() {
        for (line, name) in [
            ("(Worker_TP0 pid=271) ERROR 11-15 03:53:10 [m.py:1] no", Some("Worker_TP0")),
            ("(EngineCore_DP1 pid=271) ERROR 11-15 03:53:10 [core.py:1] no", Some("EngineCore_DP1")),
            ("(EngineCore pid=271) INFO 11-15 03:53:10 [core.py:1] x", Some("EngineCore")),
            ("(RayWorkerWrapper pid=811, ip=10.0.0.1) ERROR x", Some("RayWorkerWrapper pid=811")),
            ("(VllmWorker rank=1 pid=811) INFO x", Some("VllmWorker rank=1")),
            ("(VllmWorkerProcess pid=811) INFO x", Some("VllmWorkerProcess pid=811")),
            ("(pid=811) INFO x", Some("pid=811")),
            ("[2026-11-15 02:26:49 DP1 TP0] Decode batch", Some("DP1 TP0")),
            ("[2026-11-15 02:26:49 TP3] Decode batch", Some("TP3")),
            ("2026-11-15 04:26:49 [2026-11-15 02:26:49 TP0] Memory pool end.", Some("TP0")),
            ("[rank0]: Traceback (most recent call last):", Some("rank0")),
            (
                "2024-09-03T04:36:57.4Z ERROR shard-manager: text_generation_launcher: Shard complete standard error output: rank=1",
                Some("rank1"),
            ),
            ("[2026-11-15 02:26:49] INFO x", None),
            ("INFO 11-15 02:26:49 [a.py:1] (process 4)", None),
        ] {
            assert_eq!(writer(line).as_deref(), name, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in "(\\(|pid=|\\)|\\[|\\]:|rank|TP0| |é|\\PC){0,80}") {
            let _ = writer(&line);
        }
    }
}
