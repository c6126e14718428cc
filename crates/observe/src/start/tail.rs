//! How a shell tells of a program's end: in words that every reader of logs knows.

use intriage_case::StartEnd;

/// The words of a shell for a signal, as POSIX shells print them; other ends are told by the program itself.
const WORDS: &[(i32, &str)] = &[
    (4, "Illegal instruction"),
    (6, "Aborted"),
    (7, "Bus error"),
    (9, "Killed"),
    (11, "Segmentation fault"),
];

/// What a shell would write below the program's own output. A wrapper passes its child's signal on as 128 and the number.
pub(super) fn of_shell(end: StartEnd) -> Option<String> {
    let signal = match end {
        StartEnd::Killed { signal } => signal,
        StartEnd::Exited { code } if code > 128 => code - 128,
        _ => return None,
    };
    WORDS.iter().find(|(number, _)| *number == signal).map(|(_, words)| (*words).to_owned())
}

/// Whether it was killed with signal 9, itself or as the child of a wrapper.
pub(super) fn is_kill(end: StartEnd) -> bool {
    matches!(end, StartEnd::Killed { signal: 9 } | StartEnd::Exited { code: 137 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_words_and_a_plain_exit_has_none() {
        assert_eq!(of_shell(StartEnd::Killed { signal: 9 }).as_deref(), Some("Killed"));
        assert_eq!(of_shell(StartEnd::Exited { code: 139 }).as_deref(), Some("Segmentation fault"));
        assert_eq!(of_shell(StartEnd::Exited { code: 1 }), None);
        assert_eq!(of_shell(StartEnd::Ready), None);
    }
}
