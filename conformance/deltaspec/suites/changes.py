"""Suite changes: the changed rows of every range of versions, with and without change data files."""

import pyarrow as pa

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.messages import Changes
from deltaspec.suites.checks import Mismatch, Notes, TableUnderTest, check
from deltaspec.suites.read import compare_rows
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable

COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"
_TIMESTAMP = pa.timestamp("us", "UTC")


def list_change_ranges(table: ReadableTable) -> list[tuple[ExpectedVersion, ...]]:
    """List ranges of versions whose changes are known: each version, and each longest range of one schema.

    The protocol does not say whether changes have the schema of their version or the newest. Versions are left out if
    the newest schema no longer has one of their columns, or has it with another type. Nor does it say whether a removed
    file is read with the partition columns of its own commit or of the commit that removes it. Versions that delete
    rows and change the partition columns are left out.
    """
    newest = {field.name: field.type for field in table.versions[-1].schema.fields}
    runs: list[list[ExpectedVersion]] = []
    for before, each in zip((None, *table.versions), table.versions, strict=False):
        is_kept = all(newest.get(field.name) == field.type for field in each.schema.fields)
        if each.plain_changes is None or not is_kept or _deletes_with_other_partition_columns(before, each):
            runs.append([])
        elif runs and runs[-1] and runs[-1][-1].schema == each.schema:
            runs[-1].append(each)
        else:
            runs.append([each])
    known = [tuple(run) for run in runs if run]
    return [*((each,) for run in known for each in run if len(run) > 1), *known]


def _deletes_with_other_partition_columns(before: ExpectedVersion | None, version: ExpectedVersion) -> bool:
    if before is None or before.partition_columns == version.partition_columns:
        return False
    return any(kind == "delete" for kind, _ in version.plain_changes or ())


def _records_changes(table: ReadableTable) -> bool:
    return bool(list_change_ranges(table))


def expect_changes(versions: tuple[ExpectedVersion, ...]) -> pa.Table:
    """Return the changes of consecutive versions with one schema, with the columns that readers add."""
    parts = []
    for each in versions:
        assert each.changes is not None
        count = each.changes.num_rows
        part = each.changes.append_column(COMMIT_VERSION, pa.array([each.version] * count, pa.int64()))
        moment = pa.array([each.timestamp_ms * 1000] * count, pa.int64()).cast(_TIMESTAMP)
        parts.append(part.append_column(COMMIT_TIMESTAMP, moment))
    return pa.concat_tables(parts)


def _ask(candidate: Candidate, subject: TableUnderTest, notes: Notes, *, with_added_columns: bool) -> None:
    for versions in list_change_ranges(subject.table):
        first, last = versions[0].version, versions[-1].version
        answer = candidate.changes(Changes(str(subject.location), "", start=first, end=last))
        expected = expect_changes(versions)
        dropped = [] if with_added_columns else [COMMIT_VERSION, COMMIT_TIMESTAMP]
        actual = answer.table
        if len(set(actual.column_names)) == actual.num_columns:
            actual = _drop_later_columns(sign_versions(actual), subject, expected)
            actual = actual.drop_columns([name for name in dropped if name in actual.column_names])
        try:
            compare_rows(expected.drop_columns(dropped), actual)
        except Mismatch as error:
            raise error.with_text(f"changes of versions {first} to {last}: {error}") from None
        notes.add("ranges", 1)
    asked = {each.version for versions in list_change_ranges(subject.table) for each in versions}
    known = [each.version for each in subject.table.versions if each.plain_changes is not None]
    if left_out := len(set(known) - asked):
        notes.add("versions_of_unclear_schema_not_asked", left_out)


def sign_versions(actual: pa.Table) -> pa.Table:
    """Convert unsigned versions: the column is not part of the table, so the engine chooses its Arrow type."""
    position = actual.schema.get_field_index(COMMIT_VERSION)
    if position < 0 or not pa.types.is_unsigned_integer(actual.column(position).type):
        return actual
    try:
        return actual.set_column(position, COMMIT_VERSION, actual.column(position).cast(pa.int64()))
    except pa.ArrowInvalid:  # larger than any version
        return actual


def _drop_later_columns(actual: pa.Table, subject: TableUnderTest, expected: pa.Table) -> pa.Table:
    """Leave out columns that only the newest schema has, if all their values are null.

    The protocol does not say whether changes have the schema of their version or the newest.
    """
    newest = {field.name for field in subject.newest.schema.fields}
    later = [
        name
        for name in actual.column_names
        if name in newest and name not in expected.column_names and actual.column(name).null_count == actual.num_rows
    ]
    return actual.drop_columns(later)


@check("changes", "cdc.read-alone", "cdc.preferred", "row-tracking.not-in-change-files",
       needs=_records_changes, operation="changes")  # fmt: skip
def check_changed_rows(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The changed rows of every range with their change types."""
    _ask(candidate, subject, notes, with_added_columns=False)


@check("changes", "cdc.no-commit-columns", "cdc.timestamp-of-file", "cdc.timestamp-in-commit",
       needs=_records_changes, operation="changes")  # fmt: skip
def check_commit_columns(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The changed rows with the version and the timestamp of their commit."""
    _ask(candidate, subject, notes, with_added_columns=True)
