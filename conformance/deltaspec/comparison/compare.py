"""Compare engines on a table: the judge reads it while each engine does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Self

import msgspec

from deltaspec.candidates.host import GivenUp, Host
from deltaspec.candidates.reference.row_reader import UnsupportedType, arrow_type
from deltaspec.candidates.registry import find_launch
from deltaspec.comparison.changes import ChangedVersions
from deltaspec.comparison.judge import ColumnUndecided, Judge, JudgedRows, RowSelection
from deltaspec.comparison.judged_table import JudgedTable, open_judged_table
from deltaspec.comparison.known_findings import explain_check
from deltaspec.comparison.questions import Questions
from deltaspec.comparison.redaction import redact_comparison
from deltaspec.comparison.results import (
    EXIT_CODES,
    Check,
    ComparisonFile,
    ComparisonReport,
    EngineComparison,
    Sample,
    Verdict,
    judge_checks,
)
from deltaspec.comparison.sampling import select_sample
from deltaspec.comparison.unchanged import TableListing
from deltaspec.errors import InvalidUsage, suggest_name
from deltaspec.exit_codes import ExitCode
from deltaspec.protocol.log.file_names import CommitName
from deltaspec.protocol.schema.data_types import Field
from deltaspec.suites.startup import CandidateUnusable, start_candidate
from deltaspec.validation.instants import AtArgument
from deltaspec.validation.progress import ignore_progress
from deltaspec.version import __version__
from deltaspec.wire.data.row_hashing import is_hashable
from deltaspec.wire.storage.factory import is_local
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

BYTES_PER_SECOND = 5 << 20
"""The deadline of an engine grows with the table, beyond the fixed one, by a second for this many bytes."""
_FIXED_SECONDS = 120
_ROWS_FACTOR, LEAST_LIMIT_BYTES = 20, 1 << 30
"""An answer may be this many times as large as the data files, which are compressed, or as this many bytes."""

Progress = Callable[[str, int, int | None], None]


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare, and how."""

    at: AtArgument = None
    columns: tuple[str, ...] | None = None
    """Top-level columns; None for all."""
    storage: StorageSettings = ENVIRONMENT
    sample: float | None = None
    """Share of the data files to compare; None for all."""
    changes: tuple[int, int] | None = None
    """First and last version whose changes are compared; None for none."""
    allow_outside: bool = False
    redact: bool = False
    """Leave values of the table out of the report."""
    timeout_scale: float = 1.0


class Engines:
    """Started engines by name, which answer questions about several tables. A context manager."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(dict.fromkeys(names))
        self._hosts: dict[str, tuple[float, Host]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._hosts):
            self.discard(name)

    def start(self, name: str, scale: float) -> Host:
        """Return a started engine, whose deadlines have at least this factor.

        Raises:
            InvalidUsage: there is no such candidate, or it cannot run here.
            CandidateUnusable: it does not start.
        """
        if name in self._hosts:
            known, started = self._hosts[name]
            if known >= scale:
                return started
            self.discard(name)
        host = start_candidate(name, timeout_scale=scale)
        self._hosts[name] = scale, host
        return host

    def discard(self, name: str) -> None:
        """Stop an engine; the next table starts it again."""
        _, host = self._hosts.pop(name)
        host.close()


def compare_tables(
    tables: Sequence[str], candidates: Sequence[str], request: CompareRequest, progress: Progress
) -> ComparisonFile:
    """Compare engines on each table; the engines are started once.

    Raises:
        InvalidUsage: as `compare_table`.
        TableUnreadable: a table cannot be read; the tables before it are not reported.
    """
    for name in candidates:
        find_launch(name)  # raises before anything is read
    with Engines(candidates) as engines, ThreadPoolExecutor(1) as pool:
        reports = []
        following = pool.submit(_prepare, tables[0], request, progress)
        for number in range(len(tables)):
            table = following.result()
            if number + 1 < len(tables):  # read the next log while engines read this table
                following = pool.submit(_prepare, tables[number + 1], request, ignore_progress)
            reports.append(_compare(table, engines, request, progress))
    return ComparisonFile(
        deltaspec=__version__,
        tables=tuple(reports),
        exit_code=ExitCode.find_worst(EXIT_CODES[each.verdict] for each in reports),
    )


def compare_table(uri: str, engines: Engines, request: CompareRequest, progress: Progress) -> ComparisonReport:
    """Compare what engines read of a table.

    Raises:
        InvalidUsage: a column or version does not exist, or an engine is unknown or cannot run here.
        TableUnreadable: there is no table, or deltaspec cannot read its log.
    """
    return _compare(_prepare(uri, request, progress), engines, request, progress)


class _Prepared(msgspec.Struct, frozen=True):
    """A table whose log has been read, and which the judge reads."""

    whole: JudgedTable
    table: JudgedTable
    """The table with the files of the sample; the complete one without a sample."""
    selection: RowSelection | None
    fields: list[Field]
    changes: ChangedVersions | None
    judge: _BackgroundJudge


def _prepare(uri: str, request: CompareRequest, progress: Progress) -> _Prepared:
    """Read the log of a table, and begin to read its rows."""
    open_at = partial(
        open_judged_table, uri, storage=request.storage, allow_outside=request.allow_outside, progress=progress
    )
    whole = table = open_at(at=request.at)
    selection, changes = None, None
    if request.sample is not None:
        table, selection = select_sample(table, request.sample)
    fields, not_compared = _choose_fields(table, request.columns, () if selection is None else selection.columns)
    if request.changes is not None:
        first, last = request.changes
        if not 0 <= first <= last <= table.version:
            raise InvalidUsage(f"{table.uri}: versions {first} to {last} are no range up to version {table.version}")
        changes = ChangedVersions(request.changes, lambda version: open_at(at=version))
    judge = _BackgroundJudge(table, not_compared, selection)
    judge.start(fields)
    return _Prepared(whole, table, selection, fields, changes, judge)


def _compare(prepared: _Prepared, engines: Engines, request: CompareRequest, progress: Progress) -> ComparisonReport:
    """Ask every engine, and build the report."""
    whole, table, judge = prepared.whole, prepared.table, prepared.judge
    with closing(judge):
        compared = []
        for number, name in enumerate(engines.names):
            progress(f"{name} reads", number, len(engines.names))
            compared.append(_compare_engine(name, engines, prepared, request))
        chosen, judged = judge(prepared.fields)
    sample = None
    if prepared.selection is not None:
        sample = Sample(condition=prepared.selection.sql, files=len(table.files), bytes=table.bytes)
    report = ComparisonReport(
        table=table.uri,
        version=table.version,
        verdict=_find_verdict(compared, has_gaps=bool(judge.not_compared or judged.unread)),
        files=len(whole.files),
        bytes=whole.bytes,
        rows=None if judged.unread else judged.sums.rows,
        columns=tuple(field.name for field in chosen.fields),
        columns_not_compared=judge.not_compared,
        partitions=len(judged.partitions) if chosen.partition_positions else 0,
        traits=table.list_traits(),
        unread_files=judged.unread,
        sample=sample,
        changes=request.changes,
        engines=tuple(compared),
        judge_seconds=round(judge.seconds, 3),
    )
    return redact_comparison(report) if request.redact else report


def _find_verdict(compared: Sequence[EngineComparison], *, has_gaps: bool) -> Verdict:
    verdicts = {each.verdict for each in compared}
    if "differs" in verdicts:
        return "differs"
    return "incomplete" if has_gaps or "incomplete" in verdicts else "equal"


def _choose_fields(
    table: JudgedTable, names: Sequence[str] | None, needed: Sequence[str]
) -> tuple[list[Field], dict[str, str]]:
    """Return the requested and needed fields that can be compared, and why others cannot."""
    known = {field.name: field for field in table.schema.fields}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InvalidUsage(f"{table.uri}: no column {unknown[0]!r} ({suggest_name(unknown[0], known)})")
    fields, reasons = [], {}
    for field in table.schema.fields if names is None else [known[name] for name in dict.fromkeys([*names, *needed])]:
        try:
            arrow_type(field.type)
        except UnsupportedType as error:
            reasons[field.name] = str(error)
            continue
        if is_hashable(field.type):
            fields.append(field)
        else:
            reasons[field.name] = "values of its type are not compared"
    return fields, reasons


class _BackgroundJudge:
    """Reads the table in a thread while the first engine reads it, once for each set of columns."""

    def __init__(self, table: JudgedTable, not_compared: dict[str, str], selection: RowSelection | None) -> None:
        self._table, self._selection = table, selection
        self.not_compared = not_compared
        """Requested columns that cannot be compared, with the reason; reading may find more."""
        self._pool = ThreadPoolExecutor(1)
        self._found: dict[tuple[str, ...], Future[tuple[Judge, JudgedRows]]] = {}
        self.seconds = 0.0
        """Time that the first reading took."""

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, fields: Sequence[Field]) -> Future[tuple[Judge, JudgedRows]]:
        """Begin to read columns, unless that has begun."""
        key = tuple(field.name for field in fields)
        if key not in self._found:
            self._found[key] = self._pool.submit(self._read, list(fields))
        return self._found[key]

    def __call__(self, fields: Sequence[Field]) -> tuple[Judge, JudgedRows]:
        """Return what was read of these columns."""
        return self.start(fields).result()

    def _read(self, fields: list[Field]) -> tuple[Judge, JudgedRows]:
        """Read the columns whose values are known."""
        started = time.monotonic()
        while True:
            fields = [field for field in fields if field.name not in self.not_compared]
            judge = Judge(self._table, fields, self._selection)
            try:
                found = judge.sum_rows()
            except ColumnUndecided as undecided:
                self.not_compared[undecided.column] = undecided.reason
                continue
            self.seconds = self.seconds or time.monotonic() - started
            return judge, found


def _compare_engine(name: str, engines: Engines, prepared: _Prepared, request: CompareRequest) -> EngineComparison:
    started, table = time.monotonic(), prepared.table
    scale = request.timeout_scale * max(1.0, table.bytes / BYTES_PER_SECOND / _FIXED_SECONDS)
    try:
        host = engines.start(name, scale)
    except CandidateUnusable as fault:
        unusable = Check(name="rows", outcome="not compared", message=str(fault))
        return EngineComparison(candidate=name, verdict="incomplete", checks=(unusable,))
    capabilities, seconds = host.capabilities, 0.0
    checks: tuple[Check, ...]
    if not is_local(table.location) and not any(
        table.location.startswith(f"{each}://") for each in capabilities.stores
    ):
        reason = f"{capabilities.name} is only asked about tables on the disk of this machine"
        checks = (Check(name="rows", outcome="not compared", message=reason),)
    else:
        before = TableListing.of(table.store)
        try:
            checks, seconds = _ask(host, prepared, request)
        except GivenUp as fault:
            engines.discard(name)
            checks = (Check(name="rows", outcome="not compared", message=str(fault)),)
        checks = (*checks, *before.compare(table.store))
    checks = tuple(explain_check(each, name, capabilities.version, table) for each in checks)
    return EngineComparison(
        candidate=name,
        name=capabilities.name,
        version=capabilities.version,
        verdict=judge_checks(checks),
        checks=checks,
        scan_seconds=round(seconds, 3),
        seconds=round(time.monotonic() - started, 3),
    )


def _ask(host: Host, prepared: _Prepared, request: CompareRequest) -> tuple[tuple[Check, ...], float]:
    """Ask an engine, and again for the version by its number if another one was committed meanwhile."""

    table, judge = prepared.table, prepared.judge

    def ask(*, at: bool) -> tuple[tuple[Check, ...], float]:
        questions = Questions(
            host,
            table,
            prepared.fields,
            judge,
            is_everything=request.columns is None,
            at=at,
            limit=max(LEAST_LIMIT_BYTES, table.bytes * _ROWS_FACTOR),
            changes=prepared.changes,
            selection=prepared.selection,
        )
        checks = list(questions.ask())
        if questions.not_supported:
            names = ", ".join(f"{column} ({kind})" for column, kind in questions.not_supported.items())
            checks.append(Check(name="columns", outcome="refused", message=f"does not support the type of {names}"))
        return tuple(checks), questions.scan_seconds

    checks, seconds = ask(at=request.at is not None)
    _, judged = judge(prepared.fields)
    if judged.unread:
        return tuple(map(_excuse, checks)), seconds
    if request.at is None and any(each.outcome in ("differs", "fails") for each in checks) and _has_moved(table):
        return ask(at=True)
    return checks, seconds


def _excuse(check: Check) -> Check:
    """Return a check of a table that cannot be read completely, where an engine has to fail."""
    if check.outcome != "fails":
        return check
    message = f"the table cannot be read completely; the engine says {check.message}"
    return msgspec.structs.replace(check, outcome="not compared", message=message)


def _has_moved(table: JudgedTable) -> bool:
    """Return whether a version was committed after the judged one."""
    names: Iterator[object] = (entry.log_name for entry in table.store.list_log())
    return any(isinstance(name, CommitName) and name.version > table.version for name in names)
