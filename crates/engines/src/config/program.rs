//! Which words of a command line are the engine's own, and who else may add some.

use crate::Engine;
use crate::detect::by_command_line;

/// What starts the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    /// The engine itself, or an image run by hand; its words begin here.
    Engine(usize),
    /// The entrypoint of the image; every word is passed on to it.
    Image,
    /// A script, which may add and drop words.
    Other,
}

/// Programs by engine; a module is its package's name and a dot.
const PROGRAMS: [(Engine, &[&str]); 8] = [
    (Engine::Vllm, &["vllm"]),
    (Engine::Sglang, &["sglang"]),
    (Engine::Tgi, &["text-generation-launcher"]),
    (Engine::TensorRtLlm, &["trtllm-serve", "tensorrt_llm"]),
    (Engine::LlamaCpp, &["llama-server"]),
    (Engine::Lmdeploy, &["lmdeploy"]),
    (Engine::Dynamo, &["dynamo"]),
    (Engine::Ollama, &["ollama"]),
];

/// Programs that run another one with its words as they are.
const PASSING: [&str; 22] = [
    "sh",
    "bash",
    "dash",
    "ash",
    "zsh",
    "env",
    "exec",
    "nice",
    "ionice",
    "numactl",
    "taskset",
    "chrt",
    "stdbuf",
    "tini",
    "dumb-init",
    "uv",
    "sudo",
    "nohup",
    "time",
    "setpriv",
    "gosu",
    "nsys",
];

const RUNS_IMAGES: [&str; 3] = ["docker", "podman", "nerdctl"];

/// Signs that end a command of a shell.
const ENDS: [&str; 6] = [";", "&&", "||", "|", "&", ">"];

/// What starts the engine on this command line; `in_image` says that an image's own entrypoint gets the words.
pub(super) fn program(engine: Engine, words: &[&str], in_image: bool) -> Program {
    let first = words.first().map_or("", |word| base(word));
    if RUNS_IMAGES.contains(&first) {
        let image = words.iter().position(|word| is_image(engine, word));
        let replaced = words.iter().any(|word| word.starts_with("--entrypoint"));
        return image.filter(|_| !replaced).map_or(Program::Other, |at| Program::Engine(at + 1));
    }
    let at = words.iter().position(|word| is_program(engine, word));
    let passed_on = PASSING.contains(&first) || first.starts_with("python") || first.contains('=');
    match at {
        Some(at) if at == 0 || passed_on => Program::Engine(at + 1),
        _ if in_image && !is_script(first) => Program::Image,
        _ => Program::Other,
    }
}

/// The engine's own words with their places; none where a script may have changed them.
pub(super) fn own_words<'a>(program: Program, words: &[&'a str]) -> Vec<(usize, &'a str)> {
    let from = match program {
        Program::Engine(from) => from,
        Program::Image => 0,
        Program::Other => return Vec::new(),
    };
    let mut own = Vec::new();
    for (at, word) in words.iter().enumerate().skip(from) {
        let bare = word.trim_end_matches(';');
        if ENDS.contains(word) {
            break;
        }
        own.push((at, bare));
        if bare.len() < word.len() {
            break;
        }
    }
    own
}

/// The engine a command starts, and that engine's own words; `None` where it starts none that is known, or through a script.
pub(crate) fn engine_words<'a>(words: &[&'a str]) -> Option<(Engine, Vec<&'a str>)> {
    let started = PROGRAMS.iter().map(|(engine, _)| (*engine, program(*engine, words, false)));
    let (engine, started) = started.into_iter().find(|(_, found)| matches!(found, Program::Engine(_)))?;
    Some((engine, own_words(started, words).into_iter().map(|(_, word)| word).collect()))
}

fn is_program(engine: Engine, word: &str) -> bool {
    let names = PROGRAMS.iter().find(|(of, _)| *of == engine).map_or(&[][..], |(_, names)| names);
    let base = base(word);
    names.iter().any(|name| {
        // `vllm.entrypoints.openai.api_server` is a module; a script's name has an ending of its own.
        base == *name || (base.starts_with(&format!("{name}.")) && !is_script(base))
    })
}

fn is_script(base: &str) -> bool {
    base.rsplit_once('.').is_some_and(|(_, end)| end == "sh")
}

/// `vllm/vllm-openai:latest` among the words of `docker run`; a volume or a variable is none.
fn is_image(engine: Engine, word: &str) -> bool {
    !word.starts_with(['-', '/', '.']) && !word.contains('=') && by_command_line(base(word)) == Some(engine)
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, in_image: bool) -> Program {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        program(Engine::Vllm, &words, in_image)
    }

    #[test]
    fn the_engine_is_found_behind_what_passes_its_words_on() {
        for (line, from) in [
            ("/opt/venv/bin/vllm serve m", 1),
            ("python3 -m vllm.entrypoints.openai.api_server --model m", 3),
            ("/bin/sh -c exec vllm serve m", 4),
            ("/usr/bin/env A=1 vllm serve m", 3),
            ("/usr/bin/docker run --rm -v /x/vllm:/y -e VLLM_A=1 vllm/vllm-openai:v0.32.0 --model m", 8),
        ] {
            assert_eq!(of(line, false), Program::Engine(from), "{line}");
        }
    }

    #[test]
    fn a_script_may_add_words_and_an_image_does_not() {
        for line in [
            "/opt/start-vllm.sh",
            "/bin/bash /scripts/run.sh prod",
            "/start.sh --max-model-len 8192",
            "/start.sh vllm serve m",
            "/opt/vllm.sh",
        ] {
            assert_eq!(of(line, false), Program::Other, "{line}");
        }
        assert_eq!(of("docker run --entrypoint /start.sh vllm/vllm-openai", false), Program::Other);
        for line in ["--model m", "serve m", "m --port 1", ""] {
            assert_eq!(of(line, true), Program::Image, "{line}");
        }
    }

    #[test]
    fn what_follows_in_a_shell_is_not_the_engines() {
        let words = ["sh", "-c", "vllm", "serve", "m", "--port", "1;", "tee", "--append"];
        let own = own_words(program(Engine::Vllm, &words, false), &words);
        assert_eq!(own.iter().map(|(_, word)| *word).collect::<Vec<_>>(), ["serve", "m", "--port", "1"]);
    }
}
