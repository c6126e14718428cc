//! Requests as their client saw them: what lies between the server's figures and the user's.

use serde::{Deserialize, Deserializer, Serialize};

use crate::unreadable::unreadable;
use crate::{Millis, Seconds, Tokens};

/// One request as its client saw it. Times count from `sent`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientRequest {
    /// When it was sent.
    #[serde(deserialize_with = "whole")]
    pub sent: Millis,
    /// Until the connection stood; absent where an open one was used again.
    #[serde(default)]
    pub connect: Option<Seconds>,
    /// Until the head of the answer came.
    #[serde(default)]
    pub headers: Option<Seconds>,
    /// Until the first generated text came; a piece that only names the role does not count.
    #[serde(default)]
    pub first: Option<Seconds>,
    /// Until the last text came.
    #[serde(default)]
    pub last: Option<Seconds>,
    /// Pieces of the stream with text in them.
    #[serde(default)]
    pub chunks: u32,
    /// Median time between two pieces.
    #[serde(default)]
    pub gap_p50: Option<Seconds>,
    /// Longest time between two pieces.
    #[serde(default)]
    pub gap_max: Option<Seconds>,
    /// Tokens of the answer, as the server counted them.
    #[serde(default)]
    pub tokens: Option<Tokens>,
    /// Tokens of the prompt.
    #[serde(default)]
    pub prompt_tokens: Option<Tokens>,
    /// HTTP status; absent without an answer.
    #[serde(default)]
    pub status: Option<u16>,
    /// What went wrong, the client's own giving up included.
    #[serde(default)]
    pub error: Option<String>,
    /// Until it was over, however it ended; tells how long a request that failed had lasted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Seconds>,
    /// How much later than planned it was sent, where a plan said when; waiting behind a limit the user set is no delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Seconds>,
    /// How long its user had waited when it was sent: retrieval, tools, guards; absent where nobody measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Seconds>,
    /// Which try of the same request it is, from 1; absent where the client does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// Clients write milliseconds with and without a fraction.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Millis, D::Error> {
    // A cast from f64 saturates at both ends.
    f64::deserialize(from).map(|ms| Millis(ms as u64))
}

/// Reads one request a line; a line that cannot be read becomes a note.
pub(crate) fn read(text: &str, notes: &mut Vec<String>) -> Vec<ClientRequest> {
    let mut requests = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(request) => requests.push(request),
            Err(why) => {
                // The line's number is the file's, not that of the one line that was read.
                let told = unreadable(&why).replace("line 1 ", "");
                notes.push(format!("client.jsonl line {} was skipped: {told}", number + 1));
            }
        }
    }
    requests
}

/// One request a line, the inverse of [`read`].
pub(crate) fn write(requests: &[ClientRequest]) -> String {
    let lines = requests.iter().filter_map(|r| serde_json::to_string(r).ok());
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let line = r#"{"sent":1794713888047.6,"headers":0.004,"first":0.31,"last":1.9,"chunks":97,"tokens":128,"status":200,"new":1}"#;
        let mut notes = Vec::new();
        let first = read(line, &mut notes);
        assert_eq!((first[0].sent, first[0].chunks, first[0].gap_p50), (Millis(1_794_713_888_047), 97, None));
        assert_eq!(read(&write(&first), &mut notes), first);
        assert!(notes.is_empty());
    }

    #[test]
    fn what_only_some_clients_know_is_kept_and_not_written_where_unknown() {
        let line = r#"{"sent":5,"ended":60.0,"late":0.2,"before":1.4,"attempt":2,"error":"cut off"}"#;
        let mut notes = Vec::new();
        let told = read(line, &mut notes);
        assert_eq!((told[0].ended, told[0].attempt), (Some(Seconds(60.0)), Some(2)));
        assert_eq!(read(&write(&told), &mut notes), told);
        assert!(!write(&read("{\"sent\":5}", &mut notes)).contains("attempt"));
    }

    #[test]
    fn a_bad_line_is_named_and_costs_nothing_else() {
        let mut notes = Vec::new();
        let read = read("{\"sent\":1}\n\nnonsense\n{\"sent\":-5}\n", &mut notes);
        assert_eq!(read.len(), 2);
        assert!(notes[0].starts_with("client.jsonl line 3"), "{notes:?}");
        assert!(notes[0].contains("at column") && !notes[0].contains("nonsense"), "{notes:?}");
    }
}
