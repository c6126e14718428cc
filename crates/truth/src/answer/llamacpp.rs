//! llama.cpp's own `/completion`.

use std::io::Write as _;

use super::{Answer, Spent};
use crate::words;

pub(super) fn tokens(answer: &Answer, from: u32, count: u32, out: &mut Vec<u8>) {
    let written = from.saturating_add(count);
    answer.event(None, out, |out| {
        out.extend_from_slice(br#"{"index":0,"content":""#);
        answer.text(from, count, out);
        out.extend_from_slice(br#"","tokens":"#);
        ids(from, count, out);
        let prompt = answer.prompt_tokens;
        let _ = write!(
            out,
            r#","stop":false,"id_slot":0,"tokens_predicted":{written},"tokens_evaluated":{prompt}}}"#
        );
    });
}

pub(super) fn close(answer: &Answer, spent: Spent, out: &mut Vec<u8>) {
    answer.event(None, out, |out| {
        out.extend_from_slice(br#"{"index":0,"content":"","tokens":[],"#);
        end(answer, spent, out);
    });
}

pub(super) fn whole(answer: &Answer, spent: Spent, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"index":0,"content":""#);
    answer.text(0, answer.want, out);
    out.extend_from_slice(br#"","tokens":"#);
    ids(0, answer.want, out);
    out.push(b',');
    end(answer, spent, out);
}

fn ids(from: u32, count: u32, out: &mut Vec<u8>) {
    out.push(b'[');
    for index in from..from.saturating_add(count) {
        if index > from {
            out.push(b',');
        }
        let _ = write!(out, "{}", words::id(index));
    }
    out.push(b']');
}

fn end(answer: &Answer, spent: Spent, out: &mut Vec<u8>) {
    let Answer { model, want, prompt_tokens, .. } = answer;
    let cached = answer.cached_tokens.unwrap_or(0);
    let computed = prompt_tokens.saturating_sub(cached);
    let timing = |tokens: u32, nanos: u64| {
        let ms = nanos as f64 / 1e6;
        let (each, rate) = (ms / f64::from(tokens.max(1)), f64::from(tokens) * 1e3 / ms.max(1e-6));
        (ms, each, rate)
    };
    let (prompt_ms, prompt_each, prompt_rate) = timing(computed, spent.prompt);
    let (answer_ms, answer_each, answer_rate) = timing(*want, spent.answer);
    let _ = write!(
        out,
        r#""id_slot":0,"stop":true,"model":{model},"tokens_predicted":{want},"tokens_evaluated":{prompt_tokens},"has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":{cached},"timings":{{"cache_n":{cached},"prompt_n":{computed},"prompt_ms":{prompt_ms:.3},"prompt_per_token_ms":{prompt_each:.6},"prompt_per_second":{prompt_rate:.3},"predicted_n":{want},"predicted_ms":{answer_ms:.3},"predicted_per_token_ms":{answer_each:.6},"predicted_per_second":{answer_rate:.3}}}}}"#
    );
}
