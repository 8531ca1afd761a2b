"""JSON lines of the log (commits, compactions, JSON checkpoints) to actions, in bulk, without missing an odd line.

Typed decoding alone accepts duplicate keys, several actions in a line and `{"add": null}` in silence. Each line is
therefore decoded untyped, its keys are counted in the text and in the result, and only then converted; a line that
is not plainly in order takes the slow path of `form`, which says what is wrong and where.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from deltaspec.model.actions import Add, Cdc, Remove, WireStruct, get_action_types, normalize_action
from deltaspec.model.json_values import JsonTooDeep, Number, parse_lossless
from deltaspec.model.revisions import Revision
from deltaspec.wire.log.file_action_rows import FileActionBuilder
from deltaspec.wire.log.line_outcomes import UNREAD, LineOutcomes
from deltaspec.wire.log.line_validation import LineError, explain_line

MAX_LINE_BYTES = 256 << 20
"""A longer line is not decoded: the rules that need it are not-checked."""


_SPLIT_BYTES = 1 << 20
"""Of a file that are split into lines at once."""
_REMEMBERED_LINES = 1000
_REMEMBERED_BYTES = 4096
"""Of odd lines that are known again, how many there are and how long the longest is."""
_SHORT_BYTES = 64
"""Shorter lines are seldom in order: whether they are known is asked first."""


@dataclass
class LogFile:
    """What one JSON log file holds."""

    files: FileActionBuilder = field(default_factory=FileActionBuilder)
    """Its add, remove and cdc actions."""
    actions: list[tuple[int, WireStruct]] = field(default_factory=list)
    """Its other known actions, each with its line, counted from 1; older forms are those of the newest text."""
    lines: LineOutcomes = field(default_factory=LineOutcomes)
    """What became of its lines."""
    unread: dict[int, str] = field(default_factory=dict)
    """Line number to why that line was not decoded, though it may be sound: it is too long or nested too deeply."""

    @property
    def kinds(self) -> list[str | None]:
        """For each line the wire name of its single known action, decodable or not; None otherwise."""
        return [kind for kind, _ in self.lines]

    @property
    def faults(self) -> dict[int, LineError]:
        """Line number to what is odd about that line."""
        return {number: fault for number, (_, fault) in enumerate(self.lines, 1) if fault is not None}

    @property
    def undecoded_kinds(self) -> set[str | None]:
        """Kinds of the actions that could not be decoded; None stands for a line of unknown kind."""
        return self.lines.undecoded_kinds | ({None} if self.unread else set())

    @property
    def summary(self) -> "LogSummary":
        """What is told of the file without its file actions."""
        rows, counts, kinds = self.files.rows, self.lines.counts(), Counter[str | None]()
        for (kind, _), number in counts:
            kinds[kind] += number
        return LogSummary(
            actions=self.actions,
            kinds=kinds,
            first_kind=next((kind for kind, _ in self.lines if kind), None),
            blank_lines=sum(number for (_, fault), number in counts if fault is not None and fault.is_blank),
            undecoded_kinds=self.undecoded_kinds,
            unread=list(self.unread.values())[:1],
            removes_with_data_change=sum(row[1] == "remove" and row[6] is True for row in rows),
            has_cdc=any(row[1] == "cdc" for row in rows),
            file_actions=len(rows),
        )


@dataclass(frozen=True)
class LogSummary:
    """A JSON log file without its file actions: as long as the table's other actions, however many files there are."""

    actions: list[tuple[int, WireStruct]]
    """Known actions that are no file actions, each with its line."""
    kinds: Counter[str | None]
    """Lines by the wire name of their single known action; None: of none, or of several."""
    first_kind: str | None
    """Of the first line that has one."""
    blank_lines: int
    undecoded_kinds: set[str | None]
    """As of `LogFile`."""
    unread: list[str]
    """Why a line was not decoded: the first of them, if there are any."""
    removes_with_data_change: int
    has_cdc: bool
    file_actions: int
    """How many of its file actions could be decoded."""


def decode_lines(data: bytes, revision: Revision = Revision.CURRENT) -> LogFile:
    """Decode a whole JSON log file as readers of a revision do. Never raises on what the bytes hold."""
    return decode_line_stream(_lines_of(data), revision)


def _lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a file, some at a time."""
    start = 0
    while (end := data.find(b"\n", start + _SPLIT_BYTES)) >= 0:
        yield from data[start:end].split(b"\n")
        start = end + 1
    yield from data[start:].split(b"\n")


def decode_line_stream(lines: Iterator[bytes | None], revision: Revision = Revision.CURRENT) -> LogFile:
    """Decode the lines of a JSON log file, without their line feeds; None stands for a line that is too long."""
    log, types = LogFile(), get_action_types(revision)
    outcomes, codes = log.lines, log.lines.codes
    known: dict[bytes, int] = {}
    take: dict[type[WireStruct], Callable[[int, Any], None]] = {
        Add: log.files.add,
        Remove: log.files.remove,
        Cdc: log.files.cdc,
    }
    number, line = 0, None
    for number, line in enumerate(lines, 1):
        if line is None:
            log.unread[number] = f"line {number} is longer than what is decoded"
            codes.append(UNREAD)
            continue
        code = known.get(line) if len(line) < _SHORT_BYTES else None
        if code is not None:
            codes.append(code)
            continue
        fault = None
        kind, action = _plain_action(line, types)
        if kind is None:
            code = known.get(line)
            if code is not None:
                codes.append(code)
                continue
            try:
                kind, action, fault = _odd_line(line, revision)
            except JsonTooDeep as error:
                log.unread[number] = f"line {number} is {error}"
                codes.append(UNREAD)
                continue
        code = outcomes.code(kind, fault)
        codes.append(code)
        if action is None:
            _remember(known, line, code)
            continue
        taker = take.get(type(action))
        if taker is None:
            log.actions.append((number, normalize_action(action)))
        else:
            taker(number, action)
    if line == b"":  # the feed that ends the last line leaves an empty piece: no line of its own
        codes.pop()
    return log


def _remember(known: dict[bytes, int], line: bytes, code: int) -> None:
    """Know a line again that gives no action; all are forgotten where they become many."""
    if len(line) <= _REMEMBERED_BYTES:
        if len(known) == _REMEMBERED_LINES:
            known.clear()
        known[line] = code


_decode = msgspec.json.Decoder().decode


def _plain_action(line: bytes, types: dict[str, type[WireStruct]]) -> tuple[str | None, WireStruct | None]:
    """The action of a line that is in order in every respect, else (None, None)."""
    try:
        document = _decode(line)
        ((kind, body),) = document.items()
        action: WireStruct = msgspec.convert(body, types[kind])
    except (msgspec.DecodeError, RecursionError, AttributeError, ValueError, KeyError):
        return None, None
    if b'\\\\"' in line or b'" ' in line or b'"\t' in line or line[-1:] == b"\r":
        return None, None
    written = line.count(b'":') - line.count(b'\\":')
    try:
        in_order = written == 1 + _keys(body)
    except RecursionError:
        in_order = False
    return (kind, action) if in_order else (None, None)


def _keys(members: dict[str, Any]) -> int:
    """Keys of a decoded JSON object at every depth."""
    count = len(members)
    for inner in members.values():
        if type(inner) is dict:
            count += _keys(inner)
        elif type(inner) is list:
            count += _keys_in_list(inner)
    return count


def _keys_in_list(elements: list[Any]) -> int:
    return sum(_keys(each) if type(each) is dict else _keys_in_list(each) for each in elements if type(each) in _NESTED)


_NESTED = (dict, list)


def _odd_line(line: bytes, revision: Revision) -> tuple[str | None, WireStruct | None, LineError | None]:
    """Kind, action and fault of a line that may be in order. Raises `JsonTooDeep`."""
    fault, action = explain_line(line, revision), None
    if not fault.is_undecodable and fault.kind is not None:
        body = parse_lossless(line.removeprefix(b"\xef\xbb\xbf")).value[fault.kind]
        try:
            action = msgspec.convert(_with_numbers(body), get_action_types(revision)[fault.kind])
        except msgspec.ValidationError as error:  # the schema takes it: one of the two is too lenient
            fault = replace(fault, schema_error=str(error), pointer=f"/{fault.kind}")
    return fault.kind, action, fault if fault.has_defect else None


def _with_numbers(value: Any) -> Any:
    """A lossless value with numbers of Python; fields that may hold any number have no use for its last digit."""
    match value:
        case Number():
            return int(value) if value.is_integer and len(value) <= _DIGITS else float(value)
        case dict():
            return {key: _with_numbers(member) for key, member in value.items()}
        case list():
            return [_with_numbers(member) for member in value]
    return value


_DIGITS = 20
"""Characters of the longest 64-bit integer, sign included."""
