"""Canonical form and checksum of a JSON object. Source: Last Checkpoint File, JSON checksum, How to URL
encode keys and string values (all revisions).

Literals and numbers stay as written, strings are percent-encoded within their quotes, and every leaf becomes
`path=value`; the pairs are sorted and joined. The protocol sorts by path. Delta Spark sorts complete pairs, which
differs for arrays with more than ten elements (S18). Both orders are supported.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import quote

from deltaspec.protocol.json_values import Number

Order = Literal["path", "pair"]


def render_canonical_json(value: Any, order: Order = "path") -> str:
    """Return the canonical string of a value from `parse_lossless`, without its top-level `checksum`.

    Args:
        value: Usually an object; `Number` for numbers.
        order: `path`, as the protocol says, or `pair`, as Delta Spark does.
    """
    if isinstance(value, dict):
        value = {key: member for key, member in value.items() if key != "checksum"}
    if not isinstance(value, dict | list):
        return _leaf(value)
    pairs = list(_pairs(value, ""))
    pairs.sort(key=(lambda pair: pair[0].encode()) if order == "path" else (lambda pair: "=".join(pair).encode()))
    return ",".join(f"{path}={leaf}" for path, leaf in pairs)


def compute_checksum(value: Any, order: Order = "path") -> str:
    """Return the MD5 of the canonical form as 32 lower-case hexadecimal digits."""
    return hashlib.md5(render_canonical_json(value, order).encode(), usedforsecurity=False).hexdigest()


def _pairs(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        members = [(_string(key), member) for key, member in value.items()]
    elif isinstance(value, list):
        members = [(str(index), member) for index, member in enumerate(value)]
    else:
        yield path, _leaf(value)
        return
    for segment, member in members:
        yield from _pairs(member, f"{path}+{segment}" if path else segment)


def _leaf(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, Number):
        return str(value)
    return _string(value)


def _string(text: str) -> str:
    """Encode a string: octets outside the unreserved set (letters, digits, `-._~`) become upper-case escapes.

    A lone surrogate has no octets and counts as a question mark, as in Java.
    """
    return f'"{quote(text, safe="", errors="replace")}"'
