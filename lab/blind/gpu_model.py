"""A model folder in the shape of Llama-3.1-8B without weights: vLLM makes them up with --load-format dummy.

    gpu_model.py TARGET TOKENIZER_FOLDER
"""

import json
import pathlib
import shutil
import sys

SHAPE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 49152,  # of the SmolLM2 tokenizer
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
}

target, tokenizer = (pathlib.Path(word) for word in sys.argv[1:3])
target.mkdir(parents=True, exist_ok=True)
for name in ("tokenizer.json", "tokenizer_config.json"):
    shutil.copy(tokenizer / name, target / name)
(target / "config.json").write_text(json.dumps(SHAPE, indent=1))
(target / "generation_config.json").write_text(json.dumps({"bos_token_id": 1, "eos_token_id": 2}))
