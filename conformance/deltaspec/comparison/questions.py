"""Ask one engine about a table, and compare its answers with what the judge reads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from deltaspec.candidates.arrow_file import RowsFault
from deltaspec.candidates.host import Died, Host, Refused
from deltaspec.candidates.messages import At, Capabilities, Changes, Refusal, Scan, Snapshot
from deltaspec.candidates.row_comparison import WrongType
from deltaspec.comparison.changes import ADDED_FIELDS, ChangedVersions, label_versions
from deltaspec.comparison.engine_rows import EngineRows
from deltaspec.comparison.judge import READ_ERRORS, ColumnUndecided, Judge, JudgedRows, RowSelection
from deltaspec.comparison.judged_table import JudgedTable, iter_types
from deltaspec.comparison.results import Check, CheckName, Outcome, RowDifference
from deltaspec.comparison.row_search import RowSearch, describe_sums
from deltaspec.protocol.features.change_data import CHANGE_TYPE, COMMIT_COLUMNS
from deltaspec.protocol.schema.data_types import Field, get_type_name
from deltaspec.sql.terms import Undecided
from deltaspec.suites.cases import describe_death
from deltaspec.suites.changes import sign_versions
from deltaspec.suites.checks import Mismatch, describe_refusal
from deltaspec.suites.snapshot import compare_metadata

_OUTCOMES_OF_DEATH: dict[str, Outcome] = {
    "crash": "fails",
    "timeout": "not compared",
    "output": "not compared",
    "harness": "not compared",
}
"""A limit of deltaspec is no verdict on an engine; a crash is."""


class JudgeRows(Protocol):
    """Returns the judge of some columns and what it read; waits until it has read everything."""

    def __call__(self, fields: Sequence[Field]) -> tuple[Judge, JudgedRows]: ...


class Questions:
    """Questions to one engine about one table.

    Args:
        candidate: the engine.
        table: the table.
        fields: requested columns.
        judge: reads the same columns.
        is_everything: whether all columns of the table are requested.
        at: whether to ask for the version of the table; otherwise for the newest one.
        limit: bytes of rows that the engine may write.
        changes: what the judge knows of the changes that are compared; None for none.
        selection: rows that are compared; None for all.
    """

    def __init__(
        self,
        candidate: Host,
        table: JudgedTable,
        fields: Sequence[Field],
        judge: JudgeRows,
        *,
        is_everything: bool,
        at: bool,
        limit: int,
        changes: ChangedVersions | None,
        selection: RowSelection | None,
    ) -> None:
        self._candidate, self._table, self._judge, self._limit = candidate, table, judge, limit
        self._changes, self._selection = changes, selection
        self._at = At(version=table.version) if at else None
        capabilities = candidate.capabilities
        self.not_supported = {
            field.name: kind for field in fields if (kind := _find_unsupported_type(capabilities, field)) is not None
        }
        """Requested columns that the engine does not claim to read, and their type."""
        self._fields = [field for field in fields if field.name not in self.not_supported]
        self._is_everything = is_everything and not self.not_supported
        self.scan_seconds = 0.0
        self._has_died = False
        """Whether it died; it is not asked further, because it would take as long again."""

    def ask(self) -> Iterator[Check]:
        """Ask everything and yield the checks."""
        capabilities = self._candidate.capabilities
        if self._at is not None and "version" not in capabilities.at:
            reason = f"{capabilities.name} does not read a version by its number"
            yield Check(name="rows", outcome="not compared", message=reason)
            return
        if "snapshot" in capabilities.ops:
            yield from self._ask_snapshot()
        else:
            yield Check(name="version", outcome="not shown")
            yield Check(name="schema", outcome="not shown", message="compared by the columns of the rows")
        yield from self._ask_rows()
        if self._selection is None and not self._has_died:
            yield from self._ask_count()
        if self._changes is not None and not self._has_died:
            yield from self._ask_changes(self._changes)

    def _ask_snapshot(self) -> Iterator[Check]:
        with self._recording("version") as failed:
            answer = self._candidate.snapshot(Snapshot(self._table.location, at=self._at))
        if failed:
            yield failed[0]
            return
        expected = self._table.version
        text = "" if answer.version == expected else f"expected version {expected:,}, got {answer.version:,}"
        yield Check(name="version", outcome="differs" if text else "equal", message=text)
        if answer.metadata is None:
            yield Check(name="schema", outcome="not shown")
            return
        found = self._table.metadata
        stated = {"schemaString": found.schema_string, "partitionColumns": found.partition_columns}
        try:
            compare_metadata(stated, answer.metadata, tuple(stated))
        except Mismatch as mismatch:
            yield Check(name="schema", outcome="differs", message=str(mismatch))
            return
        yield Check(name="schema", outcome="equal")

    def _ask_count(self) -> Iterator[Check]:
        """Compare the number of rows without any column, which engines compute in another way than rows."""
        request = Scan(self._table.location, "", at=self._at, columns=())
        with self._recording("row count") as failed, self._candidate.open_rows(request, self._limit) as rows:
            found = rows.num_rows
        if failed:
            yield failed[0]
            return
        _, judged = self._judge(self._fields)
        if judged.unread:
            yield Check(name="row count", outcome="not compared", message=_describe_unread(judged))
            return
        expected = judged.sums.rows
        text = "" if found == expected else f"expected {expected:,}, got {found:,}"
        yield Check(name="row count", outcome="differs" if text else "equal", message=text)

    def _ask_rows(self) -> Iterator[Check]:
        names = [field.name for field in self._fields]
        columns = None if self._is_everything else tuple((name,) for name in names)
        if not names:
            yield Check(name="rows", outcome="not compared", message="no requested column can be compared")
            return
        selection, started = self._selection, time.monotonic()
        request = Scan(
            self._table.location,
            "",
            at=self._at,
            columns=columns,
            predicate=None if selection is None else selection.sql,
            predicate_tree=None if selection is None else selection.tree,
        )
        with self._recording("rows") as failed, self._candidate.open_rows(request, self._limit) as rows:
            self.scan_seconds = time.monotonic() - started
            judge, judged = self._judge(self._fields)
            is_exact = (rows.predicate or self._candidate.capabilities.predicate) == "exact"
            keep = None if selection is None or is_exact else selection.expression
            answer = EngineRows(rows, names, judge.fields, judge.partition_positions, keep=keep)
            found = answer.sum_rows()
            if judged.unread:
                yield Check(name="rows", outcome="not compared", message=_describe_unread(judged))
                return
            differing = judged.sums.find_differences(found)
            if differing.is_empty():
                yield Check(name="rows", outcome="equal")
                return
            search = RowSearch(judge, answer, differing, judged.partitions)
            difference = search.run(judged.sums.rows, found.rows)
            yield Check(name="rows", outcome="differs", message=describe_rows(difference), difference=difference)
        yield from failed

    def _ask_changes(self, changes: ChangedVersions) -> Iterator[Check]:
        if "changes" not in self._candidate.capabilities.ops:
            yield Check(name="changes", outcome="not shown")
            return
        first, last = changes.versions
        names = [field.name for field in self._fields]
        columns = None if self._is_everything else tuple((name,) for name in names)
        request = Changes(self._table.location, "", start=first, end=last, columns=columns)
        with self._recording("changes") as failed, self._candidate.open_rows(request, self._limit) as rows:
            judge, _ = self._judge(self._fields)
            expected = changes.sum_rows(judge.fields)
            if isinstance(expected, str):
                yield Check(name="changes", outcome="not compared", message=expected)
                return
            fields = [*judge.fields, *ADDED_FIELDS]
            answer = EngineRows(
                rows, [*names, CHANGE_TYPE, *COMMIT_COLUMNS], fields, [len(fields) - 1], prepare=sign_versions
            )
            found = answer.sum_rows()
            differing = expected.find_differences(found)
            if differing.is_empty():
                yield Check(name="changes", outcome="equal", message=f"versions {first:,} to {last:,}")
                return
            difference = describe_sums(fields, differing, label_versions(first, last), expected.rows, found.rows)
            yield Check(name="changes", outcome="differs", message=describe_rows(difference), difference=difference)
        yield from failed

    @contextmanager
    def _recording(self, name: CheckName) -> Iterator[list[Check]]:
        """Yield a list that receives the check if the question ends without an answer."""
        found: list[Check] = []
        try:
            yield found
        except Refused as error:
            outcome, message = self._judge_refusal(error.refusal)
            found.append(Check(name=name, outcome=outcome, message=message))
        except WrongType as error:
            found.append(Check(name=name, outcome="differs", message=f"wrong columns or types: {error}"))
        except RowsFault as error:
            found.append(Check(name=name, outcome="not compared", message=str(error)))
        except Died as death:
            self._has_died = True
            is_limit = "; the limit is " in death.message
            outcome = "not compared" if is_limit else _OUTCOMES_OF_DEATH[death.reason]
            found.append(Check(name=name, outcome=outcome, message=describe_death(death)))
        except (*READ_ERRORS, Undecided, ColumnUndecided) as error:
            found.append(Check(name=name, outcome="not compared", message=f"the table changed: {error}"))

    def _judge_refusal(self, refusal: Refusal) -> tuple[Outcome, str]:
        """Return the outcome of an error, and its message."""
        text = describe_refusal(refusal)
        if refusal.category != "unsupported":
            return "fails", text
        if refusal.code == "operation":
            return "not shown", text
        needs = list_undeclared_needs(self._candidate.capabilities, self._table)
        if needs:
            return "refused", f"does not declare {', '.join(needs)}: {text}"
        return "fails", f"refuses the table although it declares every feature that readers need: {text}"


def list_undeclared_needs(capabilities: Capabilities, table: JudgedTable) -> list[str]:
    """Return the reader features of a table that an engine does not declare, and the version if it is too high."""
    version = table.protocol.min_reader_version
    too_high = [f"reader version {version}"] if version > capabilities.max_reader_version else []
    return [*(each for each in table.reader_features if each not in capabilities.reader_features), *too_high]


def describe_rows(difference: RowDifference) -> str:
    """Return the counts of a difference."""
    head = f"expected {difference.expected_rows:,} rows, got {difference.found_rows:,}"
    at_least = "" if difference.is_complete else "at least "
    if difference.missing is None or difference.unexpected is None:
        return head
    return f"{head}: {at_least}{difference.missing:,} missing, {at_least}{difference.unexpected:,} not expected"


def _describe_unread(judged: JudgedRows) -> str:
    path, reason = next(iter(judged.unread.items()))
    more = f", and {len(judged.unread) - 1:,} more files" if len(judged.unread) > 1 else ""
    return f"the table cannot be read completely: {path}: {reason}{more}"


def _find_unsupported_type(capabilities: Capabilities, field: Field) -> str | None:
    """Return the first type in a field that an engine does not claim to support."""
    names = (get_type_name(kind) for kind in iter_types(field.type))
    return next((name for name in names if name in capabilities.types_not_supported), None)
