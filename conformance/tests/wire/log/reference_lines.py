"""A simple reference decoder of JSON lines, and strategies for lines with and without defects.

The reference decoder keeps all members of an object, so that no key is lost, and numbers as written.
"""

import json
from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st

from deltaspec.protocol.actions import ACTION_TYPES
from deltaspec.wire.log.line_decoder import LogFile


class Pairs(list[tuple[str, Any]]):
    """The members of an object in written order, with duplicates."""


@dataclass(frozen=True)
class ReferenceLine:
    """A line as the reference decoder reads it."""

    kind: str | None = None
    """Kind of the single known action."""
    actions: int = 0
    is_json: bool = True
    repeats: bool = False
    body: Any = None
    """The action, with the last of repeated members."""


def decode_by_reference(line: bytes) -> ReferenceLine:
    text = line.removeprefix(b"\xef\xbb\xbf")
    if text == line:
        text = text.removesuffix(b"\r")
    if not text.strip():
        return ReferenceLine()
    try:
        pairs = json.loads(text.decode(), object_pairs_hook=Pairs, parse_int=_integer, parse_constant=_refuse)
    except ValueError:
        return ReferenceLine(is_json=False)
    if not isinstance(pairs, Pairs):
        return ReferenceLine(is_json=False)
    members = dict(pairs)
    present = [name for name, value in members.items() if value is not None]
    known = [name for name in present if name in ACTION_TYPES]
    single = known[0] if len(known) == 1 else None
    return ReferenceLine(single, len(present), True, _repeats(pairs), _to_plain(members[single]) if single else None)


def _integer(text: str) -> int | float:
    return int(text) if len(text) < 100 else float(text)


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _repeats(value: Any) -> bool:
    if isinstance(value, Pairs):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(_repeats(member) for _, member in value)
    return isinstance(value, list) and any(_repeats(each) for each in value)


def _to_plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        return {name: _to_plain(member) for name, member in value}
    return [_to_plain(each) for each in value] if isinstance(value, list) else value


def fits_action(kind: str, body: Any) -> bool:
    """Return whether a body fits its action: required fields, types, and integer widths."""
    forms: dict[str, dict[str, tuple[type | tuple[type, ...], bool]]] = {
        "txn": {"appId": (str, True), "version": (int, True), "lastUpdated": (int, False)},
        "domainMetadata": {"domain": (str, True), "configuration": (str, True), "removed": (bool, True)},
        "cdc": {"path": (str, True), "partitionValues": (dict, True), "size": (int, True), "dataChange": (bool, True)},
        "checkpointMetadata": {"version": (int, True)},
    }
    if kind == "commitInfo":  # free-form
        return True
    if not isinstance(body, dict):
        return False
    for name, (wanted, required) in forms[kind].items():
        value = body.get(name)
        if value is None:
            if required:
                return False
            continue
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            return False
        if wanted is int and not -(2**63) <= value < 2**63:
            return False
    values = body.get("partitionValues") if kind == "cdc" else {}
    return all(value is None or isinstance(value, str) for value in values.values())


# lines are written member by member, so that keys may repeat and contain escapes

_PLAIN: dict[str, dict[str, list[str]]] = {
    "txn": {"appId": ['"a"', '"\\\\\\" :"', "5"], "version": ["1", "-0", "1.0", "1e3"], "lastUpdated": ["7", "null"]},
    "domainMetadata": {
        "domain": ['"d"', '"\\":"', "null"],
        "configuration": ['"{\\"a\\":1,\\"a\\":2}"', '"{}"', "{}", '{"a":"b"}', '{"a":1}'],
        "removed": ["true", "false", '"true"'],
    },
    "cdc": {
        "path": ['"x\\ty"', '"_change_data/\\" "', '"\\u00e9"'],
        "partitionValues": ["{}", '{"p":"1"}', '{"p":null,"q" : "2"}', '{"p":"1","p":"1"}', '{"p":1}'],
        "size": ["0", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 40],
        "dataChange": ["false", "true", "0"],
    },
    "rowIdHighWaterMark": {"highWaterMark": ["9", "-1", '"9"', "null"], "preservedRowIds": ["true", "null", "0"]},
    "checkpointMetadata": {"version": ["3", "2147483648", "true", "-9223372036854775808"]},
    "commitInfo": {"inCommitTimestamp": ["1", '"1"', "null"], "txnId": ['"t"', "1"]},
}
_UNKNOWN = [
    *('"future":1', '"future":null', '"deep":{"a":[{"b":1,"b":2}]}', '"deep":[[{"k":"\\\\"}]]', '"n":1e400'),
    *(f'"n":{"7" * 5000}', '"n":-1.5E-400', '"pair":"\\ud83d\\ude00"'),
]


@st.composite
def members(draw: st.DrawFn, kind: str) -> str:
    found = []
    for name, values in _PLAIN[kind].items():
        if draw(st.integers(0, 20)):
            value = values[0] if draw(st.integers(0, 3)) else draw(st.sampled_from(values))
            found.append(f"{draw(_names(name))}{draw(_colons)}{value}")
    found += draw(st.lists(st.sampled_from(_UNKNOWN), max_size=1))
    if found and not draw(st.integers(0, 5)):
        found.append(draw(st.sampled_from(found)))
    if not draw(st.integers(0, 5)):
        found = draw(st.permutations(found))
    return "{" + draw(_commas).join(found) + "}"


def _names(name: str) -> st.SearchStrategy[str]:
    escaped = f'"\\u{ord(name[0]):04x}{name[1:]}"'
    return st.sampled_from((f'"{name}"',) * 8 + (escaped,))


_colons = st.sampled_from((":",) * 6 + (": ", " :", "\t:", " : "))
_commas = st.sampled_from((",", ", "))
_ODD = (
    "",
    " ",
    "\r",
    "{}",
    "null",
    "[1]",
    '{"add":null}',
    '{"txn"}',
    "NaN",
    '{"txn":NaN}',
    '{"txn":{}}x',
    "\ufeff",
    "5",
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    if not draw(st.integers(0, 8)):
        return draw(st.sampled_from((*(each.encode() for each in _ODD), b"\xff", b'{"txn":"\xff"}', b'{"a":"\t"}')))
    kinds = [draw(st.sampled_from(sorted(_PLAIN)))]
    if not draw(st.integers(0, 8)):
        kinds.append(draw(st.sampled_from((*sorted(_PLAIN), "unknown"))))
    actions = []
    for kind in kinds:
        body = "{}" if kind == "unknown" else draw(members(kind)) if draw(st.integers(0, 12)) else "null"
        actions.append(f"{draw(_names(kind))}{draw(_colons)}{body}")
    text = "{" + ",".join(actions) + "}"
    begin, end = draw(
        st.sampled_from((("", ""),) * 6 + (("\ufeff", ""), ("", "\r"), (" ", ""), ("", " "), ("\t", "\t")))
    )
    return (begin + text + end).encode()


def actions_by_line(log: LogFile) -> dict[int, Any]:
    """Return every decoded action as plain values, by line number."""
    found: dict[int, Any] = {number: msgspec.to_builtins(action) for number, action in log.actions}
    return found | {number: msgspec.to_builtins(action) for number, _, action in log.files}


def assert_equals_reference(log: LogFile, every: list[bytes]) -> None:
    decoded = actions_by_line(log)
    assert len(log.kinds) == len(every)
    for number, line in enumerate(every, 1):
        expected, fault = decode_by_reference(line), log.faults.get(number)
        assert log.kinds[number - 1] == expected.kind
        sound = expected.kind is not None and fits_action(expected.kind, expected.body)
        assert (number in decoded) == sound
        if sound:
            assert_same(decoded[number], expected)
        odd = not sound and not (expected.is_json and expected.kind is None and expected.actions == 1)
        odd = (
            odd or expected.actions > 1 or expected.repeats or line.startswith(b"\xef\xbb\xbf") or line.endswith(b"\r")
        )
        assert (fault is not None) == odd, f"line {number}: {line!r}"
        if fault is not None:
            assert (fault.json_error is not None) == (not expected.is_json), f"line {number}: {line!r}"
            assert fault.actions == expected.actions, f"line {number}: {line!r}"
            assert (fault.repeated_key is not None) == expected.repeats, f"line {number}: {line!r}"
            assert (fault.schema_error is not None) == (expected.kind is not None and not sound), (
                f"line {number}: {line!r}"
            )


def assert_same(decoded: dict[str, Any], expected: ReferenceLine) -> None:
    """Assert that all decoded values are in the body, and that the rest of the body is null, unknown or free-form."""
    known = ACTION_TYPES[str(expected.kind)].__struct_encode_fields__
    typed: dict[str, type] = {"inCommitTimestamp": int, "txnId": str} if expected.kind == "commitInfo" else {}
    stands = {
        name: value
        for name, value in expected.body.items()
        if name in known and value is not None and isinstance(value, typed.get(name, object))
    }
    assert decoded == stands
