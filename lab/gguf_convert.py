"""Turns a llama-architecture GGUF file into a Hugging Face model directory that vLLM serves.

    gguf_convert.py MODEL.gguf TARGET

Weights are dequantised to bfloat16. Tokenizer, chat template and special tokens come from the GGUF's own metadata, so
nothing is fetched. The directory appears under its name only when it is complete and has answered a question rightly.
Needs gguf, torch, safetensors, tokenizers and transformers: all are in the lab's vLLM environment.
"""

import json
import os
import pathlib
import shutil
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gguf
import numpy
import tokenizers
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TOP_LEVEL = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL_TOKEN = 3  # gguf's type of tokens such as <|im_end|>


class Source:
    """A GGUF file: its metadata by key and its tensors."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = {key: field.contents() for key, field in reader.fields.items()}
        self.tensors = reader.tensors
        if self.fields["general.architecture"] != "llama":
            raise SystemExit(f"gguf_convert: {path} is {self.fields['general.architecture']}, not llama")
        if self.fields["tokenizer.ggml.model"] != "gpt2":
            raise SystemExit("gguf_convert: only byte-level BPE tokenizers are known here")

    def llama(self, key, default=None):
        """An entry of the architecture."""
        return self.fields.get(f"llama.{key}", default)

    def tokenizer(self, key):
        """An entry of the tokenizer, None when absent."""
        return self.fields.get(f"tokenizer.ggml.{key}")

    def heads(self, block):
        """How many heads the rows of attn_q or attn_k belong to; None for other blocks."""
        key = {"attn_q": "attention.head_count", "attn_k": "attention.head_count_kv"}.get(block)
        return key and self.llama(key)


def rotary_halves(weight, heads):
    """Back to Hugging Face's order of rows.

    llama.cpp keeps the two halves of a rotary pair beside each other (rows 0 and 1, 2 and 3, … of a head); Hugging
    Face has all first halves, then all second halves.
    """
    per_head = weight.reshape(heads, -1, weight.shape[-1])
    return numpy.concatenate((per_head[:, 0::2], per_head[:, 1::2]), axis=1).reshape(weight.shape)


def hugging_face_name(name):
    """blk.7.attn_q.weight -> model.layers.7.self_attn.q_proj.weight."""
    parts = name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{IN_LAYER[parts[2]]}.{parts[3]}"
    return f"{TOP_LEVEL[parts[0]]}.{parts[1]}"


def weights(source):
    """All tensors under their Hugging Face names; an unknown one raises KeyError."""
    state = {}
    for tensor in source.tensors:
        if tensor.name == "rope_freqs.weight":  # derived, Hugging Face computes it
            continue
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        heads = source.heads(tensor.name.split(".")[-2])
        if heads:
            values = rotary_halves(values, heads)
        state[hugging_face_name(tensor.name)] = torch.tensor(values, dtype=torch.bfloat16)
    return state


def special_ids(source):
    """The ids of the special tokens that the file names."""
    ids = {"bos": source.tokenizer("bos_token_id"), "eos": source.tokenizer("eos_token_id")}
    ids |= {"pad": source.tokenizer("padding_token_id"), "unk": source.tokenizer("unknown_token_id")}
    return {name: number for name, number in ids.items() if number is not None}


def config(source, tied):
    """config.json."""
    heads = source.llama("attention.head_count")
    width = source.llama("embedding_length")
    ids = special_ids(source)
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "torch_dtype": "bfloat16",
        "vocab_size": len(source.tokenizer("tokens")),
        "hidden_size": width,
        "intermediate_size": source.llama("feed_forward_length"),
        "num_hidden_layers": source.llama("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": source.llama("attention.head_count_kv", heads),
        "head_dim": source.llama("rope.dimension_count", width // heads),
        "max_position_embeddings": source.llama("context_length"),
        "rope_theta": source.llama("rope.freq_base", 10000.0),
        "rms_norm_eps": round(source.llama("attention.layer_norm_rms_epsilon"), 9),  # stored as float32
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
    } | {f"{name}_token_id": ids[name] for name in ("bos", "eos", "pad") if name in ids}


def tokenizer(source):
    """The tokenizer, with digits split one by one where the file's pre-tokenizer does so."""
    tokens = source.tokenizer("tokens")
    merges = [tuple(pair.split(" ", 1)) for pair in source.tokenizer("merges")]
    made = tokenizers.Tokenizer(tokenizers.models.BPE({text: n for n, text in enumerate(tokens)}, merges))
    split = [tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)]
    if source.tokenizer("pre") == "smollm":
        split.insert(0, tokenizers.pre_tokenizers.Digits(individual_digits=True))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(split)
    made.decoder = tokenizers.decoders.ByteLevel()
    kinds = source.tokenizer("token_type")
    special = [text for text, kind in zip(tokens, kinds, strict=True) if kind == CONTROL_TOKEN]
    made.add_special_tokens([tokenizers.AddedToken(text, special=True, normalized=False) for text in special])
    return made


def tokenizer_config(source):
    """tokenizer_config.json, with the chat template."""
    tokens = source.tokenizer("tokens")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": source.llama("context_length"),
        "clean_up_tokenization_spaces": False,
        "chat_template": source.fields["tokenizer.chat_template"],
    } | {f"{name}_token": tokens[number] for name, number in special_ids(source).items()}


def write(source, target):
    """All files of the model directory."""

    def write_json(name, value):
        (target / name).write_text(json.dumps(value, indent=2) + "\n")

    state = weights(source)
    settings = config(source, tied="lm_head.weight" not in state)
    save_file(state, target / "model.safetensors", metadata={"format": "pt"})
    write_json("config.json", settings)
    write_json("generation_config.json", {key: settings[key] for key in settings if key.endswith("_token_id")})
    write_json("tokenizer_config.json", tokenizer_config(source))
    tokenizer(source).save(str(target / "tokenizer.json"))


def ask(folder, question):
    """The model's own greedy answer: shows that weights, tokenizer and template fit together."""
    words = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    chat = [{"role": "user", "content": question}]
    text = words.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    prompt = words(text, return_tensors="pt", add_special_tokens=False)
    answer = model.generate(**prompt, max_new_tokens=24, do_sample=False)
    return words.decode(answer[0, prompt["input_ids"].shape[1] :])


def main():
    """Command line entry."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    target = pathlib.Path(sys.argv[2])
    if target.exists():
        raise SystemExit(f"gguf_convert: {target} is already there")
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    write(Source(sys.argv[1]), partial)
    answer = ask(partial, "What is 2 plus 3?")
    if "5" not in answer or not answer.rstrip().endswith("<|im_end|>"):
        raise SystemExit(f"gguf_convert: 2 plus 3 is not {answer!r}: the conversion is wrong; left in {partial}")
    partial.rename(target)
    print(f"{target}: 2 plus 3 is {answer!r}")


if __name__ == "__main__":
    main()
