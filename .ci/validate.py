"""validate.py SCHEMA: every JSON value on standard input must satisfy the schema; at least one must come."""

import json
import sys

from jsonschema import Draft202012Validator


def values(text):
    """The JSON values that follow each other in `text`."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def main():
    with open(sys.argv[1]) as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator, count = Draft202012Validator(schema), 0
    for value in values(sys.stdin.read().strip()):
        count += 1
        validator.validate(value)
    if not count:
        sys.exit("nothing to validate")
    print(f"{count} values satisfy {sys.argv[1]}")


main()
