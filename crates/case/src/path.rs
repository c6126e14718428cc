//! The way between client and server, as probes found it: straight to the server and through each hop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Seconds, Tokens};

/// What a probe saw of one way to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathProbe {
    /// The address as given; an address with a name or password in it is refused before it gets here.
    pub url: String,
    /// Straight, or through a hop.
    pub route: Route,
    /// What the resolver said.
    pub resolved: Resolved,
    /// Every address connected to on its own, in the resolver's order.
    #[serde(default)]
    pub addresses: Vec<AddressSeen>,
    /// Time of the TLS handshake; absent over plain HTTP and where it failed.
    #[serde(default)]
    pub tls: Option<Seconds>,
    /// From a small GET on a warm connection to the head of its answer.
    #[serde(default)]
    pub first_byte: Option<Seconds>,
    /// Streamed answers, one a round.
    #[serde(default)]
    pub streams: Vec<StreamSeen>,
    /// Streamed answers asked for at once, in the order in which they were asked for.
    #[serde(default)]
    pub held: Vec<StreamSeen>,
    /// Why nothing could be asked this way; what failed later stands at its place.
    #[serde(default)]
    pub error: Option<String>,
}

/// Which way a probe went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Straight to the server.
    Direct,
    /// Through a hop in front of it.
    Via,
}

/// What the resolver said of a name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Resolved {
    /// IPv4 addresses.
    pub a: u32,
    /// IPv6 addresses.
    pub aaaa: u32,
    /// How long it took, for good or bad.
    pub took: Seconds,
    /// Why there are none.
    #[serde(default)]
    pub error: Option<String>,
}

/// One address of a name, connected to on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddressSeen {
    /// Its family.
    pub family: Family,
    /// The IP address; the only field that holds one.
    pub address: String,
    /// Until the connection stood; absent where it never did.
    #[serde(default)]
    pub connect: Option<Seconds>,
    /// Until the attempt failed or was given up.
    #[serde(default)]
    pub failed: Option<Seconds>,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<String>,
}

/// Address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Family {
    /// IPv4.
    #[serde(rename = "ipv4")]
    V4,
    /// IPv6.
    #[serde(rename = "ipv6")]
    V6,
}

/// One streamed answer as it arrived. Times count from sending the request on an open connection; those of streams asked
/// for at once count from asking.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StreamSeen {
    /// HTTP status; absent without an answer.
    #[serde(default)]
    pub status: Option<u16>,
    /// How the answer was packed, such as `gzip`; absent where it was not.
    #[serde(default)]
    pub encoding: Option<String>,
    /// Until the head of the answer came.
    #[serde(default)]
    pub headers: Option<Seconds>,
    /// Until the first generated text came.
    #[serde(default)]
    pub first: Option<Seconds>,
    /// Until the last generated text came.
    #[serde(default)]
    pub last: Option<Seconds>,
    /// Pieces of the stream with generated text.
    #[serde(default)]
    pub chunks: u32,
    /// Tokens of the answer, as the server counted them.
    #[serde(default)]
    pub tokens: Option<Tokens>,
    /// Median time between two pieces; those of one read came together.
    #[serde(default)]
    pub gap_p50: Option<Seconds>,
    /// Longest time between two pieces.
    #[serde(default)]
    pub gap_max: Option<Seconds>,
    /// Reads of the connection that brought generated text.
    #[serde(default)]
    pub reads: u32,
    /// Median size of those reads.
    #[serde(default)]
    pub bytes_per_read_p50: Option<Bytes>,
    /// What went wrong, giving up included.
    #[serde(default)]
    pub error: Option<String>,
}

/// Reads the probes of a case; what cannot be read becomes a note.
pub(crate) fn read(text: &str, notes: &mut Vec<String>) -> Vec<PathProbe> {
    serde_json::from_str(text).unwrap_or_else(|why| {
        notes.push(format!("path.json was skipped: {}", crate::unreadable::unreadable(&why)));
        Vec::new()
    })
}

/// The inverse of [`read`].
pub(crate) fn write(probes: &[PathProbe]) -> String {
    // Plain data with text keys always serialises.
    serde_json::to_string_pretty(probes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn probe() -> PathProbe {
        PathProbe {
            url: "http://gateway:8080".into(),
            route: Route::Via,
            resolved: Resolved { a: 1, aaaa: 1, took: Seconds(0.002), error: None },
            addresses: vec![AddressSeen {
                family: Family::V6,
                address: "2001:db8::7".into(),
                connect: None,
                failed: Some(Seconds(5.0)),
                error: Some("no answer within 5 s".into()),
            }],
            tls: None,
            first_byte: Some(Seconds(0.004)),
            streams: vec![StreamSeen { status: Some(200), chunks: 32, reads: 2, ..StreamSeen::default() }],
            held: Vec::new(),
            error: None,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut notes = Vec::new();
        assert_eq!(read(&write(&[probe()]), &mut notes), [probe()]);
        assert!(notes.is_empty());
    }

    #[test]
    fn a_probe_of_an_older_or_newer_intriage_is_read_as_far_as_it_goes() {
        let text = r#"[{"url":"http://x","route":"direct","resolved":{"a":1,"aaaa":0,"took":0.1},"new":1}]"#;
        let mut notes = Vec::new();
        let read = read(text, &mut notes);
        assert_eq!((read[0].route, read[0].streams.len(), read[0].first_byte), (Route::Direct, 0, None));
    }

    proptest! {
        #[test]
        fn any_text_is_probes_or_a_note(text in "[\\[\\]{}\":,a-z0-9.]{0,60}") {
            let mut notes = Vec::new();
            let read = read(&text, &mut notes);
            prop_assert!(read.is_empty() || notes.is_empty());
            prop_assert!(notes.iter().all(|n| n.starts_with("path.json")));
        }

        #[test]
        fn times_keep_every_digit(first in 0.0..1e3f64, gap in 0.0..1.0f64, chunks in 0u32..5000) {
            let mut probe = probe();
            probe.streams[0].first = Some(Seconds(first));
            probe.streams[0].gap_p50 = Some(Seconds(gap));
            probe.streams[0].chunks = chunks;
            prop_assert_eq!(read(&write(&[probe.clone()]), &mut Vec::new()), [probe]);
        }
    }
}
