//! What was asked and answered, as people and their scripts write it into logs: without quotes, or in JSON of their own.

use super::{Extent, Finds, Part, Rule, prompt};

pub(super) const SPOKEN: &[Rule] = &[
    Rule {
        name: "bare-prompt",
        what: "prompts and outputs without quotes",
        finds: Finds::Structure {
            needles: "prompt: prompt= prompt␣: prompt␣= generated␣text: generated␣text= generated_text: generated_text= \
            output_text: output_text= input_text: input_text= prompt_text: prompt_text= user␣message: user␣input: \
            user␣query: user␣question: user_message: user_input: user_query: model␣output: model␣response: \
            llm␣output: llm␣response: assistant␣response: final␣answer: system␣message: system_message:",
            part: Part::BarePrompt,
        },
        source: "common form; vLLM's offline examples print Prompt and Generated text",
        hides: "INFO 11-16 07:40:20 [x.py:3] Prompt: «what is my diagnosis?»",
        keeps: "prompt: 512 tokens, Prompt: None, Avg prompt throughput: 42.4 tokens/s, prompt eval time = 12.5 ms / 7 tokens, prompt=prompt,",
    },
    Rule {
        name: "dialogue",
        what: "what somebody said, behind who it was",
        finds: Finds::Structure {
            needles: "user: assistant: human: ai: bot: chatbot: system: question: answer:",
            part: Part::Dialogue,
        },
        source: "common form of transcripts",
        hides: "Assistant: «you have the flu»",
        keeps: "user: root",
    },
    Rule {
        name: "text-below",
        what: "the lines of a prompt or an output behind its first",
        finds: Finds::Structure { needles: "", part: Part::Spoken },
        source: "loggers that write a text as it came",
        hides: "INFO 11-16 07:40:20 [x.py:3] Received prompt: '«who is»\n«it now»', n=7",
        keeps: "INFO 11-16 07:40:20 [x.py:3] Received prompt: None\nready",
    },
    Rule {
        name: "question",
        what: "questions and answers by their name",
        finds: prompt("question questions answer answers", ""),
        source: "common form: retrieval and evaluation scripts",
        hides: r#"{"question": "«what is my diagnosis»", "answer": "«the flu»", "n": 3}"#,
        keeps: "no answer within 5 s, answers: 7, {\"answer\": null}, the question is open",
    },
    Rule {
        name: "messages",
        what: "messages that are texts alone",
        finds: Finds::Prompt { names: "messages", mark: "", extent: Extent::Listed },
        source: "common form; objects in such a list have names of their own",
        hides: r#"{"messages": [«"who is it", "a man"»], "n": 1}"#,
        keeps: "messages: 7, {\"messages\": [], \"n\": 1}, 3 messages: ok",
    },
    Rule {
        name: "dump-text",
        what: "texts in requests and answers that were logged",
        finds: prompt(
            "text texts",
            "sampling_params meta_info max_new_tokens max_tokens finish_reason prompt_tokens completion_tokens \
            output_ids messages cmpl- parts equest esponse payload choices segments _text\\ \
            type\\\":\\\"text type\\\":␣\\\"text",
        ),
        source: "SGLang's /generate takes `text` and answers with it; OpenAI's answers; JSON in JSON",
        hides: r#"body of response {"text": "«a man»", "meta_info": {"id": "x"}} {\"choices\":[{\"text\":\"«a cat»\"}]}"#,
        keeps: r#"{"text":"INFO ready","record":{"level":"info"}}"#,
    },
];
