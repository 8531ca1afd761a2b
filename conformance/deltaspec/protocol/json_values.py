"""Lossless JSON: numbers keep their lexeme, and repeated keys are reported.

Canonicalization writes numbers unchanged, and a validator must distinguish `1` from `1.0` and 2^63 from 2^63 - 1.
"""

import json
import re
from typing import Any

import msgspec

MAX_DEPTH = 200


class JsonError(ValueError):
    """Input that is not JSON, or is nested more deeply than `MAX_DEPTH`."""


class JsonTooDeep(JsonError):
    """Input nested more deeply than `MAX_DEPTH`. It may be valid: JSON does not limit the depth."""


class Number(str):
    """A JSON number as written."""

    __slots__ = ()

    @property
    def is_integer(self) -> bool:
        """Whether the number has neither a fraction nor an exponent."""
        return self.lstrip("-").isdigit()


class Document(msgspec.Struct, frozen=True):
    """A parsed JSON document."""

    value: Any
    """Dicts, lists, strings, `Number`s, booleans and None; for a repeated key, the last value."""
    repeated_keys: tuple[str, ...]
    """JSON pointers of keys that occur more than once in their object, in document order."""


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


def parse_lossless(text: str | bytes) -> Document:
    """Parse JSON (RFC 8259) strictly: no NaN, no byte order mark.

    Lone surrogates, escaped or as octets, are kept: the grammar of JSON allows them, see `has_lone_surrogate`.

    Raises:
        JsonTooDeep: The input is nested more deeply than `MAX_DEPTH`.
        JsonError: The input is not JSON; the message says why and where.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as fault:
            text = _decode_with_surrogates(fault)
    if text.startswith("\ufeff"):
        raise JsonError("begins with a byte order mark")
    _bound_depth(text)
    try:
        raw = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as fault:
        raise JsonError(f"{fault.msg[0].lower()}{fault.msg[1:]} at character {fault.pos}") from fault
    repeated: list[str] = []
    return Document(_plain(raw, "", repeated), tuple(repeated))


def find_repeated_key(text: str | bytes) -> str | None:
    """Return the JSON pointer of the first key that occurs twice in its object; None without one, and in no JSON."""
    try:
        repeated = parse_lossless(text).repeated_keys
    except JsonError:
        return None
    return repeated[0] if repeated else None


def _decode_with_surrogates(fault: UnicodeDecodeError) -> str:
    """Decode bytes that are not UTF-8, if only because they contain surrogates; else raise `JsonError`."""
    try:
        return fault.object.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        raise JsonError(f"byte {fault.start} is not UTF-8") from fault


class _Pairs(list[tuple[str, Any]]):
    """The members of an object in document order."""


def _refuse(word: str) -> Any:
    raise JsonError(f"{word} is not JSON")


def _may_be_too_deep(text: str) -> bool:
    """Return whether the text has more brackets than the deepest value may be nested in."""
    return text.count("{") + text.count("[") > MAX_DEPTH


def _bound_depth(text: str) -> None:
    if not _may_be_too_deep(text):
        return
    depth, too_deep = 0, None
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH and too_deep is None:
                too_deep = f"nested more than {MAX_DEPTH} levels deep at character {token.start()}"
        elif token[0] in ("]", "}"):
            depth -= 1
    if too_deep is not None:
        raise JsonTooDeep(too_deep) if depth == 0 else JsonError(f"{too_deep}, and brackets are not balanced")


def prune_deep_values(text: str) -> str:
    """Replace values nested more than `MAX_DEPTH` levels deep by null, so that the rest can be parsed.

    Text that is not deeper, or whose brackets are not balanced, is returned unchanged.
    """
    if not _may_be_too_deep(text):
        return text
    parts, end, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            if depth == MAX_DEPTH + 1:
                parts += [text[end : token.start()], "null"]
        elif token[0] in ("]", "}"):
            if depth == MAX_DEPTH + 1:
                end = token.end()
            depth -= 1
    return "".join((*parts, text[end:])) if parts and depth == 0 else text


def _plain(value: Any, pointer: str, repeated: list[str]) -> Any:
    if isinstance(value, _Pairs):
        members: dict[str, Any] = {}
        for key, member in value:
            here = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in members:
                repeated.append(here)
            members[key] = _plain(member, here, repeated)
        return members
    if isinstance(value, list):
        return [_plain(member, f"{pointer}/{index}", repeated) for index, member in enumerate(value)]
    return value


def has_lone_surrogate(document: Any) -> bool:
    """Return whether any string contains a lone surrogate, which cannot be encoded as UTF-8."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def escape_lone_surrogates(text: str) -> str:
    """Write lone surrogates as escapes such as `\\ud800`, because UTF-8 cannot encode them."""
    return text.encode("utf-8", "backslashreplace").decode()


def replace_lone_surrogates(text: str) -> str:
    """Replace every escape of a lone surrogate in JSON text by the escape of the replacement character."""
    return _ESCAPE.sub(lambda match: r"\ufffd" if match["lone"] else match[0], text)
