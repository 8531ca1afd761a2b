"""Canonical form and checksum of a JSON object. Source: Last Checkpoint File, JSON checksum, How to URL
encode keys and string values (all revisions).

Literals and numbers stay as written, strings are percent-encoded within their quotes, and every leaf becomes
`path=value`; the pairs are sorted and joined. The text sorts by path; Delta Spark sorts whole pairs, which differs
for arrays of more than ten elements (S18). Both orders are offered.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import quote

from deltaspec.model.json_values import Number

Order = Literal["path", "pair"]


def render_canonical_json(value: Any, order: Order = "path") -> str:
    """The canonical string of a value parsed by `parse_lossless`, its top-level `checksum` left out.

    Args:
        value: usually an object; `Number` for numbers.
        order: by path, as the text says, or by whole pair, as Delta Spark does.
    """
    if isinstance(value, dict):
        value = {key: member for key, member in value.items() if key != "checksum"}
    if not isinstance(value, dict | list):
        return _leaf(value)
    pairs = list(_pairs(value, ""))
    pairs.sort(key=(lambda pair: pair[0].encode()) if order == "path" else (lambda pair: "=".join(pair).encode()))
    return ",".join(f"{path}={leaf}" for path, leaf in pairs)


def checksum(value: Any, order: Order = "path") -> str:
    """MD5 of the canonical form: 32 lower-case hexadecimal digits."""
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
    """A string with its octets outside the unreserved set (letters, digits, `-._~`) as upper-case escapes.

    Half of a surrogate pair has no octets; it counts as a question mark, as it does in Java.
    """
    return f'"{quote(text, safe="", errors="replace")}"'
