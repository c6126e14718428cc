//! What matters in the head of an answer, in any version of HTTP.

use super::HttpError;

/// What matters in the head of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// HTTP status; 0 before the head.
    pub status: u16,
    /// Seconds to wait, as a refusing server says.
    pub retry_after: Option<String>,
    /// The body is a stream of events.
    pub is_events: bool,
    /// The server's name for the request, where it tells.
    pub request_id: Option<String>,
}

impl Head {
    /// Takes in one header line.
    pub fn line(&mut self, name: &str, value: &[u8]) -> Result<(), HttpError> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        let value = || String::from_utf8_lossy(value).trim().to_owned();
        if is("content-type") {
            self.is_events = value().to_ascii_lowercase().starts_with("text/event-stream");
        } else if is("content-encoding") && !value().eq_ignore_ascii_case("identity") {
            return Err(HttpError::Encoding(value()));
        } else if is("retry-after") {
            self.retry_after = Some(value());
        } else if is("x-request-id") {
            self.request_id = Some(value());
        }
        Ok(())
    }
}
