"""Parse example rows in docstrings of rules: `column: value, column: value`, one row a line.

A value is JSON (`1`, `true`, `null`, `"text, with commas"`, `["a", "b"]`) or a bare word, which is a string.
"""

import json
from typing import Any


def parse_rows(block: str) -> list[dict[str, Any]]:
    """Return the rows of a block, in order, without blank lines.

    Raises:
        ValueError: a line is not a list of `column: value` pairs.
    """
    return [parse_row(line.strip()) for line in block.splitlines() if line.strip()]


def parse_row(line: str) -> dict[str, Any]:
    """Return one row by column name."""
    row: dict[str, Any] = {}
    rest = line
    while rest:
        name, colon, rest = rest.partition(":")
        if not colon or not name.strip().isidentifier():
            raise ValueError(f"expected `column: value` in {line!r}")
        row[name.strip()], rest = _parse_value(rest.strip(), line)
    return row


def _parse_value(text: str, line: str) -> tuple[Any, str]:
    if text[:1] in ('"', "[", "{"):
        value, end = json.JSONDecoder().raw_decode(text)
        rest = text[end:].strip()
    else:
        word, comma, tail = text.partition(",")
        value, rest = _parse_word(word.strip()), comma + tail
    if rest and not rest.startswith(","):
        raise ValueError(f"expected a comma before {rest!r} in {line!r}")
    return value, rest.removeprefix(",").strip()


def _parse_word(word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError:
        return word
