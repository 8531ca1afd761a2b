"""Check rows against requirements of earlier versions: a column that was required, a constraint that applied.

The other checks validate the live files against the requirements of the validated version. These validate them against
the requirements that ended before it. If the history is longer than `latest`, they also validate the files that only
earlier versions had, as far as these still exist.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.required_columns import Path
from deltaspec.sql.row_evaluation import ConstraintResult
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.read_ahead import read_ahead
from deltaspec.validation.data.row_confirmation import FileRows, evaluate_file_rows
from deltaspec.validation.data.row_constraint_checks import (
    READ_ERRORS,
    ConstraintReader,
    ConstraintRecorder,
    build_rows,
    read_rows_again,
)
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.null_column_checks import find_reported_sources
from deltaspec.views.data.constraint_checks import constraint_checks
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.data.row_checks import build_check_rows, row_checks
from deltaspec.views.table.row_constraints import RowConstraint
from deltaspec.views.table.row_requirements import RowRequirement
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.wire.data.column_aggregates import RowCheck
from deltaspec.wire.data.column_resolution import FileColumn
from deltaspec.wire.data.row_reader import read_rows
from deltaspec.wire.storage.interface import FileGone

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

MAX_SCHEMAS = 20
"""Maximum number of schemas of earlier versions that the rows of a file are validated against."""
MAX_COMPARISONS = 2_000_000
"""Maximum number of comparisons of a requirement with the versions of files."""
_NULL_COLUMNS = frozenset({"below_container"})
"""Columns that only the rules about null read."""


def may_have_earlier_requirements(facts: LogFacts) -> bool:
    """Return whether earlier versions may have had requirements that the other checks do not cover."""
    history = facts.state.row_requirements
    return history.has_ended or (facts.options.history != "latest" and bool(history.subjects))


def check_earlier_requirements(data: DataBucket) -> None:
    """Evaluate the rules over `row_checks` and `constraint_checks` for the requirements of earlier versions."""
    if data.table is None or not data.findings.has_rules_for(row_checks, constraint_checks):
        return  # an unknown schema is reported by `check_row_values`
    _Checker(data, data.table, is_live=True).check(data.files)
    if data.facts.options.history != "latest":
        _Checker(data, data.table, is_live=False).check(data.earlier_files)


class _Group(msgspec.Struct, frozen=True):
    """Requirements that are evaluated together."""

    table: TableSchema
    """Schema of the last version in which they applied."""
    columns: frozenset[Path]
    constraints: ConstraintRecorder


class _Result(msgspec.Struct, frozen=True):
    """Result of evaluating a group of requirements on the rows of a file."""

    rows: int
    checks: list[RowCheck]
    unread: list[str]
    constraints: list[ConstraintResult] | str


class _Checker:
    """Reads files, evaluates requirements of earlier versions on their rows, and records the results."""

    def __init__(self, data: DataBucket, table: TableSchema, *, is_live: bool) -> None:
        """`is_live`: the validated version has the files, so that the requirements that still apply are left out."""
        self._data, self._table, self._is_live = data, table, is_live
        self._history = data.facts.state.row_requirements
        self._changes = self._history.changes
        self._build_groups_once = lru_cache(1_000)(self._build_groups)
        self._comparisons = 0

    def check(self, files: Iterable[DataFile]) -> None:
        """Check files against the requirements of the versions that have them."""
        chosen = (each for each in files if self._find_groups(each))
        for data_file, found in read_ahead(self._data.access.store, chosen, self._read):
            if isinstance(found, Exception):
                self._mark_unread(data_file, self._find_groups(data_file), found)
                continue
            for group, result in found:
                self._record(data_file, group, result)

    # which requirements

    def _find_groups(self, data_file: DataFile) -> list[_Group]:
        """Return the requirements of the versions that have a file."""
        until = data_file.until
        first = bisect_right(self._changes, data_file.first_version)
        last = len(self._changes) if until is None else bisect_right(self._changes, until - 1)
        return self._build_groups_once(first, last)

    def _build_groups(self, first: int, last: int) -> list[_Group]:
        """Return the requirements of the versions after `first` changes of requirements, up to `last` changes."""
        version = self._changes[first - 1] if first else -1
        until = self._changes[last - 1] + 1 if last else 0
        by_schema: dict[int, list[RowRequirement]] = {}
        subjects = self._history.subjects
        self._comparisons += len(subjects)
        if self._comparisons > MAX_COMPARISONS:
            self._mark_all_undecided("requirements of rows change too often to evaluate them for all versions")
            return []
        for subject in subjects:
            found = self._history.find_first(subject, version, until)
            if found is None or (self._is_live and self._history.is_current(subject)):
                continue
            if isinstance(subject, RowConstraint) and subject.applies_to_writes_only and found.first > version:
                continue  # the file was written before
            by_schema.setdefault(id(found.table), []).append(found)
        if len(by_schema) > MAX_SCHEMAS:
            self._mark_all_undecided(f"rows are validated against at most {MAX_SCHEMAS} schemas of earlier versions")
        return [self._build_group(each) for each in list(by_schema.values())[:MAX_SCHEMAS]]

    def _build_group(self, requirements: list[RowRequirement]) -> _Group:
        data, table = self._data, requirements[0].table or self._table
        recorder = ConstraintRecorder(
            table,
            data.facts.state,
            data.facts.operations,
            data.findings,
            evaluates_on_spark=data.facts.constraints_on_spark,
            writer_time_zone=data.facts.options.writer_time_zone,
            requirements=requirements,
        )
        columns = frozenset(each.subject for each in requirements if not isinstance(each.subject, RowConstraint))
        return _Group(table, columns, recorder)

    # evaluation

    def _read(self, data_file: DataFile) -> list[tuple[_Group, _Result]] | Exception:
        """Return the results for the groups of a file, or why the file cannot be read."""
        if data_file.actual_size is None:
            return self._data.get_missing_file_error(data_file.path_key)
        try:
            groups = self._find_groups(data_file)
            return [(each, self._read_group(data_file, data_file.actual_size, each)) for each in groups]
        except READ_ERRORS as fault:
            return fault

    def _read_group(self, data_file: DataFile, size: int, group: _Group) -> _Result:
        result = _Result(0, [], [], [])
        if group.columns:
            result = self._read_columns(data_file, size, group)
        if group.constraints.supported:
            result = replace(result, constraints=self._read_constraints(group, data_file))
        return result

    def _read_constraints(self, group: _Group, data_file: DataFile) -> list[ConstraintResult] | str:
        supported = tuple(group.constraints.supported)
        return ConstraintReader(self._data.access, group.table, supported, self._data.vectors).read(data_file)

    def _read_columns(self, data_file: DataFile, size: int, group: _Group) -> _Result:
        """Check the required columns for null."""
        table, top_level = group.table, {path[0] for path in group.columns}
        fields = tuple(each for each in table.schema.fields if physical_name(each, table.mapping) in top_level)
        names = {each.name for each in fields}
        with self._data.access.open_seekable(data_file.path_key) as source:
            content = read_rows(
                source,
                size,
                Struct(fields),
                table.mapping,
                [name for name in table.partition_columns if name in names],
                data_file.partition_values,
                self._data.vector(data_file),
            )
        checks = [each for each in content.checks if each.check == "not null" and each.column.path in group.columns]
        found = {each.column.path for each in checks}
        for leaf in content.leaves:  # a column that the file does not have is null in every row
            if leaf.path in group.columns - found and leaf.read and leaf.valid_nulls == leaf.valid_rows:
                kind = next(each.type for each in fields if physical_name(each, table.mapping) == leaf.path[0])
                column = FileColumn(leaf.path, kind, nullable=False, place=None, file_type=None)
                checks.append(
                    RowCheck("not null", column, leaf.valid_rows, None, None, "null, because the column is missing")
                )
        unread = [*content.unread, *(f"{name}: {reason}" for name, reason in content.corrupt.items())]
        return _Result(content.valid_rows, checks, unread, [])

    # results

    def _record(self, data_file: DataFile, group: _Group, result: _Result) -> None:
        for reason in result.unread:
            self._data.findings.mark_undecided((row_checks,), reason, data_file.path, read_columns=_NULL_COLUMNS)
        evaluate_file_rows(
            self._data,
            row_checks,
            [self._build_checks(data_file, result)],
            partial(self._read_checks_again, group),
        )
        read = partial(self._read_constraints, group)
        evaluate_file_rows(
            self._data,
            constraint_checks,
            [build_rows(group.constraints, data_file, result.constraints)],
            partial(read_rows_again, group.constraints, read),
        )

    def _build_checks(self, data_file: DataFile, result: _Result) -> FileRows:
        sources = find_reported_sources(self._data.findings)
        rows = build_check_rows(data_file, result.rows, result.checks, self._history, sources)
        return FileRows(data_file, rows, frozenset(result.unread))

    def _read_checks_again(self, group: _Group, data_file: DataFile) -> FileRows | str:
        try:
            result = self._read_columns(data_file, data_file.actual_size or 0, group)
        except READ_ERRORS as fault:
            return describe_read_error(fault)
        return self._build_checks(data_file, result)

    def _mark_unread(self, data_file: DataFile, groups: list[_Group], fault: Exception) -> None:
        if isinstance(fault, FileGone) and not self._is_live:
            self._data.findings.rows_not_compared.add(data_file.file)
        else:
            self._mark_undecided(groups, describe_read_error(fault), data_file.path)

    def _mark_all_undecided(self, reason: str) -> None:
        """Record that requirements of some files are not evaluated."""
        self._data.findings.mark_undecided((row_checks,), reason, read_columns=_NULL_COLUMNS)
        self._data.findings.mark_undecided((constraint_checks,), reason)

    def _mark_undecided(self, groups: Iterable[_Group], reason: str, path: str | None) -> None:
        for group in groups:
            if group.columns:
                self._data.findings.mark_undecided((row_checks,), reason, path, read_columns=_NULL_COLUMNS)
            group.constraints.mark_all_undecided(reason, path)
