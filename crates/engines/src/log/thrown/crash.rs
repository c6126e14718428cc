//! What ends programs that are not written in Python: exceptions of C++, panics of Rust and of Go.

use super::speaker::speaker;
use super::{Frame, Thrown, Throws};

/// Lines looked at behind the first.
const LINES: usize = 12;

/// Reads what a program threw from the line that begins it; `None` where the words only look like it.
pub(in crate::log) fn crash(kind: Throws, text: &str, number: u32) -> Option<Thrown> {
    let mut lines = text.split('\n').take(LINES + 1).map(|line| line.strip_suffix('\r').unwrap_or(line));
    let (by, says) = speaker(lines.next()?);
    let below: Vec<&str> = lines.map(|line| speaker(line).1).collect();
    let (kind, message, frame, told) = match kind {
        Throws::Cpp => cpp(says, &below)?,
        Throws::Rust => rust(says, &below)?,
        Throws::Go => go(says, &below)?,
        Throws::Python => return None,
    };
    Some(Thrown {
        kind,
        message,
        frame,
        starting: None,
        process: by.name().map(str::to_owned),
        rank: by.rank(),
        file: String::new(),
        line: number,
        told_line: number + told,
        is_echo: false,
        is_abort: true,
        starts_since: 0,
        until: number + told,
    })
}

type Told = (String, String, Option<Frame>, u32);

/// `terminate called after throwing an instance of 'c10::Error'`, `  what():  CUDA error: …`.
fn cpp(says: &str, below: &[&str]) -> Option<Told> {
    let kind = says.split_once("an instance of '")?.1.split_once('\'')?.0;
    let what = below.iter().zip(1..).find_map(|(line, at)| Some((line.split_once("what():")?.1, at)));
    let (message, at) = what.unwrap_or(("", 0));
    Some((kind.to_owned(), message.trim().to_owned(), None, at))
}

/// `thread 'main' panicked at src/main.rs:1:2:` and the message below, before Rust 1.73 in quotes on the same line.
fn rust(says: &str, below: &[&str]) -> Option<Told> {
    let (_, rest) = says.split_once("thread '")?.1.split_once("' panicked at ")?;
    let (message, place, at) = match rest.strip_prefix('\'') {
        Some(quoted) => {
            let (message, place) = quoted.rsplit_once("', ")?;
            (message, place, 0)
        }
        None => (
            below.first().copied().unwrap_or_default(),
            rest.trim_end_matches(':'),
            u32::from(!below.is_empty()),
        ),
    };
    let mut parts = place.split(':');
    let (file, line) = (parts.next()?, parts.next()?.parse().ok()?);
    let frame = Frame {
        file: file.to_owned(),
        line,
        function: String::new(),
        code: String::new(),
        of_engine: !file.contains("/.cargo/"),
    };
    Some(("panic".to_owned(), message.trim().to_owned(), Some(frame), at))
}

/// `panic: runtime error: …` and the stack of a goroutine below.
fn go(says: &str, below: &[&str]) -> Option<Told> {
    let message = says.strip_prefix("panic: ")?;
    let stack = below.iter().position(|line| line.starts_with("goroutine "))?;
    let frame = below[stack..].iter().find_map(|line| {
        let (file, rest) = line.trim_start().rsplit_once(".go:")?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some(Frame {
            file: format!("{}.go", file.rsplit_once("ollama/ollama/").map_or(file, |(_, below)| below)),
            line: rest[..end].parse().ok()?,
            function: String::new(),
            code: String::new(),
            of_engine: file.contains("ollama"),
        })
    });
    Some(("panic".to_owned(), message.trim().to_owned(), frame, 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_exception_of_cpp_is_told_with_its_words() {
        let text = "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG ID 2 PG GUID 3 Rank 1] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered\n";
        let thrown = crash(Throws::Cpp, text, 3).expect("an exception");
        assert_eq!((thrown.kind.as_str(), thrown.told_line), ("c10::DistBackendError", 4));
        assert!(thrown.message.contains("illegal memory access"), "{}", thrown.message);
    }

    #[test]
    fn panics_of_rust_are_told_in_both_spellings() {
        let new = "thread 'tokio-runtime-worker' panicked at backends/v3/src/queue.rs:34:10:\ncalled `Option::unwrap()` on a `None` value\n";
        let old = "thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', backends/v3/src/queue.rs:34:10\n";
        for text in [new, old] {
            let thrown = crash(Throws::Rust, text, 1).expect("a panic");
            assert_eq!(thrown.says(), "panic: called `Option::unwrap()` on a `None` value");
            assert_eq!(thrown.place().as_deref(), Some("backends/v3/src/queue.rs:34"));
        }
    }

    #[test]
    fn a_panic_of_go_has_a_stack_and_the_word_alone_is_none() {
        let text = "panic: runtime error: index out of range [0] with length 0\n\ngoroutine 23 [running]:\ngithub.com/ollama/ollama/runner/ollamarunner.(*Server).processBatch(0xc000)\n\tgithub.com/ollama/ollama/runner/ollamarunner/runner.go:500 +0x1d\n";
        let thrown = crash(Throws::Go, text, 1).expect("a panic");
        assert_eq!(thrown.place().as_deref(), Some("runner/ollamarunner/runner.go:500"));
        assert!(crash(Throws::Go, "panic: at the disco\nINFO ready\n", 1).is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(thread '|' panicked at |panic: |an instance of '|what\\(\\):|goroutine |\\.go:|[0-9]|:|\n|é|\\PC){0,40}") {
            for kind in [Throws::Cpp, Throws::Rust, Throws::Go] {
                if let Some(thrown) = crash(kind, &text, 1) {
                    prop_assert!(thrown.told_line <= text.split('\n').count() as u32);
                }
            }
        }
    }
}
