"""Decode JSON lines of the log (commits, compactions, JSON checkpoints) to actions, and detect every malformed line.

Typed decoding alone accepts duplicate and unknown keys and white space. Four paths exclude defects, the fastest first:

1. A block of canonical lines is decoded in one call. `canonical_lines` explains why they have no defect.
2. A canonical line in another block is decoded as its action.
3. Any other line is decoded untyped and converted. If it is free-form, has a usual length, and is encoded to the same
   bytes again, it has no defect. Otherwise its keys are counted in the bytes and in the result.
4. A line that fails takes the slow path of `line_validation`, which reports what is wrong and where.
"""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from zlib import crc32

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.actions import WireStruct, get_action_types, normalize_action
from deltaspec.protocol.json_values import MAX_DEPTH, JsonTooDeep, Number, parse_lossless
from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log.canonical_lines import decode_canonical_block, decode_canonical_line
from deltaspec.wire.log.file_action_rows import FileActions
from deltaspec.wire.log.line_outcomes import UNREAD, LineOutcomes
from deltaspec.wire.log.line_validation import FREE_FORM, LineError, explain_line

MAX_LINE_BYTES = 256 << 20
"""A longer line is not decoded; the rules that need it are reported as not checked."""


BLOCK_BYTES = 1 << 17
"""Bytes of a file to decode at once, up to the next line feed: one odd line slows down only its block."""
_FEWEST_LINES = 3
"""Lines that take less time to decode at once than one by one."""
_FILE_ACTIONS = frozenset(("add", "remove", "cdc"))
MAX_CACHED_LINES = 1000
MAX_CACHED_LINE_BYTES = 4096
"""Bounds of the cache of lines without an action."""
_MAX_ENCODED_BYTES = 1 << 16
"""Bound of the memory that it takes to encode a line again."""
_SHORT_BYTES = 64
"""Shorter lines are rarely valid, so the cache is searched before they are decoded."""


class LogFile(msgspec.Struct):
    """Contents of one JSON log file."""

    files: FileActions = msgspec.field(default_factory=FileActions)
    """Add, remove and cdc actions."""
    actions: list[tuple[int, WireStruct]] = msgspec.field(default_factory=list)
    """Other known actions with their line numbers, from 1; older forms are converted to the current revision."""
    lines: LineOutcomes = msgspec.field(default_factory=LineOutcomes)
    """Outcome of each line."""
    unread: dict[int, str] = msgspec.field(default_factory=dict)
    """Line number -> why the line was not decoded: it is too long or nested too deeply, but may be valid."""
    sha256: str | None = None
    """SHA-256 of the file; None if it was not requested, or the file was read as a stream."""
    checksum: int = 0
    """CRC-32 of the lines of a file that was read as a stream."""

    @property
    def kinds(self) -> list[str | None]:
        """Wire name of the single known action of each line, decodable or not; None otherwise."""
        return [kind for kind, _ in self.lines]

    @property
    def faults(self) -> dict[int, LineError]:
        """Line number -> defect of the line."""
        return {number: fault for number, (_, fault) in enumerate(self.lines, 1) if fault is not None}

    @property
    def undecoded_kinds(self) -> frozenset[str | None]:
        """Kinds of the actions that could not be decoded; None stands for a line of unknown kind."""
        return self.summary.undecoded_kinds

    @property
    def summary(self) -> "LogSummary":
        """Summary of the file without its file actions."""
        lines, kinds = self.lines.summary(), self.files.kinds
        removes = self.files.select("remove") if "remove" in kinds else ()
        return LogSummary(
            actions=self.actions,
            kinds=lines.kinds,
            first_kind=lines.first_kind,
            blank_lines=lines.blank_lines,
            undecoded_kinds=lines.undecoded_kinds | {None} if self.unread else lines.undecoded_kinds,
            unread=list(self.unread.values())[:1],
            removes_with_data_change=sum(each.data_change for each in removes),
            has_cdc="cdc" in kinds,
            sha256=self.sha256,
        )


class LogSummary(msgspec.Struct, frozen=True):
    """A JSON log file without its file actions, so its size does not grow with the number of files."""

    actions: list[tuple[int, WireStruct]]
    """Known actions other than file actions, with their line numbers."""
    kinds: Counter[str | None]
    """Number of lines by the wire name of their single known action; None for none or several. Do not change it."""
    first_kind: str | None
    """As in `OutcomeSummary`."""
    blank_lines: int
    undecoded_kinds: frozenset[str | None]
    """As in `LogFile`."""
    unread: list[str]
    """Why the first undecoded line was not decoded; empty if all lines were."""
    removes_with_data_change: int
    has_cdc: bool
    sha256: str | None
    """As in `LogFile`."""


def decode_lines(data: bytes, revision: Revision = Revision.CURRENT, *, with_digest: bool = False) -> LogFile:
    """Decode a complete JSON log file as readers of a revision do. No content raises an exception.

    Args:
        data: content of the file.
        revision: protocol revision.
        with_digest: whether to compute the SHA-256 of the file.
    """
    decoder = _Decoder(revision)
    for block in split_blocks(data):
        decoder.decode_block(block)
    if with_digest:
        decoder.log.sha256 = sha256(data).hexdigest()
    return decoder.log


def split_blocks(data: bytes) -> Iterator[bytes]:
    """Yield the blocks of a file: complete lines with their line feeds; the last line may have none."""
    start = 0
    while (end := data.find(b"\n", start + BLOCK_BYTES) + 1) > 0:
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]


def split_lines(block: bytes) -> list[bytes]:
    """Split a block into lines without line feeds; after the last line feed there is no line."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def decode_line_stream(lines: Iterator[bytes | None], revision: Revision = Revision.CURRENT) -> LogFile:
    """Decode the lines of a JSON log file, given without line feeds; None stands for a line that is too long."""
    decoder, line = _Decoder(revision), None
    for line in lines:
        decoder.decode_line(line)
        decoder.log.checksum = crc32(line or b"", decoder.log.checksum)
    if line == b"":  # after the final line feed there is no line
        decoder.log.lines.codes.pop()
    return decoder.log


class _Decoder:
    """Decoder of one file."""

    def __init__(self, revision: Revision) -> None:
        self.log = LogFile()
        self._revision = revision
        self._types = get_action_types(revision)
        self._known: dict[bytes, int] = {}
        """Outcomes of lines without an action."""

    def decode_block(self, block: bytes) -> None:
        """Decode the next lines of the file, given with their line feeds."""
        if block.startswith(_COMMIT_INFO):  # it is free-form, so it is not canonical; most files begin with it
            head, _, block = block.partition(b"\n")
            self.decode_line(head)
        start = block.rfind(b"\n", 0, -1) + 1
        if block.startswith(_COMMIT_INFO, start):  # some writers write it last
            self._decode_actions(block[:start])
            self.decode_line(block[start:].removesuffix(b"\n"))
        else:
            self._decode_actions(block)

    def _decode_actions(self, block: bytes) -> None:
        """Decode the next lines, all at once if they are canonical."""
        found = self._decode_canonical_block(block)
        if found is None:
            for line in split_lines(block):
                self.decode_line(line)
        else:
            self._add_actions(*found)

    def _decode_canonical_block(self, block: bytes) -> tuple[list[str], list[WireStruct]] | None:
        if len(block.split(b"\n", _FEWEST_LINES)) <= _FEWEST_LINES:  # counting all lines takes six times as long
            return None
        last = block[block.rfind(b"\n", 0, -1) + 1 :].removesuffix(b"\n")
        if decode_canonical_line(last, self._revision)[0] is None:  # few writers write some of the lines canonically
            return None
        return decode_canonical_block(block, self._revision)

    def _add_actions(self, kinds: list[str], actions: list[WireStruct]) -> None:
        """Add the actions of consecutive lines without a defect."""
        log, distinct = self.log, dict.fromkeys(kinds)
        first, codes = len(log.lines) + 1, {kind: log.lines.code(kind) for kind in distinct}
        log.lines.codes.extend(map(codes.__getitem__, kinds))
        if distinct.keys() <= _FILE_ACTIONS:
            log.files.extend(FileActions(list(range(first, first + len(actions))), kinds, actions))
            return
        for number, (kind, action) in enumerate(zip(kinds, actions, strict=True), first):
            self._add_action(number, kind, action)

    def _add_action(self, number: int, kind: str, action: WireStruct) -> None:
        if kind in _FILE_ACTIONS:
            self.log.files.append(number, kind, action)
        else:
            self.log.actions.append((number, normalize_action(action)))

    def decode_line(self, line: bytes | None) -> None:
        """Decode the next line of the file; None stands for a line that is too long."""
        log, codes = self.log, self.log.lines.codes
        number = len(codes) + 1
        if line is None:
            log.unread[number] = f"line {number} is longer than the limit of {MAX_LINE_BYTES} bytes"
            codes.append(UNREAD)
            return
        known = self._known.get(line) if len(line) < _SHORT_BYTES else None
        if known is not None:
            codes.append(known)
            return
        fault = None
        kind, action = decode_canonical_line(line, self._revision)
        if kind is None:
            kind, action = decode_valid_line(line, self._types)
        if not line:
            fault = _EMPTY_LINE
        elif kind is None:
            known = self._known.get(line)
            if known is not None:
                codes.append(known)
                return
            try:
                kind, action, fault = explain_and_decode(line, self._revision)
            except JsonTooDeep as error:
                log.unread[number] = f"line {number} is {error}"
                codes.append(UNREAD)
                return
        code = log.lines.code(kind, fault)
        codes.append(code)
        if action is None:
            cache_outcome(self._known, line, code)
        else:
            self._add_action(number, str(kind), action)


def cache_outcome(known: dict[bytes, int], line: bytes, code: int) -> None:
    """Cache the outcome of a line without an action."""
    if len(line) <= MAX_CACHED_LINE_BYTES:
        if len(known) == MAX_CACHED_LINES:
            known.clear()
        known[line] = code


_COMMIT_INFO = b'{"commitInfo":'
_EMPTY_LINE = explain_line(b"")
"""Defect of an empty line, in any revision; most files end with one that is not counted."""


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def decode_valid_line(line: bytes, types: dict[str, type[WireStruct]]) -> tuple[str | None, WireStruct | None]:
    """Return the action of a line without any defect, else (None, None)."""
    try:
        document = _decode(line)
        ((kind, body),) = document.items()
        action: WireStruct = msgspec.convert(body, types[kind])
        if kind == FREE_FORM and _may_encode(line) and _encode(document) == line:
            return kind, action
    except (msgspec.MsgspecError, RecursionError, AttributeError, ValueError, KeyError):
        return None, None
    if b'\\\\"' in line or b'" ' in line or b'"\t' in line or b'"\r' in line or line[-1:] == b"\r":
        return None, None
    key_count = line.count(b'":') - line.count(b'\\":')
    try:
        is_valid = key_count == 1 + _count_keys(body)
    except RecursionError:
        is_valid = False
    return (kind, action) if is_valid else (None, None)


def _may_encode(line: bytes) -> bool:
    """Return whether a line is short, and nested no deeper than any decoder allows."""
    return len(line) < _MAX_ENCODED_BYTES and line.count(b"{") + line.count(b"[") <= MAX_DEPTH


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


def explain_and_decode(line: bytes, revision: Revision) -> tuple[str | None, WireStruct | None, LineError | None]:
    """Return kind, action and defect of a line on the slow path. Raises `JsonTooDeep`."""
    fault, action = explain_line(line, revision), None
    if not fault.is_undecodable and fault.kind is not None:
        body = parse_lossless(line.removeprefix(b"\xef\xbb\xbf")).value[fault.kind]
        if fault.kind == FREE_FORM and not isinstance(body, dict):
            body = {}
        try:
            action = msgspec.convert(_to_python(body), get_action_types(revision)[fault.kind])
        except msgspec.ValidationError as error:  # the schema accepts the line, so decoder and schema disagree
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
