//! Ways to the server, as probes would have seen them.

use intriage_case::{AddressSeen, Family, PathProbe, Resolved, Route, StreamSeen};

use super::Given;

impl Given {
    /// What a probe saw of one way, the first one being straight: five answers of 32 pieces with this first token and
    /// gap between pieces in seconds, in so many reads.
    pub(crate) fn probed(mut self, url: &str, first: f64, gap: f64, reads: u32) -> Self {
        let seconds = |s| Some(intriage_case::Seconds(s));
        let stream = StreamSeen {
            status: Some(200),
            headers: seconds(0.003),
            first: seconds(first),
            last: seconds(first + 31.0 * gap),
            chunks: 32,
            gap_p50: seconds(gap),
            reads,
            ..StreamSeen::default()
        };
        let address = AddressSeen {
            family: Family::V4,
            address: "192.0.2.7".into(),
            connect: seconds(0.001),
            failed: None,
            error: None,
        };
        self.case.paths.push(PathProbe {
            url: url.to_owned(),
            route: if self.case.paths.is_empty() { Route::Direct } else { Route::Via },
            resolved: Resolved { a: 1, ..Resolved::default() },
            addresses: vec![address],
            tls: None,
            first_byte: seconds(0.003),
            streams: vec![stream; 5],
            held: Vec::new(),
            error: None,
        });
        self
    }

    /// Changes what the last probe saw.
    pub(crate) fn but(mut self, change: impl Fn(&mut PathProbe)) -> Self {
        change(self.case.paths.last_mut().expect("a probe comes before its change"));
        self
    }
}
