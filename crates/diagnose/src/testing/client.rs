//! Made-up clients: what they wrote down of their requests.

use intriage_case::{ClientRequest, Millis, Seconds};

use super::Given;

impl Given {
    /// What clients saw: `n` answers with this first token, head and median gap between pieces, in seconds.
    pub(crate) fn client(mut self, n: u64, first: f64, headers: f64, gap: f64) -> Self {
        let seconds = |s| Some(Seconds(s));
        self.case.client = (0..n)
            .map(|i| ClientRequest {
                sent: Millis(1_700_000_000_000 + i * 500),
                headers: seconds(headers),
                first: seconds(first),
                last: seconds(first + 1.0),
                chunks: 100,
                gap_p50: seconds(gap),
                status: Some(200),
                ..ClientRequest::default()
            })
            .collect();
        self
    }

    /// Changes what each client saw, by its number.
    pub(crate) fn each_client(mut self, change: impl Fn(usize, &mut ClientRequest)) -> Self {
        self.case.client.iter_mut().enumerate().for_each(|(i, request)| change(i, request));
        self
    }
}
