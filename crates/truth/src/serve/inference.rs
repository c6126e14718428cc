//! Inference requests: from the body to the log.

use std::sync::Arc;

use serde_json::json;

use super::Core;
use super::connection::{Connection, Work};
use crate::answer::Answer;
use crate::api::Api;
use crate::ask::Ask;
use crate::clock;
use crate::config::Mode;
use crate::http::{Request, response};
use crate::plan::plan;
use crate::random::mix;
use crate::schedule::Schedule;
use crate::script::Script;
use crate::served::Served;

impl Core {
    /// Takes up a request.
    pub(super) fn begin(&mut self, connection: &mut Connection, request: Request) {
        connection.requests = connection.requests.saturating_add(1);
        match Api::at(&request.path) {
            Some(api) if request.post => self.infer(connection, api, request),
            _ => {
                connection.last_unless(request.keep_alive);
                self.page(&request, connection.out());
            }
        }
    }

    fn infer(&mut self, connection: &mut Connection, api: Api, request: Request) {
        let config = Arc::clone(&self.config);
        let asked = Ask::read(api, &request.body).and_then(|ask| {
            let want = ask.limit.unwrap_or(config.default_tokens);
            if want <= config.max_model_len {
                return Ok((ask, want));
            }
            Err(format!("{want} tokens are more than the {} of this model", config.max_model_len))
        });
        let (ask, want) = match asked {
            Ok(asked) => asked,
            Err(why) => {
                self.bad += 1;
                connection.last_unless(request.keep_alive);
                let body =
                    json!({"error": {"message": why, "type": "BadRequestError", "param": null, "code": 400}});
                response(400, "application/json", "", body.to_string().as_bytes(), connection.out());
                return;
            }
        };
        self.sequence += 1;
        self.ever += 1;
        let (arrived, arrived_unix) = connection.read_at;
        let taken = arrived.max(connection.free_since);
        let id = format!("{:016x}", mix(self.nonce.wrapping_add(self.ever)));
        let answer = Answer::new(api, &ask, want, &config, id, arrived_unix / 1_000_000_000);
        let fault =
            config.fault.filter(|_| self.sequence.is_multiple_of(u64::from(config.fault_every.max(1))));
        self.metrics.running += 1;
        self.metrics.faulty += u64::from(fault.is_some());
        self.metrics.prompt_tokens += u64::from(answer.prompt_tokens);
        self.metrics.cached_tokens += u64::from(answer.cached_tokens.unwrap_or(0));
        let mut served = Served {
            sequence: self.sequence,
            x_request_id: request.x_request_id,
            response_id: answer.full_id(),
            connection: connection.number,
            nth: connection.requests,
            api,
            stream: ask.stream,
            arrived,
            arrived_unix,
            taken,
            prompt: ask.prompt,
            prompt_tokens: answer.prompt_tokens,
            want,
            tokens: 0,
            writes: Vec::new(),
            blocked: 0,
            done: 0,
            status: 200,
            aborted: false,
            fault,
        };
        let schedule = Schedule::new(&config, self.sequence, taken);
        let at_once = config.mode == Mode::Flood && config.flood_batch == 0 && config.split == 0;
        if at_once && ask.stream && fault.is_none() {
            let bytes = self.prebuilt.bytes(answer.clone());
            let now = clock::monotonic();
            let blocked = !connection.write_shared(bytes);
            let script = Script::new(answer, schedule, u32::MAX, taken);
            let mut work = Work::new(script, served, config, request.keep_alive, self.epoch);
            self.wrote(&mut work, want, now, now, blocked);
            connection.work = Some(Box::new(work));
            return;
        }
        let (script, status) = plan(answer, &config, ask.stream, fault, schedule, taken);
        served.status = status;
        let work = Work::new(script, served, config, request.keep_alive, self.epoch);
        connection.work = Some(Box::new(work));
    }

    /// Notes a write whose clock was read right before it.
    pub(super) fn wrote(&mut self, work: &mut Work, tokens: u32, due: u64, now: u64, blocked: bool) {
        let served = &mut work.served;
        served.blocked += u32::from(blocked);
        if tokens == 0 {
            return;
        }
        served.writes.push((tokens, now));
        served.tokens = served.tokens.saturating_add(tokens);
        self.metrics.generated_tokens += u64::from(tokens);
        match work.last.replace(now) {
            None => self.metrics.ttft.observe(now.saturating_sub(served.arrived)),
            Some(before) => self.metrics.itl.observe(now.saturating_sub(before)),
        }
        self.metrics.late(now, due);
    }

    /// Logs the answer under way, if there is one.
    pub(super) fn finish(&mut self, connection: &mut Connection, aborted: bool) {
        let Some(work) = connection.work.take() else { return };
        let now = clock::monotonic();
        connection.free_since = now;
        let Work { mut served, epoch, .. } = *work;
        served.done = now;
        served.aborted = aborted;
        self.metrics.running = self.metrics.running.saturating_sub(1);
        if aborted {
            self.metrics.aborted += 1;
        } else if served.tokens == served.want {
            self.metrics.finished += 1;
            self.metrics.e2e.observe(now.saturating_sub(served.arrived));
        }
        if epoch == self.epoch {
            self.log.push(served);
        }
    }
}
