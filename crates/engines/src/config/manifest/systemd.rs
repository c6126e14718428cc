//! systemd units and their drop-ins: `ExecStart=` over several lines, `Environment=`.

use super::shell::{Style, Values, filled, opened, split};
use super::{Launch, ManifestError, ManifestTexts, Passage, Place, Variable, Word};

/// Whether a file is a unit or a drop-in of one.
pub(super) fn looks_like_one(name: &str, text: &str) -> bool {
    name.strip_suffix(".service").is_some() || text.lines().any(|line| line.trim() == "[Service]")
}

/// A unit as far as it was read: its own file, and drop-ins laid over it.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    /// The last `ExecStart=` with its line; an empty one takes the earlier ones back.
    command: Option<(u32, Vec<Word>)>,
    environment: Vec<Variable>,
    /// Whether files set variables, too. They are not here, and beat those of the unit.
    reads_files: bool,
}

impl Unit {
    /// Lays a file over what was read before, as systemd does with drop-ins.
    pub(super) fn lay(&mut self, text: &str, file: usize) -> Result<(), ManifestError> {
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
            let parts = parts.map(|(line, part)| (Place { file, line }, part));
            match key.trim() {
                "ExecStart" => self.command = command(parts).map(|words| (line, words)),
                "Environment" if value.trim().is_empty() => self.environment.clear(),
                "Environment" => {
                    for variable in parts.flat_map(|(at, part)| assignments(part, at)) {
                        self.environment.retain(|earlier| earlier.name != variable.name);
                        self.environment.push(variable);
                    }
                }
                "EnvironmentFile" => self.reads_files = !value.trim().is_empty(),
                _ => {}
            }
        }
        Ok(())
    }

    /// What it starts, where it starts or sets anything.
    pub(super) fn launch(self, name: &str) -> Option<Launch> {
        let (line, words) = self.command.unwrap_or_default();
        let variables = if self.reads_files { &[][..] } else { &self.environment };
        let values = Values { variables, all: !self.reads_files };
        let words = opened(filled(words, values, Style::Systemd), values);
        let says_something = !words.is_empty() || !self.environment.is_empty();
        says_something.then(|| Launch {
            name: name.to_owned(),
            line,
            words,
            environment: self.environment,
            ..Launch::default()
        })
    }
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
fn command<'a>(parts: impl Iterator<Item = (Place, &'a str)>) -> Option<Vec<Word>> {
    let mut words: Vec<Word> = parts.flat_map(|(at, part)| split(part, at)).collect();
    let program = words.first_mut()?;
    program.text = program.text.trim_start_matches(['-', '@', ':', '+', '!', '|']).to_owned();
    Some(words)
}

fn assignments(text: &str, at: Place) -> Vec<Variable> {
    let pairs = split(text, at).into_iter().filter_map(|word| {
        let (name, value) = word.text.split_once('=')?;
        Some(Variable { name: name.to_owned(), value: value.to_owned(), at })
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<Option<Launch>, ManifestError> {
        let mut unit = Unit::default();
        texts.iter().enumerate().try_for_each(|(file, text)| unit.lay(text, file))?;
        Ok(unit.launch("a.service"))
    }

    fn words(launch: &Launch) -> Vec<&str> {
        launch.words.iter().map(|word| word.text.as_str()).collect()
    }

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
        let launch = read(&[UNIT]).unwrap().unwrap();
        let words: Vec<(&str, u32)> = launch.words.iter().map(|w| (w.text.as_str(), w.at.line)).collect();
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
        assert_eq!(launch.environment[2].at.line, 6);
    }

    #[test]
    fn a_drop_in_takes_the_command_back() {
        let base = "[Service]\nExecStart=vllm serve a\n";
        let launch = read(&[base, "[Service]\nExecStart=\nExecStart=vllm serve b\n"]).unwrap().unwrap();
        assert_eq!(words(&launch), ["vllm", "serve", "b"]);
        assert_eq!(launch.words[2].at, Place { file: 1, line: 3 });
        assert_eq!(read(&[base, "[Service]\nExecStart=\n"]).unwrap(), None);
    }

    #[test]
    fn a_drop_in_of_variables_changes_those_it_names() {
        let base = "[Service]\nEnvironment=A=1 N=4\nExecStart=vllm serve a --max-num-seqs ${N}\n";
        let launch = read(&[base, "[Service]\nEnvironment=N=8 B=2\n"]).unwrap().unwrap();
        assert_eq!(words(&launch), ["vllm", "serve", "a", "--max-num-seqs", "8"]);
        let set: Vec<(&str, &str, usize)> =
            launch.environment.iter().map(|v| (v.name.as_str(), v.value.as_str(), v.at.file)).collect();
        assert_eq!(set, [("A", "1", 0), ("N", "8", 1), ("B", "2", 1)]);
        let cleared = read(&[base, "[Service]\nEnvironment=\n"]).unwrap().unwrap();
        assert!(cleared.environment.is_empty() && cleared.words.len() == 5);
    }

    #[test]
    fn what_a_file_of_variables_may_set_is_not_known() {
        let of = |lines: &str, command: &str| {
            let unit = format!("[Service]\nEnvironment=N=16\n{lines}ExecStart={command}\n");
            words(&read(&[&unit]).unwrap().unwrap()).join(" ")
        };
        assert_eq!(of("", "vllm serve m --a ${N} --b $M"), "vllm serve m --a 16 --b $M");
        assert_eq!(of("EnvironmentFile=-/etc/x\n", "vllm serve m --a ${N}"), "vllm serve m --a ${N}");
        assert_eq!(
            of("", "sh -c 'vllm serve m --a ${N:-64} --b ${M:-2}'"),
            "sh -c vllm serve m --a 16 --b 2"
        );
        assert_eq!(of("EnvironmentFile=/etc/x\n", "sh -c 'vllm --b ${M:-2}'"), "sh -c vllm --b ${M:-2}");
    }

    #[test]
    fn a_damaged_unit_is_named_by_its_line() {
        assert_eq!(read(&["[Service]\nnonsense\n"]).unwrap_err().line(), 2);
        assert_eq!(read(&["[Service\n"]).unwrap_err().line(), 1);
    }
}
