"""Raw actions as lines of JSON. Source: Delta Log Entries."""

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

Line: TypeAlias = dict[str, Any] | str | bytes
"""A raw action, or the text of a line as it shall stand there."""


def encode_line(line: Line) -> bytes:
    """One line without its end; an object is written compactly, in its own order of keys, as UTF-8."""
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else encode_json(line)).encode()


def encode_lines(lines: Iterable[Line]) -> bytes:
    """Lines, each ended by a newline."""
    return b"".join(encode_line(line) + b"\n" for line in lines)


def encode_json(value: Any) -> str:
    """JSON without spaces; NaN and infinities have no JSON form and raise ValueError."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
