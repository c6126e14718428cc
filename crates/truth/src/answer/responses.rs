//! `/v1/responses`: typed events, each with a number.

use std::io::Write as _;

use super::Answer;

pub(super) fn open(answer: &Answer, out: &mut Vec<u8>) {
    answer.event(Some("response.created"), out, |out| {
        out.extend_from_slice(br#"{"type":"response.created","sequence_number":0,"response":"#);
        whole(answer, "in_progress", out);
        out.push(b'}');
    });
    let id = &answer.id;
    answer.event(Some("response.output_item.added"), out, |out| {
        let _ = write!(
            out,
            r#"{{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{{"id":"msg_{id}","type":"message","role":"assistant","status":"in_progress","content":[]}}}}"#
        );
    });
}

pub(super) fn tokens(answer: &Answer, from: u32, count: u32, out: &mut Vec<u8>) {
    let kind =
        if from < answer.reasoning { "response.reasoning_text.delta" } else { "response.output_text.delta" };
    // Events before this one: the two of the opening, and one for so many tokens each.
    let number = 2 + number(answer, from);
    let id = &answer.id;
    answer.event(Some(kind), out, |out| {
        let _ = write!(
            out,
            r#"{{"type":"{kind}","sequence_number":{number},"item_id":"msg_{id}","output_index":0,"content_index":0,"delta":""#
        );
        answer.text(from, count, out);
        out.extend_from_slice(b"\"}");
    });
}

pub(super) fn close(answer: &Answer, out: &mut Vec<u8>) {
    let number = 2 + number(answer, answer.want);
    let (id, (_, content)) = (&answer.id, answer.parts());
    answer.event(Some("response.output_text.done"), out, |out| {
        let _ = write!(
            out,
            r#"{{"type":"response.output_text.done","sequence_number":{number},"item_id":"msg_{id}","output_index":0,"content_index":0,"text":"{content}"}}"#
        );
    });
    answer.event(Some("response.completed"), out, |out| {
        let number = number + 1;
        let _ = write!(out, r#"{{"type":"response.completed","sequence_number":{number},"response":"#);
        whole(answer, "completed", out);
        out.push(b'}');
    });
}

/// The response object; without output and usage while it is in progress.
pub(super) fn whole(answer: &Answer, status: &str, out: &mut Vec<u8>) {
    let Answer { id, created, model, prompt_tokens, want, reasoning, .. } = answer;
    let _ = write!(
        out,
        r#"{{"id":"resp_{id}","object":"response","created_at":{created},"status":"{status}","model":{model},"#
    );
    if status == "in_progress" {
        out.extend_from_slice(br#""output":[],"usage":null}"#);
        return;
    }
    let (thought, content) = answer.parts();
    out.extend_from_slice(br#""output":["#);
    if *reasoning > 0 {
        let _ = write!(
            out,
            r#"{{"id":"rs_{id}","type":"reasoning","summary":[],"content":[{{"type":"reasoning_text","text":"{thought}"}}]}},"#
        );
    }
    let total = prompt_tokens.saturating_add(*want);
    let cached = answer.cached_tokens.unwrap_or(0);
    let _ = write!(
        out,
        r#"{{"id":"msg_{id}","type":"message","role":"assistant","status":"completed","content":[{{"type":"output_text","text":"{content}","annotations":[]}}]}}],"usage":{{"input_tokens":{prompt_tokens},"input_tokens_details":{{"cached_tokens":{cached}}},"output_tokens":{want},"output_tokens_details":{{"reasoning_tokens":{reasoning}}},"total_tokens":{total}}}}}"#
    );
}

/// How many events of tokens come before the `from`-th token.
fn number(answer: &Answer, from: u32) -> u32 {
    let each = answer.tokens_per_event;
    let thought = answer.reasoning.min(from);
    thought.div_ceil(each) + (from - thought).div_ceil(each)
}
