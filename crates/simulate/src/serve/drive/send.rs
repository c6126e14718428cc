//! One request: sends it at its instant, reads the stream, gives up when its patience ends.

use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use intriage_case::{Seconds, Tokens};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::request::Finish;
use crate::serve::drive::{ClientRequest, Shared, prompt};
use crate::serve::wire::Connection;
use crate::serve::{adapter_name, clock};
use crate::workload::Planned;

/// Nobody waits longer than this for one answer.
const FOREVER: Duration = Duration::from_hours(24);

pub(super) async fn request(shared: Rc<Shared>, planned: Planned, start: Instant) -> ClientRequest {
    let body = Bytes::from(body(&shared, &planned));
    sleep_until(start + Duration::from_nanos(planned.request.arrival.0)).await;
    let mut seen = Seen::new(planned.request.prompt);
    let patience = planned.patience.map(|p| seen.start + Duration::from_nanos(p.0));
    let ends = [patience, shared.end, seen.start.checked_add(FOREVER)].into_iter().flatten().min();
    let outcome = match ends {
        Some(end) => timeout_at(end, exchange(&shared, body, &mut seen)).await,
        None => Ok(exchange(&shared, body, &mut seen).await),
    };
    seen.record.error = match outcome {
        Ok(Ok(())) => seen.record.error,
        Ok(Err(why)) => Some(why),
        Err(_) if patience.is_some() && ends == patience => Some("the client gave up".into()),
        Err(_) => Some("still open when the run ended".into()),
    };
    seen.finish()
}

/// `/v1/completions` with token ids, so that lengths are exact.
fn body(shared: &Shared, planned: &Planned) -> String {
    let request = &planned.request;
    let model = &shared.drive.model;
    let model = request.adapter.map_or_else(|| model.clone(), |adapter| adapter_name(model, adapter));
    let mut text = String::with_capacity(request.prompt as usize * 6 + 256);
    let _ = write!(text, r#"{{"model":{},"prompt":["#, Value::from(model));
    for (index, token) in prompt::tokens(shared.drive.seed, request).enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{token}");
    }
    // An answer that was cut at the limit would have been longer.
    let natural = request.output.saturating_add(u32::from(request.finish == Finish::Length));
    let _ = write!(
        text,
        r#"],"max_tokens":{},"priority":{},"stream":true,"stream_options":{{"include_usage":true}},"vllm_xargs":{{"answer_tokens":{natural}}}}}"#,
        request.max_tokens.max(1),
        request.priority,
    );
    text
}

async fn exchange(shared: &Shared, body: Bytes, seen: &mut Seen) -> Result<(), String> {
    let mut connection = connection(shared, seen).await?;
    let request = Request::post("/v1/completions")
        .header(header::HOST, shared.drive.to.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|e| e.to_string())?;
    let response = connection.sender.send_request(request).await.map_err(|e| e.to_string())?;
    seen.record.headers = Some(seen.now());
    seen.record.status = Some(response.status().as_u16());
    if !response.status().is_success() {
        let body = response.into_body().collect().await.map_err(|e| e.to_string())?.to_bytes();
        let told: Value = serde_json::from_slice(&body).unwrap_or_default();
        let message = told.pointer("/error/message").and_then(Value::as_str);
        return Err(message.unwrap_or("the answer has no message").to_owned());
    }
    read(response.into_body(), seen).await?;
    shared.idle.borrow_mut().push(connection);
    Ok(())
}

/// An idle connection that still stands, or a new one.
async fn connection(shared: &Shared, seen: &mut Seen) -> Result<Connection, String> {
    loop {
        let Some(mut idle) = shared.idle.borrow_mut().pop() else { break };
        if idle.sender.ready().await.is_ok() {
            return Ok(idle);
        }
    }
    let connection = Connection::open(&shared.drive.to).await.map_err(|e| format!("cannot connect: {e}"))?;
    seen.record.connect = Some(seen.now());
    Ok(connection)
}

/// Reads server-sent events to their end.
async fn read(mut body: Incoming, seen: &mut Seen) -> Result<(), String> {
    let mut line: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| format!("the stream broke off: {e}"))?;
        let Some(data) = frame.data_ref() else { continue };
        let now = seen.now();
        let mut rest: &[u8] = data;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if line.is_empty() {
                seen.line(&rest[..end], now);
            } else {
                line.extend_from_slice(&rest[..end]);
                seen.line(&line, now);
                line.clear();
            }
            rest = &rest[end + 1..];
        }
        line.extend_from_slice(rest);
    }
    if seen.done { Ok(()) } else { Err("the stream ended without [DONE]".into()) }
}

/// What was seen so far.
struct Seen {
    start: Instant,
    record: ClientRequest,
    gaps: Vec<f32>,
    done: bool,
}

impl Seen {
    fn new(prompt: u32) -> Self {
        Self {
            start: Instant::now(),
            record: ClientRequest {
                sent: clock::now(),
                prompt_tokens: Some(Tokens(f64::from(prompt))),
                ..ClientRequest::default()
            },
            gaps: Vec::new(),
            done: false,
        }
    }

    fn now(&self) -> Seconds {
        Seconds(self.start.elapsed().as_secs_f64())
    }

    fn line(&mut self, line: &[u8], now: Seconds) {
        let Some(data) = line.strip_prefix(b"data: ") else { return };
        if data.starts_with(b"[DONE]") {
            self.done = true;
        } else if data.starts_with(b"{\"error\"") {
            let told: Value = serde_json::from_slice(data).unwrap_or_default();
            let message = told.pointer("/error/message").and_then(Value::as_str);
            self.record.error = Some(message.unwrap_or("an error without a message").to_owned());
        } else if memchr::memmem::find(data, b"\"choices\":[]").is_some() {
            let told: Value = serde_json::from_slice(data).unwrap_or_default();
            self.record.tokens = told.pointer("/usage/completion_tokens").and_then(Value::as_f64).map(Tokens);
        } else {
            self.chunk(now);
        }
    }

    fn chunk(&mut self, now: Seconds) {
        let record = &mut self.record;
        record.chunks += 1;
        record.first.get_or_insert(now);
        if let Some(last) = record.last.replace(now) {
            self.gaps.push((now.0 - last.0) as f32);
        }
    }

    fn finish(mut self) -> ClientRequest {
        self.gaps.sort_by(f32::total_cmp);
        let at = |index: usize| self.gaps.get(index).map(|gap| Seconds(f64::from(*gap)));
        self.record.gap_p50 = at(self.gaps.len() / 2);
        self.record.gap_max = at(self.gaps.len().wrapping_sub(1));
        self.record
    }
}
