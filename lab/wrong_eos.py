"""Copies a model directory with the wrong end token: answers of the copy run on to max_tokens.

    wrong_eos.py SOURCE TARGET [TOKEN]

ChatML models end a turn with <|im_end|>; the copy names <|endoftext|> (or TOKEN) everywhere the engine looks, as a
base model's files do. Weights and tokenizer are links to the source.
"""

import json
import pathlib
import sys


def token_id(source, token):
    """The id of a special token, from tokenizer.json."""
    added = json.loads((source / "tokenizer.json").read_text())["added_tokens"]
    for entry in added:
        if entry["content"] == token:
            return entry["id"]
    raise SystemExit(f"wrong_eos: {token} is no special token of {source}")


def copy(source, target, token):
    """Links everything, then replaces the three files that name the end token."""
    number = token_id(source, token)
    changes = {
        "config.json": {"eos_token_id": number},
        "generation_config.json": {"eos_token_id": number},
        "tokenizer_config.json": {"eos_token": token},
    }
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        copied = target / path.name
        copied.unlink(missing_ok=True)
        if path.name in changes:
            copied.write_text(json.dumps(json.loads(path.read_text()) | changes[path.name], indent=2) + "\n")
        else:
            copied.symlink_to(path.resolve())


def main():
    """Command line entry."""
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    source, target = (pathlib.Path(word) for word in sys.argv[1:3])
    token = sys.argv[3] if len(sys.argv) == 4 else "<|endoftext|>"
    copy(source, target, token)
    print(f"{target}: ends with {token}")


if __name__ == "__main__":
    main()
