"""Example rows of rule docstrings: `column: value, column: value`, one row a line.

A value is JSON (`1`, `true`, `null`, `"text, with commas"`, `["a", "b"]`) or a bare word that stands for itself.
"""

import json
from typing import Any


def parse_rows(block: str) -> list[dict[str, Any]]:
    """The rows of a block, in order; blank lines are passed over.

    Raises:
        ValueError: a line is not a list of `column: value` pairs.
    """
    return [parse_row(line.strip()) for line in block.splitlines() if line.strip()]


def parse_row(line: str) -> dict[str, Any]:
    """One row: see the module."""
    row: dict[str, Any] = {}
    rest = line
    while rest:
        name, colon, rest = rest.partition(":")
        if not colon or not name.strip().isidentifier():
            raise ValueError(f"expected `column: value` in {line!r}")
        row[name.strip()], rest = _value(rest.strip(), line)
    return row


def _value(text: str, line: str) -> tuple[Any, str]:
    if text[:1] in ('"', "[", "{"):
        value, end = json.JSONDecoder().raw_decode(text)
        rest = text[end:].strip()
    else:
        word, comma, tail = text.partition(",")
        value, rest = _word(word.strip()), comma + tail
    if rest and not rest.startswith(","):
        raise ValueError(f"expected a comma before {rest!r} in {line!r}")
    return value, rest.removeprefix(",").strip()


def _word(word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError:
        return word
