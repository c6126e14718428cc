//! Text Generation Inference's own `/generate_stream` and `/generate`.

use std::io::Write as _;

use super::Answer;
use crate::words;

/// An event has one token here, whatever is asked for; the last one has the whole text.
pub(super) fn tokens(answer: &Answer, from: u32, count: u32, out: &mut Vec<u8>) {
    for index in from..from.saturating_add(count) {
        answer.event(None, out, |out| {
            let number = index.saturating_add(1);
            let _ = write!(out, r#"{{"index":{number},"token":{{"id":{},"text":""#, words::id(index));
            answer.text(index, 1, out);
            out.extend_from_slice(br#"","logprob":-0.5,"special":false},"generated_text":"#);
            if number < answer.want {
                out.extend_from_slice(br#"null,"details":null}"#);
            } else {
                text_and_details(answer, false, out);
            }
        });
    }
}

pub(super) fn whole(answer: &Answer, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"generated_text":"#);
    text_and_details(answer, true, out);
}

fn text_and_details(answer: &Answer, with_tokens: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    answer.text(0, answer.want, out);
    let Answer { want, prompt_tokens, .. } = answer;
    let rest = if with_tokens { r#","prefill":[],"tokens":[]"# } else { "" };
    let _ = write!(
        out,
        r#"","details":{{"finish_reason":"length","generated_tokens":{want},"seed":null,"input_length":{prompt_tokens}{rest}}}}}"#
    );
}
