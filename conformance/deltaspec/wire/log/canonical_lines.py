"""Decode canonical lines of the log: they have no byte more than necessary but spaces, and therefore no defect.

`msgspec` encodes an action in the fewest bytes that decode to it: each known key once, no nulls or white space, the
shortest escapes and numbers. So a line as long as its encoded action has no repeated or unknown key and no second
action, in whatever order its keys are.

Some writers put a space after each colon and comma. All spaces of an encoded action are in its strings. So a line may
be longer by as many bytes as it has more spaces: a repeated or unknown key would add quotes and a colon as well.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import msgspec

from deltaspec.protocol.actions import WireStruct, get_action_types
from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log.line_validation import FREE_FORM

_encoder = msgspec.json.Encoder()
_ERRORS = (msgspec.DecodeError, RecursionError, ValueError)


@cache
def _get_body_decoders(revision: Revision) -> dict[bytes, tuple[str, int, Callable[[bytes], WireStruct]]]:
    """Return kind, start of the body and decoder of the body, by the bytes of a line up to its first colon."""
    return {
        b'{"%s":' % kind.encode(): (kind, len(kind) + 4, msgspec.json.Decoder(type_).decode)
        for kind, type_ in get_action_types(revision).items()
        if kind != FREE_FORM
    }


def decode_canonical_line(line: bytes, revision: Revision) -> tuple[str | None, WireStruct | None]:
    """Return kind and action of a canonical line; otherwise, and for free-form actions, (None, None)."""
    decoder = _get_body_decoders(revision).get(line[: line.find(b":") + 1])
    if decoder is None or line[-1:] != b"}":
        return None, None
    kind, start, decode = decoder
    body = line[start:-1]
    try:
        action = decode(body)
    except _ERRORS:
        return None, None
    return (kind, action) if _is_canonical(body, _encoder.encode(action), 0) else (None, None)


def _is_canonical(text: bytes, encoded: bytes, around: int) -> bool:
    """Return whether a text has no byte more than its encoded actions, spaces excepted, and `around` other bytes."""
    further = len(text) - len(encoded) - around
    return further == 0 or (further > 0 and further == text.count(b" ") - encoded.count(b" "))


class _BlockDecoder(NamedTuple):
    """Decoder of several lines."""

    decode: Callable[[bytes], list[Any]]
    """Decodes lines to objects with an attribute for each kind of action; None for kinds that a line does not have."""
    kinds: dict[type[WireStruct], str]
    bytes_around: dict[type[WireStruct], int]
    """Length of a line without the body of its action."""


@cache
def _get_block_decoder(revision: Revision) -> _BlockDecoder:
    kinds = {type_: kind for kind, type_ in get_action_types(revision).items() if kind != FREE_FORM}
    line = msgspec.defstruct("Line", [(kind, type_ | None, None) for type_, kind in kinds.items()], gc=False)
    around = {type_: len(kind) + len('{"":}') for type_, kind in kinds.items()}
    return _BlockDecoder(msgspec.json.Decoder(line).decode_lines, kinds, around)


def decode_canonical_block(block: bytes, revision: Revision) -> tuple[list[str], list[WireStruct]] | None:
    """Return kind and action of every line, decoded in one call; None unless all lines are canonical.

    The proof for single lines holds for all lines at once: no line is shorter than its encoded action. So if the total
    lengths are equal, the lengths of every line are, and nothing else is between the lines.

    Args:
        block: lines of a file; the last one may have no line feed.
        revision: protocol revision.
    """
    decoder = _get_block_decoder(revision)
    try:
        lines = decoder.decode(block)
    except _ERRORS:
        return None
    actions: list[Any] = [each.add or each.remove or each.cdc or _get_other_action(each) for each in lines]
    if None in actions or block.count(b"}\n{") != len(lines) - 1:  # one line could have two objects
        return None
    types = list(map(type, actions))
    around = sum(map(decoder.bytes_around.__getitem__, types)) - (not block.endswith(b"\n"))
    if not _is_canonical(block, _encoder.encode_lines(actions), around):
        return None
    return [decoder.kinds[each] for each in types], actions


def _get_other_action(line: Any) -> WireStruct | None:
    """Return the first action of a decoded line without file actions; None if it has none."""
    return next((action for action in map(line.__getattribute__, line.__struct_fields__) if action is not None), None)
