//! What was asked and answered, as engines log it.

use super::{Extent, Finds, Rule, prompt};

pub(super) const PROMPTS: &[Rule] = &[
    Rule {
        name: "prompt",
        what: "prompts as vLLM and llama.cpp log them",
        finds: prompt("prompt negative_prompt system_prompt", ""),
        source: "vllm/entrypoints/logger.py as published (`Received request … prompt: %r`, later `Request … details: prompt: %r`); llama.cpp's /slots as in its pull request 19752",
        hides: "Received request cmpl-1: prompt: '«Who is the president»', params: SamplingParams(max_tokens=200)",
        keeps: "Avg prompt throughput: 42.4 tokens/s, 'prompt': None",
    },
    Rule {
        name: "prompt-variable",
        what: "prompts in variables",
        finds: prompt("default_system_prompt chat_prompt user_prompt initial_prompt", ""),
        source: "common form; behind the name of a variable all of the line is its value",
        hides: "DEFAULT_SYSTEM_PROMPT=«You are a helpful lawyer of Acme»",
        keeps: "MAX_PROMPT=7, PROMPT_LENGTH=12",
    },
    Rule {
        name: "token-ids",
        what: "prompts and outputs as token ids",
        finds: prompt(
            "prompt_token_ids prompt_token_id input_token_ids output_token_ids input_ids output_ids prompt_ids tokens",
            "",
        ),
        source: "vllm/entrypoints/logger.py and sglang's request_logger.py as published; `tokens` is a common form, unsourced",
        hides: "prompt_token_ids: «[6526, 349, 272]», lora_request: None",
        keeps: "stop_token_ids=[151643], prompt_tokens=7, token_ids: 12",
    },
    Rule {
        name: "vllm-output",
        what: "outputs as vLLM's --enable-log-outputs logs them",
        finds: prompt("output outputs", "Generated response"),
        source: "vllm/entrypoints/logger.py as published",
        hides: "Generated response cmpl-1 (streaming complete): output: '«It is a city»', output_token_ids: None, finish_reason: stop",
        keeps: "output: 'stdout' of the build",
    },
    Rule {
        name: "sglang-text",
        what: "texts as SGLang's --log-requests logs them",
        finds: prompt("text", "obj"),
        source: "sglang's request_logger.py as published",
        hides: "Finish: obj=GenerateReqInput(rid='r1', text='«Who is it»'), out={'text': '«A man»', 'meta_info': {'e2e_latency': 0.4}}",
        keeps: "Receive: obj=GenerateReqInput(text=None, stream=True)",
    },
    Rule {
        name: "content",
        what: "messages of a chat",
        finds: prompt("content reasoning_content arguments", ""),
        source: "OpenAI's chat API; llama.cpp's verbose log as in its issue 12137",
        hides: r#"request: {"messages":[{"role":"user","content":"«hello there»"}],"max_tokens":16}"#,
        keeps: "the chat template content format to be 'string'",
    },
    Rule {
        name: "generated",
        what: "generated texts by their name",
        finds: prompt("generated_text generated completion", ""),
        source: "TGI's answers (router/src/lib.rs); llama.cpp's /slots as in its pull request 19752",
        hides: r#"{"generated_text":"«a cat»","details":{"generated_tokens":3}}"#,
        keeps: "generated: 12 tokens",
    },
    Rule {
        name: "tgi-text",
        what: "prompts and outputs as TGI's router logs them at debug",
        finds: Finds::Prompt { names: "input output", mark: "text_generation_router", extent: Extent::Rest },
        source: "TGI's router/src/server.rs, which writes `Input:` and `Output:` at debug; the line around them is a common form, unsourced",
        hides: "2024-05-01T10:00:00.1Z DEBUG generate: text_generation_router::server: server.rs:159: Input: «What is it?»",
        keeps: "2024-05-01T10:00:00.1Z INFO text_generation_router: validation took 3 ms",
    },
    Rule {
        name: "input",
        what: "inputs of completions, embeddings and TGI requests",
        finds: prompt("input inputs", "model"),
        source: "OpenAI's embeddings and responses API; TGI's `inputs` (router/src/server.rs)",
        hides: r#"body {"model":"m","input":"«who is it»"}"#,
        keeps: r#"body {"model":"m","input":null}"#,
    },
];
