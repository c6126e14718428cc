//! Serving processes, recognised by what they are: a table of process titles, programs and Python modules.

use crate::Engine;

/// What a serving process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Takes requests, tokenizes, streams answers.
    FrontEnd,
    /// Schedules the batch; the loop every step waits for.
    EngineCore,
    /// Runs the model on one GPU.
    Worker,
    /// Turns tokens back into text.
    Detokenizer,
    /// Balances between engines or starts them.
    Coordinator,
    /// Does all of it in one process.
    Server,
    /// A child of a serving process that no row of the table names.
    Child,
}

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Serving {
    /// The product, such as `vLLM`.
    pub product: &'static str,
    /// Its dialect, where there is one here.
    pub engine: Option<Engine>,
    /// What the process does in it.
    pub role: Role,
}

/// How a process shows what it is.
#[derive(Debug, Clone, Copy)]
enum Mark {
    /// It renamed itself to `<anything>::<this>…`: vLLM lets the user choose what stands before.
    Renamed(&'static str),
    /// It renamed itself to `<this>…`.
    Title(&'static str),
    /// It is this program, or an interpreter running this script, with this as its command (`""`: any).
    Program(&'static str, &'static str),
    /// It is an interpreter running this module or one below it.
    Module(&'static str),
}

struct Row {
    mark: Mark,
    serving: Serving,
}

const fn row(mark: Mark, product: &'static str, engine: Option<Engine>, role: Role) -> Row {
    Row { mark, serving: Serving { product, engine, role } }
}

const VLLM: Option<Engine> = Some(Engine::Vllm);
const SGLANG: Option<Engine> = Some(Engine::Sglang);
const TGI: Option<Engine> = Some(Engine::Tgi);
const TRTLLM: Option<Engine> = Some(Engine::TensorRtLlm);
const LLAMACPP: Option<Engine> = Some(Engine::LlamaCpp);
const LMDEPLOY: Option<Engine> = Some(Engine::Lmdeploy);
const DYNAMO: Option<Engine> = Some(Engine::Dynamo);
const OLLAMA: Option<Engine> = Some(Engine::Ollama);

/// The first row that fits counts. Titles are what the engines' own sources pass to setproctitle
/// (vLLM `utils/system_utils.py`, SGLang `managers/scheduler.py` and its neighbours), programs what they install.
const TABLE: &[Row] = &[
    // SGLang before vLLM: its fixed prefix must not be taken for a prefix a user chose.
    row(Mark::Title("sglang::scheduler"), "SGLang", SGLANG, Role::EngineCore),
    row(Mark::Title("sglang::semi_pd_scheduler"), "SGLang", SGLANG, Role::EngineCore),
    row(Mark::Title("sglang::detokenizer"), "SGLang", SGLANG, Role::Detokenizer),
    row(Mark::Title("sglang::tokenizer_worker"), "SGLang", SGLANG, Role::FrontEnd),
    row(Mark::Title("sglang::data_parallel_controller"), "SGLang", SGLANG, Role::Coordinator),
    row(Mark::Title("sglang::http_server"), "SGLang", SGLANG, Role::FrontEnd),
    row(Mark::Title("sglang::"), "SGLang", SGLANG, Role::Child),
    row(Mark::Title("ray::RayWorkerWrapper"), "vLLM", VLLM, Role::Worker),
    row(Mark::Renamed("EngineCore"), "vLLM", VLLM, Role::EngineCore),
    row(Mark::Renamed("Worker"), "vLLM", VLLM, Role::Worker),
    row(Mark::Renamed("APIServer"), "vLLM", VLLM, Role::FrontEnd),
    row(Mark::Renamed("DPCoordinator"), "vLLM", VLLM, Role::Coordinator),
    row(Mark::Title("VLLM::"), "vLLM", VLLM, Role::Child),
    row(Mark::Program("vllm", "serve"), "vLLM", VLLM, Role::FrontEnd),
    row(Mark::Module("vllm.entrypoints.openai"), "vLLM", VLLM, Role::FrontEnd),
    row(Mark::Module("vllm.entrypoints.api_server"), "vLLM", VLLM, Role::FrontEnd),
    row(Mark::Module("vllm.entrypoints.cli"), "vLLM", VLLM, Role::FrontEnd),
    row(Mark::Program("sglang", "serve"), "SGLang", SGLANG, Role::FrontEnd),
    row(Mark::Module("sglang.launch_server"), "SGLang", SGLANG, Role::FrontEnd),
    row(Mark::Module("sglang_router"), "SGLang", SGLANG, Role::Coordinator),
    row(Mark::Program("llama-server", ""), "llama.cpp", LLAMACPP, Role::Server),
    row(Mark::Module("llama_cpp.server"), "llama.cpp", LLAMACPP, Role::Server),
    row(Mark::Program("trtllm-serve", ""), "TensorRT-LLM", TRTLLM, Role::Server),
    row(Mark::Program("trtllm-llmapi-launch", ""), "TensorRT-LLM", TRTLLM, Role::Coordinator),
    row(Mark::Module("tensorrt_llm"), "TensorRT-LLM", TRTLLM, Role::Worker),
    row(Mark::Program("tritonserver", ""), "Triton", TRTLLM, Role::Server),
    row(Mark::Program("text-generation-launcher", ""), "TGI", TGI, Role::Coordinator),
    row(Mark::Program("text-generation-router", ""), "TGI", TGI, Role::FrontEnd),
    row(Mark::Program("text-generation-server", "serve"), "TGI", TGI, Role::Worker),
    row(Mark::Program("lmdeploy", "serve"), "LMDeploy", LMDEPLOY, Role::Server),
    row(Mark::Module("lmdeploy.serve"), "LMDeploy", LMDEPLOY, Role::Server),
    row(Mark::Module("dynamo.frontend"), "Dynamo", DYNAMO, Role::FrontEnd),
    row(Mark::Module("dynamo.vllm"), "vLLM", VLLM, Role::EngineCore),
    row(Mark::Module("dynamo.sglang"), "SGLang", SGLANG, Role::EngineCore),
    row(Mark::Module("dynamo.trtllm"), "TensorRT-LLM", TRTLLM, Role::EngineCore),
    // Ollama's runner carries llama.cpp or an engine of its own.
    row(Mark::Program("ollama", "serve"), "Ollama", OLLAMA, Role::FrontEnd),
    row(Mark::Program("ollama", "runner"), "Ollama", OLLAMA, Role::Worker),
];

/// What a process is, from its `/proc/<pid>/cmdline`: arguments parted by NUL, or the title it gave itself.
///
/// Shells, `grep` and `tail -f vllm.log` name engines too; only the program itself counts.
pub fn recognise_process(command_line: &str) -> Option<Serving> {
    let words: Vec<&str> = command_line.split('\0').filter(|w| !w.is_empty()).collect();
    let program = program(&words)?;
    TABLE.iter().find(|row| fits(row.mark, &words, &program)).map(|row| row.serving)
}

/// The program and where its own arguments begin.
struct Program<'a> {
    name: &'a str,
    module: Option<&'a str>,
    arguments: &'a [&'a str],
}

fn program<'a>(words: &'a [&'a str]) -> Option<Program<'a>> {
    let first = base_name(words.first()?);
    if !is_interpreter(first) {
        return Some(Program { name: first, module: None, arguments: &words[1..] });
    }
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match *word {
            "-m" => {
                let module = words.get(at + 1).copied();
                return Some(Program { name: "", module, arguments: words.get(at + 2..).unwrap_or(&[]) });
            }
            // A program given as text runs no script.
            "-c" => return Some(Program { name: "", module: None, arguments: &[] }),
            "-X" | "-W" => at += 2,
            flag if flag.starts_with('-') => at += 1,
            script => {
                return Some(Program { name: base_name(script), module: None, arguments: &words[at + 1..] });
            }
        }
    }
    None
}

fn fits(mark: Mark, words: &[&str], program: &Program<'_>) -> bool {
    match mark {
        Mark::Renamed(name) => words[0].split_once("::").is_some_and(|(_, rest)| rest.starts_with(name)),
        Mark::Title(title) => words[0].starts_with(title),
        Mark::Program(name, argument) => {
            program.name == name
                && (argument.is_empty()
                    || program.arguments.iter().find(|w| !w.starts_with('-')) == Some(&argument))
        }
        Mark::Module(module) => program
            .module
            .and_then(|m| m.strip_prefix(module))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
    }
}

fn is_interpreter(name: &str) -> bool {
    let rest = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    rest.is_some_and(|r| r.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(command_line: &str) -> Option<(&'static str, Role)> {
        recognise_process(&command_line.replace(' ', "\0")).map(|s| (s.product, s.role))
    }

    #[test]
    fn serving_processes_are_known_by_their_titles_and_programs() {
        for (command_line, expected) in [
            ("/usr/bin/python3.12 /opt/venv/bin/vllm serve m --port 8000", ("vLLM", Role::FrontEnd)),
            ("python3 -u -m vllm.entrypoints.openai.api_server --model m", ("vLLM", Role::FrontEnd)),
            ("VLLM::EngineCore", ("vLLM", Role::EngineCore)),
            ("VLLM::EngineCore_DP1", ("vLLM", Role::EngineCore)),
            ("VLLM::Worker_DP0_TP1", ("vLLM", Role::Worker)),
            ("team-a::Worker_TP0", ("vLLM", Role::Worker)),
            ("VLLM::APIServer_3", ("vLLM", Role::FrontEnd)),
            ("sglang::scheduler_TP0", ("SGLang", Role::EngineCore)),
            ("sglang::detokenizer", ("SGLang", Role::Detokenizer)),
            ("python -m sglang.launch_server --model-path m", ("SGLang", Role::FrontEnd)),
            ("/app/llama-server -m /models/x.gguf", ("llama.cpp", Role::Server)),
            (
                "/opt/conda/bin/python3.10 /opt/conda/bin/text-generation-server serve m",
                ("TGI", Role::Worker),
            ),
            ("/usr/bin/python3 /usr/local/bin/trtllm-serve m", ("TensorRT-LLM", Role::Server)),
            ("/usr/local/bin/ollama runner --model x", ("Ollama", Role::Worker)),
        ] {
            assert_eq!(role(command_line), Some(expected), "{command_line}");
        }
    }

    #[test]
    fn naming_an_engine_does_not_make_one() {
        for command_line in [
            "grep vllm serve",
            "tail -f vllm.log",
            "/bin/sh -c vllm serve m",
            "python3 -c from_multiprocessing.resource_tracker",
            "vllm bench serve",
            "vim llama-server",
            "python3 -m vllmish",
            "python3",
            "",
        ] {
            assert_eq!(role(command_line), None, "{command_line}");
        }
    }
}
