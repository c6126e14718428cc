//! vLLM's routes: what is asked, what is answered, what is refused.

mod ask;
mod error;
mod flight;
mod reply;
mod stream;
mod tokenize;

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ask::Ask;
use bytes::Bytes;
use error::ApiError;
use flight::Flight;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use intriage_case::Millis;
use reply::{Body, event_stream, json_reply, reply};
use serde_json::{Value, json};
use stream::TokenStream;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use crate::about;
use crate::random::{Random, mix};
use crate::request::RequestId;
use crate::serve::events::{Command, Event, Happening};
use crate::serve::{ServeConfig, clock};

/// Largest body of a request, in bytes.
const BODY_BYTES: usize = 8 << 20;
/// Longest a client may take to send one.
const BODY_TIME: Duration = Duration::from_secs(30);

/// What all handlers share.
pub(super) struct State {
    config: ServeConfig,
    commands: UnboundedSender<Command>,
    created: Millis,
    ids: AtomicU64,
    answers: Mutex<Random>,
    open: AtomicU64,
}

impl State {
    pub(super) fn new(config: ServeConfig, commands: UnboundedSender<Command>) -> Self {
        Self {
            answers: Mutex::new(Random::new(config.seed, "served answers")),
            config,
            commands,
            created: clock::now(),
            ids: AtomicU64::new(1),
            open: AtomicU64::new(0),
        }
    }

    /// Tells the driver; when it is gone the server is going down and nobody minds.
    fn send(&self, command: Command) {
        let _ = self.commands.send(command);
    }

    fn next_id(&self) -> RequestId {
        RequestId(self.ids.fetch_add(1, Ordering::Relaxed))
    }

    /// A name for a request whose client gave none, different in every run.
    fn name(&self, number: u64) -> String {
        format!("{:016x}{:016x}", mix(self.created.0), mix(number))
    }

    /// How long the model's own answer is, in tokens.
    fn draw_length(&self) -> u32 {
        let mut random = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.config.answers.draw(&mut random)
    }

    /// The adapter behind a model's name; `None` inside for the model itself.
    fn known_model(&self, name: Option<&str>) -> Result<Option<u32>, ApiError> {
        let Some(name) = name.filter(|name| *name != self.config.identity.model) else { return Ok(None) };
        (0..self.config.adapters)
            .find(|i| adapter_name(&self.config.identity.model, *i) == name)
            .map(Some)
            .ok_or_else(|| ApiError::unknown_model(name))
    }
}

/// The name an adapter is served under.
pub fn adapter_name(model: &str, adapter: u32) -> String {
    format!("{model}-adapter-{adapter}")
}

/// What every chunk or answer of a request carries.
#[derive(Debug, Clone)]
struct Names {
    id: String,
    object: &'static str,
    /// Unix seconds.
    created: u64,
    /// As JSON.
    model: String,
}

/// Counts a request when its answer ends, whether to the end or by a hang-up.
struct Answered {
    state: Arc<State>,
    route: &'static str,
    status: u16,
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.state.open.fetch_sub(1, Ordering::Relaxed);
        self.state.send(Command::Answered { route: self.route, status: self.status });
    }
}

/// Answers one request.
pub(super) async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let allowed = match path.as_str() {
        "/v1/completions" | "/v1/chat/completions" | "/tokenize" | "/detokenize" => Method::POST,
        "/v1/models" | "/metrics" | "/health" | "/ping" | "/load" | "/version" | "/server_info" => {
            Method::GET
        }
        _ => return Ok(counted(&state, "none", ApiError::plain(StatusCode::NOT_FOUND).reply())),
    };
    let ping = path == "/ping" && request.method() == Method::POST;
    if *request.method() != allowed && !ping {
        let mut refusal = ApiError::plain(StatusCode::METHOD_NOT_ALLOWED).reply();
        if let Ok(value) = HeaderValue::from_str(allowed.as_str()) {
            refusal.headers_mut().insert(header::ALLOW, value);
        }
        return Ok(counted(&state, "none", refusal));
    }
    let ok = |value: &Value| json_reply(StatusCode::OK, value);
    Ok(match path.as_str() {
        "/v1/completions" => generate(&state, request, false).await,
        "/v1/chat/completions" => generate(&state, request, true).await,
        "/tokenize" => {
            let done = body(request).await.and_then(|body| tokenize::encode(&state, &body));
            counted(&state, "/tokenize", done.unwrap_or_else(|e| e.reply()))
        }
        "/detokenize" => {
            let done = body(request).await.and_then(|body| tokenize::decode(&state, &body));
            counted(&state, "/detokenize", done.unwrap_or_else(|e| e.reply()))
        }
        "/v1/models" => counted(&state, "/v1/models", ok(&about::models(&state.config, state.created))),
        // As in vLLM the rest is not counted.
        "/metrics" => metrics(&state).await,
        "/version" => ok(&about::version()),
        "/load" => ok(&json!({"server_load": state.open.load(Ordering::Relaxed)})),
        "/server_info" => ok(&about::server_info(&state.config, request.uri().query())),
        _ => reply(StatusCode::OK, "text/plain", Bytes::new()),
    })
}

fn counted(state: &State, route: &'static str, response: Response<Body>) -> Response<Body> {
    state.send(Command::Answered { route, status: response.status().as_u16() });
    response
}

async fn metrics(state: &State) -> Response<Body> {
    let (page, asked) = oneshot::channel();
    state.send(Command::Metrics(page));
    match asked.await {
        Ok(page) => reply(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", page),
        Err(_) => ApiError::plain(StatusCode::SERVICE_UNAVAILABLE).reply(),
    }
}

async fn body(request: Request<Incoming>) -> Result<Bytes, ApiError> {
    let read = Limited::new(request.into_body(), BODY_BYTES).collect();
    match tokio::time::timeout(BODY_TIME, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(why)) if why.is::<http_body_util::LengthLimitError>() => {
            Err(ApiError::plain(StatusCode::PAYLOAD_TOO_LARGE))
        }
        Ok(Err(_)) => Err(ApiError::invalid(None, "the body broke off")),
        Err(_) => Err(ApiError::plain(StatusCode::REQUEST_TIMEOUT)),
    }
}

/// `/v1/completions` and `/v1/chat/completions`.
async fn generate(state: &Arc<State>, request: Request<Incoming>, chat: bool) -> Response<Body> {
    let route = if chat { "/v1/chat/completions" } else { "/v1/completions" };
    state.open.fetch_add(1, Ordering::Relaxed);
    let mut answered = Answered { state: Arc::clone(state), route, status: 200 };
    let given_id = given_id(request.headers());
    let begun = async {
        let ask = Ask::read(&body(request).await?, chat)?;
        let adapter = state.known_model(ask.model.as_deref())?;
        let flight = Flight::start(state, &ask, adapter).await?;
        Ok::<_, ApiError>((ask, flight))
    };
    let (ask, flight) = match begun.await {
        Ok(begun) => begun,
        Err(error) => {
            answered.status = error.status.as_u16();
            return error.reply();
        }
    };
    let id = given_id.unwrap_or_else(|| state.name(flight.number()));
    let names = names(state, &ask, &id, chat);
    if ask.stream {
        event_stream(TokenStream::new(flight, names, &ask, chat, answered).boxed_unsync())
    } else {
        whole(flight, &names, chat, &mut answered).await
    }
}

/// The answer in one piece.
async fn whole(mut flight: Flight, names: &Names, chat: bool, answered: &mut Answered) -> Response<Body> {
    while !flight.is_done() {
        match std::future::poll_fn(|context| flight.poll_next(context)).await {
            None | Some(Event { what: Happening::Died, .. }) => {
                answered.status = 500;
                return ApiError::dead().reply();
            }
            Some(event) => flight.apply(event),
        }
    }
    let choices: Vec<Value> = (0..)
        .zip(&flight.choices)
        .map(|(index, choice): (u32, _)| {
            let mut text = String::new();
            choice.answer.write(0, choice.tokens, &mut text);
            let reason = stream::reason(choice.finish).trim_matches('"');
            if chat {
                json!({"index": index, "message": {"role": "assistant", "content": text, "tool_calls": []},
                    "logprobs": null, "finish_reason": reason, "stop_reason": null})
            } else {
                json!({"index": index, "text": text, "logprobs": null, "finish_reason": reason, "stop_reason": null})
            }
        })
        .collect();
    let (prompt, answer) = flight.usage();
    let model: Value = serde_json::from_str(&names.model).unwrap_or_default();
    let value = json!({
        "id": names.id, "object": names.object, "created": names.created, "model": model, "choices": choices,
        "usage": {
            "prompt_tokens": prompt, "total_tokens": prompt.saturating_add(answer), "completion_tokens": answer,
        },
    });
    json_reply(StatusCode::OK, &value)
}

/// The id a client gave its request, if it can stand in an answer as it is.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?.to_str().ok()?;
    let plain = !id.is_empty()
        && id.len() <= 128
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    plain.then(|| id.to_owned())
}

fn names(state: &State, ask: &Ask, id: &str, chat: bool) -> Names {
    let model = Value::from(ask.model.as_deref().unwrap_or(&state.config.identity.model)).to_string();
    let (prefix, object) = match (chat, ask.stream) {
        (true, true) => ("chatcmpl", "chat.completion.chunk"),
        (true, false) => ("chatcmpl", "chat.completion"),
        (false, _) => ("cmpl", "text_completion"),
    };
    Names { id: format!("{prefix}-{id}"), object, created: clock::now().0 / 1000, model }
}
