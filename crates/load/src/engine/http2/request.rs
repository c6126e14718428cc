//! A request as HTTP/1.1 writes it, made into one of HTTP/2.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};

/// Header lines at most.
const MOST_LINES: usize = 100;
/// Lines that are about an HTTP/1.1 connection; HTTP/2 forbids them.
const OF_CONNECTIONS: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"];

/// The head and the body of a request.
pub(super) fn parse(bytes: Vec<u8>, secure: bool) -> Result<(Request<()>, Bytes), String> {
    let bytes = Bytes::from(bytes);
    let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
    let mut head = httparse::Request::new(&mut lines);
    let length = match head.parse(&bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err("the head of the request does not end".to_owned()),
        Err(why) => return Err(why.to_string()),
    };
    let host = head.headers.iter().find(|l| l.name.eq_ignore_ascii_case("host"));
    let uri = Uri::builder()
        .scheme(if secure { "https" } else { "http" })
        .authority(host.map_or(&[][..], |l| l.value))
        .path_and_query(head.path.unwrap_or("/"))
        .build()
        .map_err(|why| why.to_string())?;
    let mut request = Request::new(());
    *request.method_mut() =
        Method::from_bytes(head.method.unwrap_or("POST").as_bytes()).map_err(|why| why.to_string())?;
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_2;
    for line in head.headers.iter() {
        if OF_CONNECTIONS.iter().any(|name| line.name.eq_ignore_ascii_case(name)) {
            continue;
        }
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|why| why.to_string())?;
        let value = HeaderValue::from_bytes(line.value).map_err(|why| why.to_string())?;
        request.headers_mut().append(name, value);
    }
    Ok((request, bytes.slice(length..)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lines_about_the_connection_stay_behind() {
        let text = "POST /v1/completions?a=b HTTP/1.1\r\nHost: gpu:8000\r\nConnection: close\r\nX-Request-Id: r-1\r\ncontent-length: 2\r\n\r\n{}";
        let (request, body) = parse(text.into(), false).unwrap();
        assert_eq!(request.uri(), "http://gpu:8000/v1/completions?a=b");
        assert_eq!(request.method(), Method::POST);
        let names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x-request-id", "content-length"]);
        assert_eq!(body, "{}");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert!(parse(b"POST / HTTP/1.1\r\nhost: a".to_vec(), true).is_err());
        assert!(parse(b"POST / HTTP/1.1\r\n\r\n".to_vec(), true).is_err());
        assert!(parse(b"\0\r\n\r\n".to_vec(), true).is_err());
    }
}
