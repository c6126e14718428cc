//! Tracebacks of Python, with what loggers put in front of each line, with other processes' lines in between, chained.

use super::echoes::{is_echo, is_lookup};
use super::speaker::{Speaker, begins, speaker};
use super::{Frame, Thrown};

/// Packages of engines, as folders.
const PACKAGES: [&str; 6] =
    ["vllm", "sglang", "text_generation_server", "tensorrt_llm", "lmdeploy", "dynamo"];
/// Lines looked at behind the first.
const LINES: usize = 600;
/// Lines of other processes in a row after which nothing more is expected.
const OTHERS: usize = 200;
/// Longest message, in characters.
const MESSAGE: usize = 600;

const DURING: &str = "During handling of the above exception, another exception occurred:";
const CAUSED: &str = "The above exception was the direct cause of the following exception:";
const HEAD: &str = "Traceback (most recent call last)";

/// One exception of a chain.
#[derive(Debug, Default)]
struct Link {
    kind: String,
    message: String,
    frame: Option<Frame>,
    line: u32,
    /// Whether its frames are of a start or of the loop that serves.
    starting: Option<bool>,
    /// The next one was thrown while this one was handled, not because of it.
    during: bool,
}

enum Reads {
    Frames,
    /// Behind the exception's line; it asks for more where it ends with a colon.
    Message {
        more: u32,
    },
    Between,
}

/// Reads a traceback from the line that begins it; `number` is that line's. `None` where it breaks off before its exception.
pub(in crate::log) fn traceback(text: &str, number: u32) -> Option<Thrown> {
    let mut lines = text.split('\n').zip(number..).take(LINES);
    let (first, _) = lines.next()?;
    let (by, head) = speaker(first);
    if head.contains('─') {
        return rich(lines, by, number);
    }
    let mut chain = Chain { links: Vec::new(), now: Link::default(), reads: Reads::Frames, linked: false };
    let (mut strangers, mut prefixed, mut until) = (0, false, number);
    for (line, at) in lines {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (who, says) = speaker(line);
        let bare = who.is_nobody() && says.len() == line.len();
        let same = who == by;
        if !(same || (bare && !prefixed)) {
            // Bare lines follow one that only began with a prefix: a new message ends it.
            if !prefixed && begins(line) && !matches!(chain.reads, Reads::Frames) {
                break;
            }
            strangers += 1;
            if strangers > OTHERS {
                break;
            }
            continue;
        }
        strangers = 0;
        prefixed |= same && !bare;
        if bare && begins(line) && !matches!(chain.reads, Reads::Frames) {
            break;
        }
        if !chain.take(says, at) {
            break;
        }
        until = at;
    }
    chain.finish(by, number, until)
}

struct Chain {
    links: Vec<Link>,
    now: Link,
    reads: Reads,
    linked: bool,
}

impl Chain {
    /// Takes what a line says; false where it no longer belongs to the traceback.
    fn take(&mut self, says: &str, at: u32) -> bool {
        if says.contains(HEAD) {
            // A second one without a link is another traceback.
            let goes_on = self.linked || self.now.kind.is_empty();
            (self.reads, self.linked) = (Reads::Frames, false);
            return goes_on;
        }
        if says == DURING || says == CAUSED {
            self.now.during = says == DURING;
            self.linked = true;
            self.reads = Reads::Between;
            self.links.push(std::mem::take(&mut self.now));
            return true;
        }
        match self.reads {
            Reads::Frames => self.frame(says, at),
            Reads::Message { .. } if says.trim().is_empty() => self.reads = Reads::Between,
            // A remote traceback stands in the message of the one that tells of it.
            Reads::Message { .. } if says.starts_with("  File \"") => self.frame(says, at),
            Reads::Message { more: 0 } => {}
            Reads::Message { more } => {
                self.now.message.push(' ');
                self.now.message.extend(says.trim().chars().take(MESSAGE));
                self.reads = Reads::Message { more: more - 1 };
            }
            Reads::Between => return says.trim().is_empty(),
        }
        true
    }

    fn frame(&mut self, says: &str, at: u32) {
        if let Some(frame) = frame(says) {
            self.now.starting = of_a_start(&frame.function, self.now.starting);
            let engines = self.now.frame.as_ref().is_some_and(|known| known.of_engine);
            if frame.of_engine || !engines {
                self.now.frame = Some(frame);
            }
            self.reads = Reads::Frames;
        } else if says.starts_with("    ") {
            let quoted = says.trim();
            let is_code = quoted.contains(|c: char| c.is_alphanumeric());
            if let Some(frame) = self.now.frame.as_mut().filter(|f| f.code.is_empty() && is_code) {
                quoted.clone_into(&mut frame.code);
            }
        } else if !says.starts_with(' ') && !says.trim().is_empty() {
            let (kind, message) = exception(says);
            (self.now.kind, self.now.message, self.now.line) = (kind.to_owned(), message, at);
            let heading = says.ends_with(':') || says.contains("validation error");
            self.reads = Reads::Message { more: if heading { 2 } else { 0 } };
        }
    }

    fn finish(mut self, by: Speaker<'_>, number: u32, until: u32) -> Option<Thrown> {
        self.links.push(self.now);
        self.links.retain(|link| !link.kind.is_empty() || !link.message.is_empty());
        let last = self.links.len().checked_sub(1)?;
        let root = self.links.iter().position(|link| !(link.during && is_lookup(&link.kind))).unwrap_or(last);
        let starting = self.links.iter().filter_map(|link| link.starting).reduce(|a, b| a || b);
        let link = self.links.into_iter().nth(root)?;
        Some(Thrown {
            is_echo: is_echo(&link.kind, &link.message),
            kind: link.kind,
            message: link.message,
            frame: link.frame,
            starting,
            process: by.name().map(str::to_owned),
            rank: by.rank(),
            file: String::new(),
            line: number,
            told_line: link.line,
            is_abort: false,
            starts_since: 0,
            until,
        })
    }
}

/// Functions engines pass through while they start, by name, in vLLM, SGLang, TGI and TensorRT-LLM.
const STARTS: [&str; 16] = [
    "profile_run",
    "_dummy_run",
    "determine_available_memory",
    "determine_num_available_blocks",
    "load_model",
    "_initialize_kv_caches",
    "initialize_kv_cache",
    "initialize_from_config",
    "capture_model",
    "compile_or_warm_up_model",
    "init_device",
    "init_memory_pool",
    "init_cuda_graphs",
    "init_device_graphs",
    "warmup",
    "Warmup",
];
/// Functions of the loop that serves requests.
const SERVES: [&str; 9] = [
    "run_busy_loop",
    "_process_engine_step",
    "step_with_batch_queue",
    "event_loop_normal",
    "event_loop_overlap",
    "forward_batch_generation",
    "run_engine_loop",
    "Prefill",
    "Decode",
];

/// Whether the frames so far and this function are of a start, or of the loop that serves; a start counts.
fn of_a_start(function: &str, before: Option<bool>) -> Option<bool> {
    if STARTS.contains(&function) {
        Some(true)
    } else if SERVES.contains(&function) {
        Some(before.unwrap_or(false))
    } else {
        before
    }
}

/// A traceback drawn as a box, as `rich` does for TGI: `│ /usr/…/cli.py:106 in serve │`, and the exception below it.
fn rich<'a>(lines: impl Iterator<Item = (&'a str, u32)>, by: Speaker<'_>, number: u32) -> Option<Thrown> {
    let mut chain = Chain { links: Vec::new(), now: Link::default(), reads: Reads::Frames, linked: false };
    let (mut closed, mut until) = (false, number);
    for (line, at) in lines {
        let says = speaker(line).1.trim();
        until = at;
        if let Some(inside) = says.strip_prefix('│') {
            let inside = inside.trim_end_matches('│').trim();
            let place = inside.rsplit_once(" in ").and_then(|(place, function)| {
                let (path, line) = place.rsplit_once(".py:")?;
                Some((format!("{path}.py"), line.parse().ok()?, function))
            });
            if let Some((path, line, function)) = place {
                let frame = placed(&path, line, function);
                let engines = chain.now.frame.as_ref().is_some_and(|known| known.of_engine);
                if frame.of_engine || !engines {
                    chain.now.frame = Some(frame);
                }
            }
        } else if says.starts_with('╰') {
            closed = true;
        } else if closed && !says.is_empty() {
            let (kind, message) = exception(says);
            (chain.now.kind, chain.now.message, chain.now.line) = (kind.to_owned(), message, at);
            break;
        }
    }
    chain.finish(by, number, until)
}

/// `  File "/…/vllm/v1/engine/core.py", line 1496, in run_engine_core`.
fn frame(says: &str) -> Option<Frame> {
    let (path, rest) = says.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let function = rest.split_once(", in ").map_or("", |(_, function)| function.trim());
    Some(placed(path, rest[..end].parse().ok()?, function))
}

fn placed(path: &str, line: u32, function: &str) -> Frame {
    let installed =
        ["site-packages/", "dist-packages/"].iter().find_map(|folder| Some(path.rsplit_once(folder)?.1));
    let within = |package: &&&str| match installed {
        Some(below) => below.strip_prefix(**package).is_some_and(|rest| rest.starts_with('/')),
        None => path.contains(&format!("/{package}/")),
    };
    let package = PACKAGES.iter().find(within);
    let file = match (installed, package) {
        (Some(below), _) => below,
        (None, Some(package)) => path.rfind(&format!("/{package}/")).map_or(path, |at| &path[at + 1..]),
        (None, None) => path,
    };
    Frame {
        file: file.to_owned(),
        line,
        function: function.to_owned(),
        code: String::new(),
        of_engine: package.is_some(),
    }
}

/// Type and message of `torch.OutOfMemoryError: CUDA out of memory. …`.
fn exception(says: &str) -> (&str, String) {
    let cut = |message: &str| message.trim().chars().take(MESSAGE).collect();
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '(' | ')'))
    };
    match says.split_once(": ") {
        Some((kind, message)) if is_name(kind) => (kind, cut(message)),
        _ => match says.trim_end_matches(':') {
            kind if is_name(kind) => (kind, String::new()),
            _ => ("", cut(says)),
        },
    }
}

#[cfg(test)]
mod tests;
