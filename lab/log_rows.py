"""Whether the words of our log tables still stand in the vLLM that is installed in the lab.

    lab/log_rows            every row of crates/engines/src/log/vllm*.rs that names vLLM's code and has not ended

Rows found in a recording are checked against it by a test; those of other people's code cannot be checked here.

Prints the rows whose text no literal of the package holds, and ends with 1 if there are any. A row that a release dropped gets
`.until("…")`; one that was reworded gets a second row.
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r'row\(\s*(\w+),\s*("(?:[^"\\]|\\.)*")\s*,?\s*\)(.*?)\.from\(\s*(.*?),\s*"', re.DOTALL)
NAMED = re.compile(r'const (\w+): Wording\s*=\s*Wording::(\w+)\(\s*"([^"]*)"', re.DOTALL)
EXCEPTION = re.compile(r"^\w+(?:Error|Exception): (?=.)")
GIVEN = re.compile(r'Wording::(\w+)\(\s*"([^"]*)"')


def rows(path):
    """(meaning, text, has ended, whether its words are of vLLM's own code) of every row of a table."""
    source = path.read_text()
    named = {name: (kind, place) for name, kind, place in NAMED.findall(source)}
    for meaning, text, extra, origin in ROW.findall(source):
        given = GIVEN.search(origin)
        kind, place = given.groups() if given else named.get(origin.strip(), ("?", ""))
        own = kind == "Code" and place.startswith("vllm-project/vllm:")
        yield meaning, ast.literal_eval(text), ".until(" in extra, own


def literals(package):
    """The fixed parts of every string in a package's sources, implicit concatenations joined."""
    for path in package.rglob("*.py"):
        try:
            tree = ast.parse(path.read_text())
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                fixed = [part.value if isinstance(part, ast.Constant) else "\0" for part in node.values]
                yield from "".join(fixed).split("\0")


def written(text):
    """How a row's text may stand in the sources: `name=` comes from a dictionary's key, `SomeError: ` is put before a message by Python."""
    yield text.rstrip("=")
    yield EXCEPTION.sub("", text)


def main():
    """Command line entry; returns the exit status."""
    package = next(pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/vllm"), None)
    if package is None:
        print("lab/log_rows: no vLLM beside this Python: run lab/install", file=sys.stderr)
        return 1
    # The words of a logger's template stand around its %s and %d.
    parts = {piece for text in literals(package) for piece in re.split(r"%[-.\d]*[sdrfx]", text)}
    haystack = "\0".join(parts)
    names = {name for path in package.rglob("*.py") for name in re.findall(r"^\s*(?:async )?def (\w+)", path.read_text(errors="replace"), re.MULTILINE)}
    wanted = [
        (path.name, *row)
        for path in sorted((ROOT / "crates/engines/src/log").glob("vllm*.rs"))
        for row in rows(path)
        if row[3] and not row[2]
    ]
    gone = [row for row in wanted if not any(form in haystack for form in written(row[2])) and row[2].removeprefix("in ") not in names]
    for table, meaning, text, *_ in gone:
        print(f"{table}: {meaning} {text!r} stands nowhere in the installed vLLM")
    print(f"{len(wanted) - len(gone)} of {len(wanted)} rows found")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
