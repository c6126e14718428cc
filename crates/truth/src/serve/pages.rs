//! Everything that is not inference: about the model, the metrics, and the truth itself.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Core, tokenize};
use crate::http::{Request, pairs, response};

/// The vLLM release whose routes and metric names these are.
const VERSION: &str = "0.26.0";

/// The routes beside inference, and whether they are posted to.
const PAGES: [(&str, &[bool]); 9] = [
    ("/v1/models", &[false]),
    ("/health", &[false]),
    ("/version", &[false]),
    ("/metrics", &[false]),
    ("/tokenize", &[true]),
    ("/truth/log", &[false]),
    ("/truth/reset", &[true]),
    ("/truth/config", &[false, true]),
    ("/truth/stats", &[false]),
];

impl Core {
    /// Appends the answer to a request that is not inference.
    pub(super) fn page(&mut self, request: &Request, out: &mut Vec<u8>) {
        let known = PAGES.iter().find(|(path, _)| *path == request.path);
        let methods = known.map_or(&[][..], |(_, methods)| methods);
        if !methods.contains(&request.post) {
            let inference = crate::api::Api::at(&request.path).is_some();
            let status = if known.is_some() || inference { 405 } else { 404 };
            return error(status, "there is nothing of this kind here", out);
        }
        match request.path.as_str() {
            "/v1/models" => json_page(&self.models(), out),
            "/health" => response(200, "text/plain", "", b"", out),
            "/version" => json_page(&json!({"version": VERSION}), out),
            "/metrics" => {
                let page = self.metrics.page(&self.config.model);
                response(200, "text/plain; version=0.0.4; charset=utf-8", "", page.as_bytes(), out);
            }
            "/tokenize" if !self.config.tokenize => error(404, "the tokenizer is switched off", out),
            "/tokenize" => match tokenize::answer(&request.body, &self.config) {
                Ok(value) => json_page(&value, out),
                Err(why) => error(400, &why, out),
            },
            "/truth/log" => response(200, "application/jsonl", "", &self.log.lines(), out),
            "/truth/reset" => {
                self.reset();
                json_page(&json!({"reset": true}), out);
            }
            "/truth/config" => self.configure(request, out),
            _ => json_page(&self.stats(), out),
        }
    }

    fn configure(&mut self, request: &Request, out: &mut Vec<u8>) {
        let mut given = pairs(&request.query);
        if let Ok(body) = std::str::from_utf8(&request.body) {
            given.extend(pairs(body.trim()));
        }
        let given = given.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        match self.config.with_pairs(given) {
            Ok(config) => {
                self.config = Arc::new(config);
                json_page(&json!({"config": format!("{:?}", self.config)}), out);
            }
            Err(why) => error(400, &why.to_string(), out),
        }
    }

    fn models(&self) -> Value {
        let created = self.nonce / 1_000_000_000;
        let (id, window) = (&self.config.model, self.config.max_model_len);
        json!({"object": "list", "data": [{
            "id": id, "object": "model", "created": created, "owned_by": "vllm", "root": id, "parent": null,
            "max_model_len": window,
        }]})
    }

    fn stats(&self) -> Value {
        let metrics = &self.metrics;
        let (late_sum, late_worst, writes) = metrics.late;
        json!({
            "requests": self.sequence,
            "in_flight": metrics.running,
            "logged": self.log.len(),
            "log_dropped": self.log.dropped,
            "finished": metrics.finished,
            "aborted": metrics.aborted,
            "faulty": metrics.faulty,
            "bad_requests": self.bad,
            "connections": self.connections,
            "prompt_tokens": metrics.prompt_tokens,
            "tokens": metrics.generated_tokens,
            "token_writes": writes,
            "late_mean_ns": late_sum.checked_div(writes),
            "late_worst_ns": late_worst,
        })
    }
}

fn json_page(value: &Value, out: &mut Vec<u8>) {
    response(200, "application/json", "", value.to_string().as_bytes(), out);
}

fn error(status: u16, message: &str, out: &mut Vec<u8>) {
    let kind = if status == 404 { "NotFoundError" } else { "BadRequestError" };
    let body = json!({"error": {"message": message, "type": kind, "param": null, "code": status}});
    response(status, "application/json", "", body.to_string().as_bytes(), out);
}
