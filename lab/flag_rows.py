"""The flags of `vllm serve` as the vLLM that is installed in the lab takes them, against the table of intriage.

    lab/flag_rows            compares crates/engines/data/vllm_flags.txt with the package; ends with 1 where they differ
    lab/flag_rows --write    writes the table anew

A row has the spellings of a flag, what it takes and, for a choice, the words it takes. What a flag takes is found by asking
the parser's own type for a few words. Rows that begin with `capability` have the least compute capability, times ten, that a
quantization method asks of a card.
"""

import contextlib
import io
import pathlib
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "crates/engines/data/vllm_flags.txt"


def takes(action):
    """What a flag takes: nothing, a whole number, a number, a size such as 16k, JSON, or any text."""
    if action.nargs == 0:
        return "switch"
    if action.choices:
        return "choice"

    def accepts(word):
        try:
            return (action.type or str)(word) is not None
        except Exception:  # noqa: BLE001  a parser's type may refuse in any way
            return False

    if accepts("many words"):
        return "text"
    if accepts('{"a": 1}') or accepts("[1]"):
        return "json"
    if accepts("16k"):
        return "size"
    if accepts("0.5"):
        return "number"
    return "whole" if accepts("1") else "text"


def rows():
    """The table's lines."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        import vllm
        from vllm.entrypoints.launchers.cli_args import make_arg_parser
        from vllm.utils.argparse_utils import FlexibleArgumentParser

        from vllm.model_executor.layers.quantization import QUANTIZATION_METHODS, get_quantization_config

        actions = make_arg_parser(FlexibleArgumentParser())._actions
    yield f"vllm {vllm.__version__.partition('+')[0]}"
    for action in sorted((a for a in actions if a.option_strings), key=lambda a: a.option_strings[0].lstrip("-")):
        many = {"+": "+", "*": "*", "?": "?"}.get(action.nargs, "")
        # The parser takes any word here, and the configuration these alone.
        words = QUANTIZATION_METHODS if "--quantization" in action.option_strings else action.choices
        kind = "choice" if words else takes(action)
        yield "\t".join([" ".join(action.option_strings), kind + many, *([" ".join(sorted(map(str, words)))] if words else [])])
    for method in sorted(QUANTIZATION_METHODS):
        with contextlib.suppress(Exception):  # one that needs a package that is not here
            yield f"capability\t{method}\t{get_quantization_config(method).get_min_capability()}"


def main():
    """Command line entry; returns the exit status."""
    made = list(rows())
    if "--write" in sys.argv[1:]:
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text("\n".join(made) + "\n")
        return 0
    kept = TABLE.read_text().splitlines()
    for row in kept:
        if row not in made:
            print(f"not so in the package: {row}")
    for row in made:
        if row not in kept:
            print(f"not so in the table: {row}")
    print(f"{len(made)} rows")
    return int(made != kept)


if __name__ == "__main__":
    sys.exit(main())
