//! Bodies of answers.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;

/// A body: whole, or a stream of tokens.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A whole body.
pub(super) fn reply(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes.into()).boxed_unsync());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static("intriage-simulate"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A JSON body.
pub(super) fn json_reply(status: StatusCode, value: &Value) -> Response<Body> {
    reply(status, "application/json", value.to_string())
}

/// A body of server-sent events.
pub(super) fn event_stream(body: Body) -> Response<Body> {
    let mut response = reply(StatusCode::OK, "text/event-stream; charset=utf-8", Bytes::new());
    *response.body_mut() = body;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
