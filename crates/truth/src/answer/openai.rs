//! `/v1/chat/completions` and `/v1/completions`, in vLLM's words.

use std::io::Write as _;

use super::Answer;
use crate::api::Api;
use crate::ask::Usage;

pub(super) fn open(answer: &Answer, out: &mut Vec<u8>) {
    if answer.api == Api::Chat && answer.role {
        answer.event(None, out, |out| {
            head(answer, out);
            out.extend_from_slice(
                br#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#,
            );
            tail(answer, 0, out);
        });
    }
}

pub(super) fn tokens(answer: &Answer, from: u32, count: u32, out: &mut Vec<u8>) {
    let written = from.saturating_add(count);
    answer.event(None, out, |out| {
        head(answer, out);
        let field: &[u8] = match answer.api {
            Api::Completions => br#"{"index":0,"text":""#,
            _ if from < answer.reasoning => br#"{"index":0,"delta":{"reasoning_content":""#,
            _ => br#"{"index":0,"delta":{"content":""#,
        };
        out.extend_from_slice(field);
        answer.text(from, count, out);
        out.extend_from_slice(if answer.api == Api::Completions { b"\"" } else { b"\"}" });
        out.extend_from_slice(br#","logprobs":null,"finish_reason":"#);
        out.extend_from_slice(if written >= answer.want { b"\"length\"}]" } else { b"null}]" });
        tail(answer, written, out);
    });
}

pub(super) fn close(answer: &Answer, out: &mut Vec<u8>) {
    if answer.usage != Usage::Never {
        answer.event(None, out, |out| {
            head(answer, out);
            out.extend_from_slice(b"],");
            usage(answer, answer.want, out);
            out.push(b'}');
        });
    }
    answer.done(out);
}

pub(super) fn whole(answer: &Answer, out: &mut Vec<u8>) {
    let (reasoning, content) = answer.parts();
    let (object, choice) = if answer.api == Api::Completions {
        ("text_completion", format!(r#""text":"{content}""#))
    } else {
        let reasoning = match answer.reasoning {
            0 => "null".to_owned(),
            _ => format!("\"{reasoning}\""),
        };
        let message = format!(
            r#""message":{{"role":"assistant","content":"{content}","reasoning_content":{reasoning},"tool_calls":[]}}"#
        );
        ("chat.completion", message)
    };
    let Answer { created, model, .. } = answer;
    let id = answer.full_id();
    let _ = write!(
        out,
        r#"{{"id":"{id}","object":"{object}","created":{created},"model":{model},"choices":[{{"index":0,{choice},"logprobs":null,"finish_reason":"length","stop_reason":null}}],"#
    );
    usage(answer, answer.want, out);
    out.push(b'}');
}

/// Up to the bracket of the choices.
fn head(answer: &Answer, out: &mut Vec<u8>) {
    let object = if answer.api == Api::Completions { "text_completion" } else { "chat.completion.chunk" };
    let Answer { id, created, model, .. } = answer;
    let prefix = answer.api.id_prefix();
    let _ = write!(
        out,
        r#"{{"id":"{prefix}{id}","object":"{object}","created":{created},"model":{model},"choices":["#
    );
}

/// From the bracket of the choices on.
fn tail(answer: &Answer, written: u32, out: &mut Vec<u8>) {
    if answer.usage == Usage::Always {
        out.push(b',');
        usage(answer, written, out);
    }
    out.push(b'}');
}

fn usage(answer: &Answer, written: u32, out: &mut Vec<u8>) {
    let prompt = answer.prompt_tokens;
    let total = prompt.saturating_add(written);
    let _ = write!(
        out,
        r#""usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{written}"#
    );
    if let Some(cached) = answer.cached_tokens {
        let _ = write!(out, r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#);
    }
    if answer.reasoning > 0 {
        let reasoning = answer.reasoning.min(written);
        let _ = write!(out, r#","completion_tokens_details":{{"reasoning_tokens":{reasoning}}}"#);
    }
    out.push(b'}');
}
