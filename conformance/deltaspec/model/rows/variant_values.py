"""Types of the values at paths of a variant, as named in bounds. Source: Statistics for Variant Columns (current), and
the variant encoding of Parquet that it refers to.
"""

import re

from deltaspec.model.rows.variant_bounds import VariantBoundError, _metadata, _number, _value

_STEP = re.compile(r"\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(u[0-9a-f]{4}|.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
Step = str | int


def parse_steps(path: str) -> tuple[Step, ...]:
    """Return the names and indexes of a normalized path."""
    return tuple(int(match[2]) if match[2] else _ESCAPED.sub(_plain, match[1]) for match in _STEP.finditer(path))


def _plain(match: re.Match[str]) -> str:
    text = match[1]
    return chr(int(text[1:], 16)) if len(text) == 5 else _LETTERS.get(text, text)


def find_type_at(metadata: bytes, value: bytes, wanted: tuple[Step, ...]) -> str | None:
    """Return the type at a path, as `variant_bounds` names types; None if missing or null.

    Raises:
        VariantBoundError: Metadata or value is invalid.
    """
    names, _ = _metadata(metadata)
    at = 0
    for step in wanted:
        found = _member(value, at, step, names)
        if found is None:
            return None
        at = found
    kind = _value(value, at, names).type
    return None if kind == "null" else kind


def _member(data: bytes, start: int, step: Step, names: list[str]) -> int | None:
    """Return the position of an object member or array element; None if it does not exist."""
    header = _number(data, start, 1)
    kind, detail = header & 3, header >> 2
    offset_width = (detail & 3) + 1
    if kind == 2 and isinstance(step, str):
        id_width, count_width = (detail >> 2 & 3) + 1, 4 if detail >> 4 & 1 else 1
    elif kind == 3 and isinstance(step, int):
        id_width, count_width = 0, 4 if detail >> 2 & 1 else 1
    else:
        return None
    count = _number(data, start + 1, count_width)
    ids = start + 1 + count_width
    offsets = ids + count * id_width
    first = offsets + (count + 1) * offset_width
    if first > len(data):
        raise VariantBoundError("is truncated")
    index = _find_index(data, ids, id_width, count, step, names)
    return None if index is None else first + _number(data, offsets + index * offset_width, offset_width)


def _find_index(data: bytes, ids: int, id_width: int, count: int, step: Step, names: list[str]) -> int | None:
    if isinstance(step, int):
        return step if step < count else None
    for index in range(count):
        number = _number(data, ids + index * id_width, id_width)
        if number < len(names) and names[number] == step:
            return index
    return None
