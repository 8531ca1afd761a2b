"""Suite read: the rows of the newest version, complete and in part."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.messages import Scan
from deltaspec.candidates.row_comparison import WrongType, find_row_difference
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.suites.checks import Mismatch, Notes, TableUnderTest, WrongCount, WrongRows, check
from deltaspec.suites.outcomes import Cause
from deltaspec_generators.tables.readable import ExpectedVersion


def compare_rows(
    expected: pa.Table,
    actual: pa.Table,
    *,
    optional: pa.Table | None = None,
    version: ExpectedVersion | None = None,
) -> None:
    """Raise `Mismatch` if two bags of rows differ.

    Args:
        expected: rows that the answer must have.
        actual: rows of the answer.
        optional: rows that the answer may have, too.
        version: version that was read; None for the newest.
    """
    try:
        difference = find_row_difference(expected, actual, optional=optional)
    except WrongType as error:
        cause = Cause(f"wrong columns or types: {error.kind}", ("parquet.column-types",))
        raise Mismatch(f"wrong columns or types: {error}", cause) from None
    if difference is not None:
        raise Mismatch(f"wrong rows: {difference}", WrongRows(difference, version))


@check(
    "read",
    "reconciliation.queries-see-live-files",
    "table.snapshot-isolation",
    "log.replay-in-order",
    "add.partition-values-from-log",
    "parquet.names",
    "parquet.listed-encodings",
    "configuration.codecs-mixed",
    "configuration.page-versions-read",
    "data-files.change-type-column-ignored",
    "data-files.stored-partition-columns",
    "action.unknown-without-error",
    "checkpoint.missing-column-is-null",
    "checkpoint-metadata.tags-not-assumed",
    "checksum.absence-tolerated",
)
def check_all_rows(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """All columns of all rows of the newest version."""
    answer = candidate.scan(Scan(str(subject.location), ""))
    compare_rows(subject.newest.rows, answer.table)
    notes.add("rows", answer.num_rows)


@check("read", "reconciliation.queries-see-live-files")
def check_row_count(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The number of rows, without any column."""
    answer = candidate.scan(Scan(str(subject.location), "", columns=()))
    if answer.num_rows != subject.newest.rows.num_rows:
        fact = WrongCount(subject.newest.rows.num_rows, answer.num_rows)
        raise Mismatch(f"wrong count: expected {fact.expected} rows, got {fact.actual}", fact)


@check(
    "read",
    "column-mapping.mode-consulted",
    needs=lambda table: len(table.versions[-1].schema.fields) > 1,
)
def check_projection(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Every second column, in reverse order."""
    names = subject.newest.rows.column_names[::-2]
    answer = candidate.scan(Scan(str(subject.location), "", columns=tuple((name,) for name in names)))
    compare_rows(subject.newest.rows.select(names), answer.table)


@check(
    "read",
    "add.partition-values-from-log",
    needs=lambda table: bool(table.versions[-1].partition_columns),
)
def check_partition_columns(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Only the partition columns."""
    names = list(subject.newest.partition_columns)
    answer = candidate.scan(Scan(str(subject.location), "", columns=tuple((name,) for name in names)))
    compare_rows(subject.newest.rows.select(names), answer.table)


@check(
    "read",
    "column-mapping.mode-consulted",
    needs=lambda table: bool(list_nested_fields(table.versions[-1].schema)),
)
def check_nested_fields(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Fields inside of structs as separate columns."""
    paths = list_nested_fields(subject.newest.schema)
    answer = candidate.scan(Scan(str(subject.location), "", columns=tuple(paths)))
    compare_rows(select_nested_fields(subject.newest, paths), answer.table)


def list_nested_fields(schema: Struct) -> list[tuple[str, ...]]:
    """List the paths of all fields inside of structs, except fields that are structs themselves.

    Fields whose names joined by dots are not unique are left out, because answers name columns in this way.
    """
    found: list[tuple[str, ...]] = []

    def visit(data_type: Struct, path: tuple[str, ...]) -> None:
        for field in data_type.fields:
            here = (*path, field.name)
            if isinstance(field.type, Struct):
                visit(field.type, here)
            elif path:
                found.append(here)

    visit(schema, ())
    names = Counter([*(".".join(path) for path in found), *(field.name for field in schema.fields)])
    return [path for path in found if names[".".join(path)] == 1]


def select_nested_fields(expected: ExpectedVersion, paths: list[tuple[str, ...]]) -> pa.Table:
    """Return these fields as columns; the names of a path are joined by dots."""
    return pa.table({".".join(path): select_field(expected.rows, path) for path in paths})


def select_field(rows: pa.Table, path: Sequence[str]) -> pa.Array:
    """Return a field of a struct, at any depth, as a column."""
    column = rows.column(path[0]).combine_chunks()
    for name in path[1:]:
        fields = [column.type.field(position).name for position in range(column.type.num_fields)]
        column = column.flatten()[fields.index(name)]
    return column
