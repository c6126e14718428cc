#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn event(data: &str) -> Event<'_> {
    Event { name: &[], data: data.as_bytes(), bytes: data.len() + 8 }
}

fn kinds(reading: &mut Reading, events: &[&str]) -> Vec<(ChunkKind, u16)> {
    events.iter().map(|e| reading.event(event(e))).collect()
}

use ChunkKind::*;

#[test]
fn a_chat_answer_role_reasoning_text_counts_and_end() {
    let mut reading = Reading::new(Api::Chat);
    reading.keep_text = true;
    let seen = kinds(
        &mut reading,
        &[
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"reasoning_content":"Hm"}}]}"#,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"reasoning":" so"}}]}"#,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Gr\u00fc\"e"}}]}"#,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" du"}}]}"#,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" \n!"}}]}"#,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}"#,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
            r#"{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":16}}}"#,
            "[DONE]",
        ],
    );
    let expected = [Empty, Reasoning, Reasoning, Content, Content, Content, Content, Empty, Usage, Done];
    assert_eq!(seen.iter().map(|s| s.0).collect::<Vec<_>>(), expected);
    assert_eq!(reading.text, "Grü\"e du \n!");
    assert_eq!(
        (reading.prompt_tokens, reading.completion_tokens, reading.cached_tokens),
        (Some(20), Some(6), Some(16))
    );
    assert_eq!(
        (reading.finish, reading.marked_end, reading.id.as_str()),
        (Finish::Length, true, "chatcmpl-1")
    );
}

#[test]
fn a_token_without_text_is_a_token() {
    // What vLLM 0.32 streams for an end token it was told to ignore: the text is empty, the step was made.
    let mut reading = Reading::new(Api::Completions);
    let seen = kinds(
        &mut reading,
        &[
            r#"{"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            r#"{"choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
            r#"{"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null,"token_ids":null}]}"#,
        ],
    );
    assert_eq!(seen, [(Silent, 0), (Content, 0), (Silent, 0)]);
    let mut reading = Reading::new(Api::Chat);
    let seen = kinds(
        &mut reading,
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":null,"token_ids":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":null}]}"#,
        ],
    );
    assert_eq!(seen, [(Empty, 0), (Silent, 0), (Empty, 0)]);
    // With the finish reason it may be the last token or none: the counts will tell.
    let ending = r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}"#;
    assert_eq!((reading.event(event(ending)), reading.blank_end), ((Empty, 0), true));
    assert_eq!((reading.event(event("[DONE]")), reading.blank_end), ((Done, 0), false));
}

#[test]
fn tokens_are_counted_only_where_told() {
    let mut reading = Reading::new(Api::Completions);
    let seen = kinds(
        &mut reading,
        &[
            r#"{"choices":[{"text":"a"}]}"#,
            r#"{"choices":[{"text":"bc"}],"usage":{"prompt_tokens":3,"completion_tokens":3}}"#,
            r#"{"choices":[{"text":"d"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
            r#"{"choices":[{"text":"ef","token_ids":[4,5]}]}"#,
            r#"{"choices":[{"text":"g","logprobs":{"tokens":["g"]}}]}"#,
        ],
    );
    assert_eq!(seen, [(Content, 0), (Content, 3), (Content, 1), (Content, 2), (Content, 1)]);
}

#[test]
fn other_apis_say_the_same_in_their_words() {
    let mut llama = Reading::new(Api::LlamaCpp);
    let seen = kinds(
        &mut llama,
        &[
            r#"{"index":0,"content":" a","tokens":[17],"stop":false,"id_slot":0}"#,
            r#"{"index":0,"content":" bc","tokens":[18,19],"stop":false}"#,
            r#"{"index":0,"content":"","tokens":[],"stop":true,"stop_type":"limit","tokens_predicted":3,"tokens_evaluated":9,"timings":{"cache_n":4}}"#,
        ],
    );
    assert_eq!(seen, [(Content, 1), (Content, 2), (Usage, 0)]);
    assert_eq!(
        (llama.completion_tokens, llama.prompt_tokens, llama.cached_tokens),
        (Some(3), Some(9), Some(4))
    );

    let mut tgi = Reading::new(Api::Tgi);
    let seen = kinds(
        &mut tgi,
        &[
            r#"{"index":1,"token":{"id":17,"text":" a","logprob":-0.1,"special":false},"generated_text":null,"details":null}"#,
            r#"{"index":2,"token":{"id":2,"text":"</s>","logprob":-0.1,"special":true},"generated_text":" a","details":{"finish_reason":"eos_token","generated_tokens":2,"input_length":5}}"#,
        ],
    );
    assert_eq!(seen, [(Content, 1), (Silent, 1)]);
    assert_eq!((tgi.completion_tokens, tgi.finish, tgi.marked_end), (Some(2), Finish::Stop, true));

    let mut responses = Reading::new(Api::Responses);
    let seen = kinds(
        &mut responses,
        &[
            r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1"}}"#,
            r#"{"type":"response.reasoning_text.delta","sequence_number":1,"delta":"Hm"}"#,
            r#"{"type":"response.output_text.delta","sequence_number":2,"delta":"a"}"#,
            r#"{"type":"response.completed","sequence_number":3,"response":{"id":"resp_1","usage":{"input_tokens":5,"output_tokens":2}}}"#,
        ],
    );
    assert_eq!(seen.iter().map(|s| s.0).collect::<Vec<_>>(), [Other, Reasoning, Content, Usage]);
    assert_eq!((responses.completion_tokens, responses.id.as_str()), (Some(2), "resp_1"));
}

#[test]
fn errors_and_garbage_are_told_apart() {
    let mut reading = Reading::new(Api::Chat);
    assert_eq!(reading.event(event(r#"{"error":{"message":"out of memory\nat","code":500}}"#)).0, Error);
    assert_eq!(reading.error, "out of memory");
    let mut reading = Reading::new(Api::Chat);
    assert_eq!(reading.event(event("{\"choices\":[{\"del")).0, Garbage);
    assert!(reading.error.contains("{\"choices\":[{\"del"), "{}", reading.error);
    assert_eq!(
        Reading::new(Api::Chat).event(event(r#"{"object":"error","message":"no such model"}"#)).0,
        Error
    );
}

fn chunk(text: &str) -> String {
    format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{{"content":{text}}},"finish_reason":null}}]}}"#)
}

proptest! {
    /// The short way must agree with the parser on anything that comes after a plain event.
    #[test]
    fn the_short_way_agrees_with_the_parser(first in "[a-z ]{1,8}", next in ".{0,12}", cut in 0usize..120, put in "[\"\\\\{}a-z\u{0}-\u{20}é]{0,6}", whole: bool) {
        let plain = chunk(&serde_json::to_string(&first).unwrap());
        let mut data = chunk(&serde_json::to_string(&next).unwrap()).into_bytes();
        if !whole {
            // Something that is nearly such an event.
            let at = cut.min(data.len());
            data.splice(at..(at + put.len() / 2).min(data.len()), put.bytes());
        }
        let event = Event { name: &[], data: &data, bytes: data.len() };
        let mut warm = Reading::new(Api::Chat);
        warm.event(super::Event { name: &[], data: plain.as_bytes(), bytes: 0 });
        let mut cold = Reading::new(Api::Chat);
        prop_assert_eq!(warm.event(event), cold.event(event));
    }
}
