"""Decode JSON lines of the log (commits, compactions, JSON checkpoints) to actions, and detect every malformed line.

Typed decoding alone accepts duplicate and unknown keys and white space. Three paths exclude defects, the fastest first:

1. A canonical line is decoded as its action. It is as long as what `msgspec` encodes, so it contains nothing else.
2. Any other line is decoded untyped, its keys are counted in the bytes and in the result, and then it is converted.
3. A line that fails takes the slow path of `line_validation`, which reports what is wrong and where.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec

from deltaspec.model.actions import WireStruct, get_action_types, normalize_action
from deltaspec.model.json_values import JsonTooDeep, Number, parse_lossless
from deltaspec.model.revisions import Revision
from deltaspec.wire.log.file_action_rows import FileActionBuilder
from deltaspec.wire.log.line_outcomes import UNREAD, LineOutcomes
from deltaspec.wire.log.line_validation import FREE_FORM, LineError, explain_line

MAX_LINE_BYTES = 256 << 20
"""A longer line is not decoded; the rules that need it are reported as not checked."""


_SPLIT_BYTES = 1 << 20
"""Bytes of a file to split into lines at once."""
_MAX_CACHED_LINES = 1000
_MAX_CACHED_LINE_BYTES = 4096
"""Bounds of the cache of lines without an action."""
_SHORT_BYTES = 64
"""Shorter lines are rarely valid, so the cache is searched before they are decoded."""


@dataclass
class LogFile:
    """Contents of one JSON log file."""

    files: FileActionBuilder = field(default_factory=FileActionBuilder)
    """Add, remove and cdc actions."""
    actions: list[tuple[int, WireStruct]] = field(default_factory=list)
    """Other known actions with their line numbers, from 1; older forms are converted to the current revision."""
    lines: LineOutcomes = field(default_factory=LineOutcomes)
    """Outcome of each line."""
    unread: dict[int, str] = field(default_factory=dict)
    """Line number -> why the line was not decoded: it is too long or nested too deeply, but may be valid."""
    sha256: str | None = None
    """SHA-256 of the file; None if it was read as a stream."""

    @property
    def kinds(self) -> list[str | None]:
        """Wire name of the single known action of each line, decodable or not; None otherwise."""
        return [kind for kind, _ in self.lines]

    @property
    def faults(self) -> dict[int, LineError]:
        """Line number -> defect of the line."""
        return {number: fault for number, (_, fault) in enumerate(self.lines, 1) if fault is not None}

    @property
    def undecoded_kinds(self) -> set[str | None]:
        """Kinds of the actions that could not be decoded; None stands for a line of unknown kind."""
        return self.lines.undecoded_kinds | ({None} if self.unread else set())

    @property
    def summary(self) -> "LogSummary":
        """Summary of the file without its file actions."""
        counts, kinds = self.lines.counts(), Counter[str | None]()
        for (kind, _), number in counts:
            kinds[kind] += number
        return LogSummary(
            actions=self.actions,
            kinds=kinds,
            first_kind=self.lines.first_kind,
            blank_lines=sum(number for (_, fault), number in counts if fault is not None and fault.is_blank),
            undecoded_kinds=self.undecoded_kinds,
            unread=list(self.unread.values())[:1],
            removes_with_data_change=self.files.removes_with_data_change,
            has_cdc=self.files.has_cdc,
            file_actions=len(self.files.rows),
            sha256=self.sha256,
        )


@dataclass(frozen=True)
class LogSummary:
    """A JSON log file without its file actions, so its size does not grow with the number of files."""

    actions: list[tuple[int, WireStruct]]
    """Known actions other than file actions, with their line numbers."""
    kinds: Counter[str | None]
    """Number of lines by the wire name of their single known action; None for none or several."""
    first_kind: str | None
    """As in `LineOutcomes`."""
    blank_lines: int
    undecoded_kinds: set[str | None]
    """As in `LogFile`."""
    unread: list[str]
    """Why the first line that was not decoded was not; empty if all were."""
    removes_with_data_change: int
    has_cdc: bool
    file_actions: int
    """Number of its decodable file actions."""
    sha256: str | None
    """As in `LogFile`."""


def decode_lines(data: bytes, revision: Revision = Revision.CURRENT) -> LogFile:
    """Decode a complete JSON log file as readers of a revision do. No content raises an exception."""
    log = decode_line_stream(_split_lines(data), revision)
    log.sha256 = sha256(data).hexdigest()
    return log


def _split_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of a file, split in blocks to bound memory."""
    start = 0
    while (end := data.find(b"\n", start + _SPLIT_BYTES)) >= 0:
        yield from data[start:end].split(b"\n")
        start = end + 1
    yield from data[start:].split(b"\n")


def decode_line_stream(lines: Iterator[bytes | None], revision: Revision = Revision.CURRENT) -> LogFile:
    """Decode the lines of a JSON log file, given without line feeds; None stands for a line that is too long."""
    log, types, decoders = LogFile(), get_action_types(revision), _get_decoders(revision)
    outcomes, codes = log.lines, log.lines.codes
    known: dict[bytes, int] = {}
    collect: dict[type[WireStruct], Callable[[int, Any], None]] = {
        types["add"]: log.files.add,
        types["remove"]: log.files.remove,
        types["cdc"]: log.files.cdc,
    }
    number, line = 0, None
    for number, line in enumerate(lines, 1):
        if line is None:
            log.unread[number] = f"line {number} is longer than the limit of {MAX_LINE_BYTES} bytes"
            codes.append(UNREAD)
            continue
        code = known.get(line) if len(line) < _SHORT_BYTES else None
        if code is not None:
            codes.append(code)
            continue
        fault = None
        kind, action = _decode_canonical_line(line, decoders)
        if kind is None:
            kind, action = _decode_valid_line(line, types)
        if not line:
            fault = _EMPTY_LINE
        elif kind is None:
            code = known.get(line)
            if code is not None:
                codes.append(code)
                continue
            try:
                kind, action, fault = _explain_and_decode(line, revision)
            except JsonTooDeep as error:
                log.unread[number] = f"line {number} is {error}"
                codes.append(UNREAD)
                continue
        code = outcomes.code(kind, fault)
        codes.append(code)
        if action is None:
            _cache_outcome(known, line, code)
            continue
        collector = collect.get(type(action))
        if collector is None:
            log.actions.append((number, normalize_action(action)))
        else:
            collector(number, action)
    if line == b"":  # after the final line feed there is no line
        codes.pop()
    return log


def _cache_outcome(known: dict[bytes, int], line: bytes, code: int) -> None:
    """Cache the outcome of a line without an action."""
    if len(line) <= _MAX_CACHED_LINE_BYTES:
        if len(known) == _MAX_CACHED_LINES:
            known.clear()
        known[line] = code


_Decoders = dict[bytes, tuple[str, int, Callable[[bytes], WireStruct]]]
"""First bytes of a line, up to the colon -> kind of the action, where its body starts, decoder of the body."""


_EMPTY_LINE = explain_line(b"")
"""Defect of an empty line, in any revision; most files end with one that is not counted."""


@cache
def _get_decoders(revision: Revision) -> _Decoders:
    """Return the decoders of the actions that have no free-form fields."""
    return {
        b'{"%s":' % name.encode(): (name, len(name) + 4, msgspec.json.Decoder(kind).decode)
        for name, kind in get_action_types(revision).items()
        if name != FREE_FORM
    }


_encode = msgspec.json.Encoder().encode


def _decode_canonical_line(line: bytes, decoders: _Decoders) -> tuple[str | None, WireStruct | None]:
    """Return the action of a line without a byte more than necessary, else (None, None).

    `msgspec` encodes an action in the fewest bytes that decode to it: each known key once, no nulls or white space, the
    shortest escapes and numbers. So a line of that length has no repeated or unknown key and no second action, in
    whatever order its keys are.
    """
    decoder = decoders.get(line[: line.find(b":") + 1])
    if decoder is None or line[-1:] != b"}":
        return None, None
    kind, start, decode = decoder
    body = line[start:-1]
    try:
        action = decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None, None
    return (kind, action) if len(_encode(action)) == len(body) else (None, None)


_decode = msgspec.json.Decoder().decode


def _decode_valid_line(line: bytes, types: dict[str, type[WireStruct]]) -> tuple[str | None, WireStruct | None]:
    """Return the action of a line without any defect, else (None, None)."""
    try:
        document = _decode(line)
        ((kind, body),) = document.items()
        action: WireStruct = msgspec.convert(body, types[kind])
    except (msgspec.DecodeError, RecursionError, AttributeError, ValueError, KeyError):
        return None, None
    if b'\\\\"' in line or b'" ' in line or b'"\t' in line or b'"\r' in line or line[-1:] == b"\r":
        return None, None
    key_count = line.count(b'":') - line.count(b'\\":')
    try:
        is_valid = key_count == 1 + _count_keys(body)
    except RecursionError:
        is_valid = False
    return (kind, action) if is_valid else (None, None)


def _count_keys(members: dict[str, Any]) -> int:
    """Count the keys of a decoded JSON object at every depth."""
    count = len(members)
    for inner in members.values():
        if type(inner) is dict:
            count += _count_keys(inner)
        elif type(inner) is list:
            count += _count_keys_in_list(inner)
    return count


def _count_keys_in_list(elements: list[Any]) -> int:
    return sum(
        _count_keys(each) if type(each) is dict else _count_keys_in_list(each)
        for each in elements
        if type(each) in _NESTED
    )


_NESTED = (dict, list)


def _explain_and_decode(line: bytes, revision: Revision) -> tuple[str | None, WireStruct | None, LineError | None]:
    """Return kind, action and defect of a line on the slow path. Raises `JsonTooDeep`."""
    fault, action = explain_line(line, revision), None
    if not fault.is_undecodable and fault.kind is not None:
        body = parse_lossless(line.removeprefix(b"\xef\xbb\xbf")).value[fault.kind]
        if fault.kind == FREE_FORM and not isinstance(body, dict):
            body = {}
        try:
            action = msgspec.convert(_to_python(body), get_action_types(revision)[fault.kind])
        except msgspec.ValidationError as error:  # the schema accepts it, so one of the two is wrong
            fault = replace(fault, schema_error=str(error), pointer=f"/{fault.kind}")
    return fault.kind, action, fault if fault.has_defect else None


def _to_python(value: Any) -> Any:
    """Convert a lossless value to Python numbers; no field of type number needs every digit."""
    match value:
        case Number():
            return int(value) if value.is_integer and len(value) <= _MAX_INTEGER_LENGTH else float(value)
        case dict():
            return {key: _to_python(member) for key, member in value.items()}
        case list():
            return [_to_python(member) for member in value]
    return value


_MAX_INTEGER_LENGTH = 20
"""Length of the longest 64-bit integer, with sign."""
