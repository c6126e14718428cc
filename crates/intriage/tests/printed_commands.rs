//! Every command and every flag that a page of the catalogue prints exists: ours by our own `--help`, vLLM's by the table that
//! `lab/flag_rows` makes from the installed package.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use intriage_diagnose::{Cause, catalogue};
use intriage_engines::{Engine, Version};

/// Spellings of the flags of `vllm serve`.
fn vllm_flags() -> BTreeSet<&'static str> {
    let table = include_str!("../../engines/data/vllm_flags.txt");
    table.lines().filter_map(|row| row.split('\t').next()).flat_map(str::split_whitespace).collect()
}

/// The words that are long flags, without what stands around them.
fn flags(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.split(|c: char| c.is_whitespace() || matches!(c, '(' | '`' | '"' | '[' | '|' | ',' | ';'))
        .filter(|word| word.starts_with("--"))
        .map(move |word| word.split_once(|c| !part(c)).map_or(word, |(flag, _)| flag))
        .filter(|flag| flag.len() > "--".len())
}

/// What a cause prints for people to type.
fn printed(cause: &Cause) -> Vec<&'static str> {
    let remedies = cause.remedies.iter().flat_map(|r| [r.change, r.cost]);
    let probe = [cause.probe.steps, cause.probe.if_so, cause.probe.if_not];
    remedies.chain(probe).chain([cause.effect, cause.confirm, cause.summary]).collect()
}

/// Flags in vLLM's remedies that are another program's: Docker's, and uv's.
const OTHERS: [&str; 3] = ["--gpus", "--shm-size", "--torch-backend"];

#[test]
fn flags_of_remedies_for_vllm_are_flags_of_vllm() {
    let (known, release) = (vllm_flags(), Version::parse("0.32.0").expect("a release"));
    let (mut checked, mut unknown) = (0, Vec::new());
    for cause in catalogue() {
        let of_now =
            |r: &&intriage_diagnose::Remedy| r.engine == Some(Engine::Vllm) && r.range.holds(&release);
        for flag in cause.remedies.iter().filter(of_now).flat_map(|r| flags(r.change)) {
            checked += 1;
            if !known.contains(flag) && !OTHERS.contains(&flag) {
                unknown.push(format!("{}: {flag}", cause.id));
            }
        }
    }
    assert_eq!(unknown, [""; 0], "vLLM 0.32 has none of them");
    assert!(checked > 50, "only {checked} flags were looked up");
}

/// `--help` of a subcommand, or nothing where there is none.
fn help(subcommand: &str) -> Option<String> {
    let run = Command::new(env!("CARGO_BIN_EXE_intriage")).args([subcommand, "--help"]).output().ok()?;
    run.status.success().then(|| String::from_utf8_lossy(&run.stdout).into_owned())
}

#[test]
fn our_own_commands_in_the_catalogue_exist_with_their_flags() {
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    for cause in catalogue() {
        for text in printed(cause) {
            for said in text.split("intriage ").skip(1) {
                let line = said.split(['`', ')', ';']).next().unwrap_or_default();
                let Some(name) = line.split_whitespace().next() else { continue };
                if !name.chars().all(|c| c.is_ascii_lowercase()) {
                    continue;
                }
                let page = pages.entry(name.to_owned()).or_insert_with(|| {
                    help(name).unwrap_or_else(|| panic!("{}: there is no `intriage {name}`", cause.id))
                });
                for flag in flags(line) {
                    assert!(page.contains(flag), "{}: `intriage {name}` has no {flag}", cause.id);
                }
            }
        }
    }
    assert!(pages.len() >= 3, "{:?}", pages.keys());
}

#[test]
fn flags_are_found_in_what_people_write() {
    let found: Vec<&str> =
        flags("set `--max-num-seqs 4`, (--kv-cache-dtype=fp8) or --no-x; -- ends").collect();
    assert_eq!(found, ["--max-num-seqs", "--kv-cache-dtype", "--no-x"]);
}
