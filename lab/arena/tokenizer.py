"""A tokenizer for clients that insist on one: every word is a token, so none of them loses time here.

It is written as plain JSON in the format of Hugging Face's `tokenizers`; nothing is downloaded or trained.
"""

import json
import pathlib
import shutil

# The words of the ground-truth server's answers (crates/truth/src/words.rs), and the unknown word.
ANSWERS = "slow tokens wait until their time has come then leave one by never too early".split()
UNKNOWN = "<unk>"
# Enough other words for random prompts that do not repeat themselves.
OTHERS = 4096
# What clients call it that take names only: they find it in a cache that looks as if it had been downloaded.
NAME = "arena/words"
REVISION = "0" * 40


def write(folder):
    """Makes the tokenizer's folder."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    words = [UNKNOWN, "<s>", "</s>", *ANSWERS, *(f"w{n}" for n in range(OTHERS))]
    special = [
        {"id": n, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
         "special": True}
        for n, word in enumerate(words[:3])
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: n for n, word in enumerate(words)}, "unk_token": UNKNOWN},
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": UNKNOWN,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "</s>",
        "model_max_length": 131_072,
        "clean_up_tokenization_spaces": False,
        "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    }
    # Without this file some clients ask the hub what kind of model it is.
    model = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "vocab_size": len(words),
        "max_position_embeddings": 131_072,
    }
    for name, value in (("tokenizer", tokenizer), ("tokenizer_config", config), ("config", model)):
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def cache(folder, home):
    """Makes a Hugging Face home (`HF_HOME`) in which the tokenizer of that folder has its name."""
    entry = pathlib.Path(home) / "hub" / f"models--{NAME.replace('/', '--')}"
    shutil.rmtree(entry, ignore_errors=True)
    shutil.copytree(folder, entry / "snapshots" / REVISION)
    (entry / "refs").mkdir()
    (entry / "refs/main").write_text(REVISION)
    return pathlib.Path(home)
