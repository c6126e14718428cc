"""Makes tokenizer.json: a byte-level BPE that knows some words behind a blank, and nothing else as a whole."""
import json

# Most are among intriage's built-in words, the last line is not; no other word is a token.
WORDS = """
the and for that you with are can from was not this have your their they all will which more other has man about
but per out one were also part them who into these its some how self when his our may time under there than over
know people like act year such been use help new what would need through work any many only first child get two
learn where could should her well every high world even form water just make years set call
gneiss zephyr quoll fjord waltz
""".split()

def byte_chars():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = [b for b in range(256) if b not in plain]
    table = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(extra)}
    return [table[b] for b in range(256)]

vocab = {c: i for i, c in enumerate(byte_chars())}
merges = []

def learn(letters):
    whole = letters[0]
    for letter in letters[1:]:
        if whole + letter not in vocab:
            vocab[whole + letter] = len(vocab)
            merges.append(f"{whole} {letter}")
        whole += letter

# Words behind a blank before bare ones: a bare beginning must not tear a word apart.
for word in WORDS:
    learn("\u0120" + word)
learn("the")

level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
         "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": merges}
json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
           "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": model},
          open("tokenizer.json", "w"), ensure_ascii=False, indent=0)
