"""Encode raw actions as lines of JSON. Source: Delta Log Entries."""

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

Line: TypeAlias = dict[str, Any] | str | bytes
"""A raw action, or the verbatim text of a line."""


def encode_line(line: Line) -> bytes:
    """Encode one line as UTF-8 without its newline; objects are compact and keep their key order."""
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else encode_json(line)).encode()


def encode_lines(lines: Iterable[Line]) -> bytes:
    """Encode lines, each followed by a newline."""
    return b"".join(encode_line(line) + b"\n" for line in lines)


def encode_json(value: Any) -> str:
    """Encode a value as JSON without spaces.

    Raises:
        ValueError: NaN or an infinity, which JSON cannot represent.
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
