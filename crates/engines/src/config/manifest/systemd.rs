//! systemd units: `ExecStart=` over several lines, `Environment=`.

use super::shell::{Style, filled, opened, split};
use super::{Launch, ManifestError, ManifestTexts, Passage, Variable, Word};

/// Whether a file is a unit or a drop-in of one.
pub(super) fn looks_like_one(name: &str, text: &str) -> bool {
    name.strip_suffix(".service").is_some() || text.lines().any(|line| line.trim() == "[Service]")
}

/// What the unit starts: the last `ExecStart=`, as an empty one takes the earlier ones back.
pub(super) fn read(text: &str) -> Result<Vec<Launch>, ManifestError> {
    let mut launch: Option<Launch> = None;
    let mut environment: Vec<Variable> = Vec::new();
    let mut section = "";
    for (line, parts) in logical_lines(text) {
        let first = parts.first().map_or("", |(_, part)| part.trim());
        if first.is_empty() {
            continue;
        }
        if let Some(name) = first.strip_prefix('[') {
            section = name
                .strip_suffix(']')
                .ok_or(ManifestError::Unit { line, why: "a section's name has no end" })?;
            continue;
        }
        let Some((key, value)) = first.split_once('=') else {
            return Err(ManifestError::Unit { line, why: "expected a setting, such as ExecStart=…" });
        };
        if section != "Service" {
            continue;
        }
        let parts = std::iter::once((line, value)).chain(parts.iter().skip(1).copied());
        match key.trim() {
            "ExecStart" => launch = command(line, parts),
            "Environment" if value.trim().is_empty() => environment.clear(),
            "Environment" => environment.extend(parts.flat_map(|(at, part)| assignments(part, at))),
            _ => {}
        }
    }
    let Some(mut launch) = launch else { return Ok(Vec::new()) };
    launch.words = opened(filled(launch.words, &environment, Style::Systemd), &environment);
    launch.environment = environment;
    Ok(vec![launch])
}

/// Every command of the unit and its variables, which are set as a shell sets them; also what a later line takes back.
pub(super) fn texts(text: &str, found: &mut ManifestTexts) {
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let place = |number: u32, skipped: usize, length: usize| {
        let start = starts.get(number.saturating_sub(1) as usize).map_or(text.len(), |start| start + skipped);
        start..start.saturating_add(length)
    };
    for (_, parts) in logical_lines(text) {
        let Some(((number, first), rest)) = parts.split_first() else { continue };
        let Some((key, value)) = first.split_once('=') else { continue };
        if key.trim().starts_with("Exec") || key.trim() == "Environment" {
            let value = place(*number, key.len() + 1, value.len());
            let rest = rest.iter().map(|(number, part)| place(*number, 0, part.len()));
            found
                .lines
                .push(Passage::of_parts(text, &std::iter::once(value).chain(rest).collect::<Vec<_>>()));
        }
    }
}

/// A line with those its backslash joins to it, each with its number; comments between them are left out.
fn logical_lines(text: &str) -> Vec<(u32, Vec<(u32, &str)>)> {
    let mut lines = Vec::new();
    let mut open: Option<(u32, Vec<(u32, &str)>)> = None;
    for (line, number) in text.lines().zip(1_u32..) {
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        let (_, parts) = open.get_or_insert_with(|| (number, Vec::new()));
        parts.push((number, part));
        if !goes_on {
            lines.extend(open.take());
        }
    }
    lines.extend(open);
    lines
}

/// `-`, `@`, `:`, `+` and `!` before the program change how it is run, not what.
fn command<'a>(line: u32, parts: impl Iterator<Item = (u32, &'a str)>) -> Option<Launch> {
    let mut words: Vec<Word> = parts.flat_map(|(at, part)| split(part, at)).collect();
    if let Some(program) = words.first_mut() {
        program.text = program.text.trim_start_matches(['-', '@', ':', '+', '!', '|']).to_owned();
    }
    (!words.is_empty()).then(|| Launch { name: "ExecStart".into(), line, words, ..Launch::default() })
}

fn assignments(text: &str, line: u32) -> Vec<Variable> {
    let pairs = split(text, line).into_iter().filter_map(|word| {
        let (name, value) = word.text.split_once('=')?;
        Some(Variable { name: name.to_owned(), value: value.to_owned(), line })
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = "\
[Unit]
Description=vLLM
[Service]
# the model server
Environment=VLLM_LOGGING_LEVEL=INFO \"EXTRA=--max-num-seqs 8\"
Environment=CUDA_VISIBLE_DEVICES=0
ExecStart=-/opt/venv/bin/vllm serve /models/x \\
    # --max-num-seqs 4
    --gpu-memory-utilization 0.9 \\
    --max-model-len 16k $EXTRA
Restart=always
[Install]
WantedBy=multi-user.target
";

    #[test]
    fn a_command_runs_over_lines_and_comments_and_each_word_knows_its_own() {
        let launch = &read(UNIT).unwrap()[0];
        let words: Vec<(&str, u32)> = launch.words.iter().map(|w| (w.text.as_str(), w.line)).collect();
        assert_eq!(
            words,
            [
                ("/opt/venv/bin/vllm", 7),
                ("serve", 7),
                ("/models/x", 7),
                ("--gpu-memory-utilization", 9),
                ("0.9", 9),
                ("--max-model-len", 10),
                ("16k", 10),
                ("--max-num-seqs", 5),
                ("8", 5)
            ]
        );
        assert_eq!(launch.environment[0].name, "VLLM_LOGGING_LEVEL");
        assert_eq!(launch.environment[2].line, 6);
    }

    #[test]
    fn a_drop_in_takes_the_command_back() {
        let launches =
            read("[Service]\nExecStart=vllm serve a\nExecStart=\nExecStart=vllm serve b\n").unwrap();
        assert_eq!(launches[0].words[2].text, "b");
        assert_eq!(read("[Service]\nExecStart=a\nExecStart=\n").unwrap(), []);
    }

    #[test]
    fn a_damaged_unit_is_named_by_its_line() {
        assert_eq!(read("[Service]\nnonsense\n").unwrap_err().line(), 2);
        assert_eq!(read("[Service\n").unwrap_err().line(), 1);
    }
}
