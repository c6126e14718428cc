//! Requests that engines write into their logs: what stands in a prompt is not what happened.
//!
//! People ask models what lines of a kernel's log mean. A prompt that is written as it came has lines of its own, and one
//! of them can look just like the kernel's.

use super::sieve::gap;
use super::signature::Wording;

/// Words of a message that writes down what was asked or answered.
struct Dump {
    text: &'static str,
    /// Where the wording was found; a line that has it and a similar one that has it not.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tables' tests read it"))]
    from: (Wording, &'static str, &'static str),
}

const VLLM: Wording = Wording::Code("vllm-project/vllm:vllm/entrypoints/logger.py");
const SGLANG: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/utils/request_logger.py");
const PERIODIC: &str =
    "INFO 11-15 04:34:38 [loggers.py:259] Engine 000: Avg prompt throughput: 108.9 tokens/s";

static DUMPS: &[Dump] = &[
    Dump {
        text: "prompt: ",
        from: (
            VLLM,
            "INFO 11-15 02:47:32 [logger.py:42] Received request cmpl-1: prompt: 'Hello', params: x",
            PERIODIC,
        ),
    },
    Dump {
        text: "Generated response ",
        from: (
            VLLM,
            "INFO 11-15 02:47:32 [logger.py:71] Generated response cmpl-1: output: 'Hello'",
            PERIODIC,
        ),
    },
    Dump {
        text: "Receive: obj=",
        from: (
            SGLANG,
            "[2025-05-27 20:00:05] Receive: obj=GenerateReqInput(rid='a', text='Hello')",
            PERIODIC,
        ),
    },
    Dump {
        text: "Finish: obj=",
        from: (
            SGLANG,
            "[2025-05-27 20:00:05] Finish: obj=GenerateReqInput(rid='a'), out={'text': 'Hello'}",
            PERIODIC,
        ),
    },
];

/// Levels that begin a message of vLLM and of uvicorn.
const LEVELS: [&str; 5] = ["INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL"];

/// Lines of a block that are looked at for its last message.
const MOST_LINES: usize = 4096;

/// Tells of lines of one text, asked for in their order, whether they stand in a prompt. Each line is looked at once,
/// however many are asked for: a kernel's log can have the same complaint a hundred thousand times.
pub(super) struct Prompts<'a> {
    text: &'a str,
    /// Up to here lines were looked at.
    at: usize,
    /// Whether the last message that began before it writes down a request or an answer that goes on in further lines.
    inside: bool,
}

impl<'a> Prompts<'a> {
    /// For the lines of a text.
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0, inside: false }
    }

    /// For the lines of a text that follows this line, the last one that began a message.
    pub(super) fn behind(message: &str, text: &'a str) -> Self {
        Self { text, at: 0, inside: is_open(message) }
    }

    /// Whether a line, given as a part of the text, belongs to a message that writes down a request or an answer.
    pub(super) fn hold(&mut self, line: &str) -> bool {
        if begins_message(line) {
            return writes_down(line);
        }
        let upto = (line.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let between = self.text.get(self.at..upto).unwrap_or_default();
        for earlier in between.split('\n').filter(|earlier| begins_message(earlier)) {
            self.inside = goes_on(earlier);
        }
        self.at = self.at.max(upto);
        self.inside
    }
}

/// The last line of a text that begins a message.
pub(super) fn last_message(text: &str) -> Option<&str> {
    text.rsplit('\n').take(MOST_LINES).find(|line| begins_message(line))
}

/// Whether what a message writes down goes on in the lines behind it.
pub(super) fn is_open(message: &str) -> bool {
    begins_message(message) && goes_on(message)
}

fn writes_down(line: &str) -> bool {
    DUMPS.iter().any(|dump| line.contains(dump.text))
}

/// Whether what a line writes down does not end with it: a quote stands open, or there is none.
fn goes_on(line: &str) -> bool {
    let Some(rest) = DUMPS.iter().find_map(|dump| line.split_once(dump.text)).map(|(_, rest)| rest) else {
        return false;
    };
    let bytes = rest.as_bytes();
    let letter = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let (mut open, mut any, mut at) = (None, false, 0);
    while let Some(byte) = bytes.get(at) {
        match (byte, open) {
            (b'\\', Some(_)) => at += 1,
            // The apostrophe of `don't` neither opens nor closes.
            (b'\'' | b'"', None) if !letter(at.checked_sub(1)) => (open, any) = (Some(*byte), true),
            (byte, Some(quote)) if *byte == quote && !letter(Some(at + 1)) => open = None,
            _ => {}
        }
        at += 1;
    }
    open.is_some() || !any
}

/// `(APIServer pid=1) INFO 11-15 02:26:49 `, `INFO:     `, `[2026-11-15 02:26:49 TP0] `. A kernel's stamps begin none: they
/// are pasted with its lines.
fn begins_message(line: &str) -> bool {
    let named = line.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    let line = named.filter(|(name, _)| name.contains("pid=")).map_or(line, |(_, rest)| rest);
    let level = LEVELS.iter().find_map(|level| line.strip_prefix(level));
    let dated = || {
        let bytes = line.as_bytes();
        bytes.first() == Some(&b'[')
            && bytes.get(1..5).is_some_and(|year| year.iter().all(u8::is_ascii_digit))
            && bytes.get(5) == Some(&b'-')
    };
    // Where lines were left out, nobody knows what goes on.
    level.is_some_and(|rest| rest.starts_with([' ', ':'])) || dated() || line.starts_with(gap::MARK)
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, LogText};
    use proptest::prelude::*;

    use super::*;
    use crate::{LogReadings, Meaning};

    const XID: &str = "[12345.678901] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.";
    const DUMPED: &str =
        "INFO 11-15 02:47:32 [logger.py:42] Received request cmpl-1: prompt: 'What does this mean?";

    fn log(text: String) -> LogText {
        LogText { name: "server.log".into(), text }
    }

    /// Whether a log tells of an Xid, in its events and in its reports of devices alike.
    fn tells(text: String) -> bool {
        let mut case = Case::default();
        case.add_log(log(text.clone()));
        let reports = crate::read(&case).gpu.reports;
        let event = LogReadings::of(&log(text)).first(Meaning::Xid).is_some();
        assert_eq!(event, !reports.is_empty());
        event
    }

    #[test]
    fn every_wording_is_in_its_example_and_not_in_the_line_that_looks_like_it() {
        for dump in DUMPS {
            let (source, example, not) = dump.from;
            assert!(source.url().is_some(), "{example}");
            assert!(begins_message(example) && example.contains(dump.text), "{example}");
            assert!(begins_message(not) && !writes_down(not), "{not}");
        }
    }

    #[test]
    fn a_kernels_line_in_a_prompt_is_no_fault_of_the_hardware() {
        assert!(!tells(format!("{DUMPED}\n[12345.1] nvidia: loaded\n{XID}\nthanks', params: x\n")));
        // On the line of the message itself, as most engines write it.
        assert!(!tells(format!("(APIServer pid=1) {DUMPED}\\n{XID}', params: x\n")));
        assert!(!tells(format!("[2025-05-27 20:00:05] Receive: obj=G(text='why?\n{XID}\n')\n")));
    }

    #[test]
    fn a_kernels_line_behind_any_other_message_is_one() {
        assert!(tells(format!("{XID}\n")));
        assert!(tells(format!("{DUMPED}'\n{PERIODIC}\n{XID}\n")));
        assert!(tells(format!("INFO:     Application startup complete.\n{XID}\n")));
        // What was asked ends with its line, apostrophes and all.
        for asked in
            ["'Hello', params: x", "'It\\'s', params: x", "\"It's\", params: x", "'don't', params: x"]
        {
            let record =
                format!("INFO 11-15 02:47:32 [logger.py:42] Received request cmpl-1: prompt: {asked}");
            assert!(tells(format!("{record}\n{XID}\n")), "{asked}");
        }
        // A journal has the kernel's lines between the server's, each with its own writer.
        let journal = |who: &str, says: &str| format!("Nov 15 02:26:49 node {who}: {says}\n");
        assert!(tells(journal("vllm[811]", DUMPED).repeat(3) + &journal("kernel", XID)));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(lines in prop::collection::vec("(INFO |\\[2025-|prompt: |é|\\PC){0,6}", 0..20), at in 0usize..20) {
            let text = lines.join("\n");
            let mut prompts = Prompts::of(&text);
            // In order, and not.
            let held: Vec<bool> = text.split('\n').map(|line| prompts.hold(line)).collect();
            if let Some(line) = text.split('\n').nth(at) {
                let _ = prompts.hold(line);
                prop_assert_eq!(Prompts::of(&text).hold(line), held[at]);
            }
        }
    }
}
