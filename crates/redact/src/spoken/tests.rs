//! What was said is hidden in every form, and what only has the same words stays.

use crate::Redactor;

#[test]
fn bare_prompts_and_outputs_are_hidden_to_their_end() {
    for (line, safe) in [
        ("Prompt: what is my diagnosis", "Prompt: [20 characters]"),
        ("INFO:     prompt = who is it", "INFO:     prompt = [9 characters]"),
        ("system_prompt: You are kind", "system_prompt: [12 characters]"),
        ("Generated text: a man is here", "Generated text: [13 characters]"),
        ("Prompt: hello, Generated text: a man", "Prompt: [5 characters], Generated text: [5 characters]"),
        ("prompt: hello, params: SamplingParams(n=1)", "prompt: [5 characters], params: SamplingParams(n=1)"),
        ("Prompt: 5 plus 3 is?", "Prompt: [12 characters]"),
        (
            "{\"msg\":\"Prompt: who is it\",\"level\":\"info\"}",
            "{\"msg\":\"Prompt: [9 characters]\",\"level\":\"info\"}",
        ),
        (
            "{\"log\":\"Prompt: who is it\\n\",\"stream\":\"stderr\"}",
            "{\"log\":\"Prompt: [9 characters]\\n\",\"stream\":\"stderr\"}",
        ),
        ("prompt=`who is it` n=7", "prompt=`[9 characters]` n=7"),
        ("prompt: “who is it” n=7", "prompt: “[9 characters]” n=7"),
        ("prompt='''who's it''' n=7", "prompt='''[8 characters]''' n=7"),
        ("prompt=\"\"\"say \"it\" now\"\"\", n=7", "prompt=\"\"\"[12 characters]\"\"\", n=7"),
        ("prompt='what's my name', n=7", "prompt='[14 characters]', n=7"),
        ("User: what is my diagnosis", "User: [20 characters]"),
        ("vllm-1  | Assistant: flu", "vllm-1  | Assistant: [3 characters]"),
        ("**Human:** what is it", "**Human:** [10 characters]"),
        ("System: You are kind", "System: [12 characters]"),
        ("Question: what is it", "Question: [10 characters]"),
    ] {
        let redactor = Redactor::new();
        assert_eq!(redactor.text(line), safe);
        assert_eq!(redactor.text(safe), safe);
        assert_eq!(redactor.keep_prompts().text(line), line);
    }
}

#[test]
fn counts_errors_code_and_other_words_stay() {
    for line in [
        "prompt: 512 tokens, generation: 12 tokens",
        "chat:prompt=512,max=64",
        "prompt=7 max_tokens=9",
        "prompt=None, prompt: null, Prompt: [1 ids]",
        "        prompt=request.prompt,",
        "    prompt: Optional[str] = None,",
        "    prompt: str,",
        "Bad prompt: too long for this model",
        "prompt: Input should be a valid string",
        "(APIServer pid=1) INFO 11-16 07:40:20 [loggers.py:1] Engine 000: Avg prompt throughput: 42.4 tokens/s",
        "prompt eval time =     12.50 ms /     7 tokens (    1.79 ms per token,   560.00 tokens per second)",
        "Processed prompts: 100%|##########| 4/4 [00:01<00:00,  3.20it/s]",
        "no answer within 5 s",
        "user: root",
        "User: 0.57 s, System: 0.1 s",
        "System: Ubuntu 22.04",
        "AI: enabled",
        "the user: a person",
        "prompt::render failed",
        "usage: {\"prompt_tokens\": 7, \"completion_tokens\": 12}",
    ] {
        assert_eq!(Redactor::new().text(line), line);
    }
}

#[test]
fn a_prompt_of_several_lines_is_hidden_up_to_the_next_record() {
    let record = "INFO 11-16 07:40:20 [x.py:3] ";
    for (text, safe) in [
        (
            "R prompt: 'who is\nNVRM: Xid (PCI:0000:3b:00): 79, pid=1\nit's you', n=7\nready\n",
            "R prompt: '[6 characters]\n[37 characters]\n[8 characters]', n=7\nready\n",
        ),
        (
            "R prompt=\"\"\"who is\n\nit now\"\"\", n=7\nready\n",
            "R prompt=\"\"\"[6 characters]\n\n[6 characters]\"\"\", n=7\nready\n",
        ),
        (
            "RPrompt: who is\n  it now\nINFO 11-16 07:40:21 [y.py:1] Engine 000: Running: 2 reqs\nready\n",
            "RPrompt: [6 characters]\n  [6 characters]\nINFO 11-16 07:40:21 [y.py:1] Engine 000: Running: 2 reqs\nready\n",
        ),
        (
            "RPrompt: who is\nit now\nTraceback (most recent call last):\n  File \"x.py\", line 7\n",
            "RPrompt: [6 characters]\n[6 characters]\nTraceback (most recent call last):\n  File \"x.py\", line 7\n",
        ),
        (
            "vllm-1  | Prompt: 'who is\nvllm-1  | it now'\nvllm-1  | ready\n",
            "vllm-1  | Prompt: '[6 characters]\nvllm-1  | [6 characters]'\nvllm-1  | ready\n",
        ),
        ("Prompt: who is\nready\n", "Prompt: [6 characters]\nready\n"),
    ] {
        let [text, safe] = [text, safe].map(|text| match text.strip_prefix('R') {
            Some(rest) => [record, rest].concat(),
            None => text.to_owned(),
        });
        assert_eq!(Redactor::new().text(&text), safe);
        assert_eq!(Redactor::new().text(&safe), safe);
        assert_eq!(Redactor::new().keep_prompts().text(&text), text);
    }
}
