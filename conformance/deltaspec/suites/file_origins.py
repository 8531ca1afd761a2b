"""The rows of all files that a table has ever had, as a version shows them: the possible origins of a wrong row."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.candidates.reference.row_reader import UNREADABLE, RowReader
from deltaspec.candidates.row_comparison import Value, WrongType, list_rows, normalize
from deltaspec.protocol.actions import Add, Remove
from deltaspec.suites.checks import TableUnderTest
from deltaspec.suites.read import select_field
from deltaspec_generators.table_state import Body, WrittenState, vector_id
from deltaspec_generators.table_uris import replace_table_uri
from deltaspec_generators.tables.readable import ExpectedVersion

MOST_FILES = 200
"""Tables with more files are not searched."""
_UNREADABLE = (*UNREADABLE, OSError, TypeError, KeyError)
"""Errors of a table that an engine may have changed, or that the reference does not read."""


class FileOrigin(msgspec.Struct, frozen=True, dict=True):
    """A file of a table, with its rows as a version would show them."""

    body: Body
    """Its add, or its remove if only that is known."""
    is_live: bool
    rows: tuple[tuple[Value, ...], ...]
    """All rows of the file, deleted ones included."""
    columns: frozenset[str]
    """Columns that the file stores, by their names in the file."""
    deleted: frozenset[int]
    """Positions of the rows that the vector of the version marks; all of them if the file is not live."""
    deleted_before: frozenset[int]
    """Positions that an earlier vector of the same file marks."""
    has_earlier_vector: bool = False
    """Whether the file was live with another vector, or without one."""

    @cached_property
    def visible(self) -> Counter[tuple[Value, ...]]:
        """Rows that readers must return."""
        return Counter(row for index, row in enumerate(self.rows) if self.is_live and index not in self.deleted)

    @cached_property
    def hidden(self) -> Counter[tuple[Value, ...]]:
        """Rows that readers must not return."""
        return Counter(row for index, row in enumerate(self.rows) if not self.is_live or index in self.deleted)


def list_file_origins(
    subject: TableUnderTest, version: ExpectedVersion, schema: pa.Schema, names: Sequence[str]
) -> list[FileOrigin]:
    """Return the files of a table that the reference can read.

    Args:
        subject: the table on disk.
        version: version whose schema and deletion vectors apply.
        schema: columns to compare.
        names: their names; fields of structs are joined by dots.
    """
    bodies = collect_bodies(subject, version.state)
    if len(bodies) > MOST_FILES:
        return []
    catalog = subject.table.catalog
    try:
        log = LogReader(str(subject.location), None if catalog is None else msgspec.to_builtins(catalog))
        reader = RowReader(log.access, log.read_state(version.version))
    except _UNREADABLE:
        return []
    uri = f"{subject.location.absolute().as_uri()}/"
    found = []
    for body in bodies:
        others = _list_other_vectors(subject, version, body)
        try:
            origin = _read_origin(
                reader, replace_table_uri(body, uri), [replace_table_uri(each, uri) for each in others],
                is_live=version.state.live.get(body["path"]) == body, schema=schema, names=names,
            )  # fmt: skip
        except (*_UNREADABLE, pa.ArrowException, WrongType):
            continue
        found.append(origin)
    return found


def collect_bodies(subject: TableUnderTest, state: WrittenState) -> list[Body]:
    """Return the newest action of every file of the table, live files of a version first."""
    found: dict[str, Body] = dict(state.live)
    for each in reversed(subject.table.versions):
        for path, body in each.state.live.items():
            found.setdefault(path, body)
    for each in reversed(subject.table.versions):
        for (path, _), body in each.state.tombstones.items():
            found.setdefault(path, body)
    return list(found.values())


def _list_other_vectors(subject: TableUnderTest, version: ExpectedVersion, body: Body) -> list[Body]:
    """Return the actions of a file with other vectors, in versions before this one."""
    found: dict[str | None, Body] = {}
    for each in subject.table.versions:
        if each.version <= version.version:
            same = [each.state.live.get(body["path"])]
            same += [dead for (path, _), dead in each.state.tombstones.items() if path == body["path"]]
            found |= {vector_id(other): other for other in same if other is not None}
    found.pop(vector_id(body), None)
    return list(found.values())


def _read_origin(
    reader: RowReader, body: Body, others: list[Body], *, is_live: bool, schema: pa.Schema, names: Sequence[str]
) -> FileOrigin:
    action = _decode(body)
    read = reader.read(replace(action, deletion_vector=None))
    rows = normalize(project(read.table, names), schema) if names else read.table.select([])
    count = len(read.indexes)
    return FileOrigin(
        body=body,
        is_live=is_live,
        rows=tuple(list_rows(rows)) if names else ((),) * count,
        columns=frozenset(reader.list_stored_columns(action)),
        deleted=frozenset(reader.read_deleted_rows(action)) if is_live else frozenset(range(count)),
        deleted_before=frozenset(row for each in others for row in reader.read_deleted_rows(_decode(each))),
        has_earlier_vector=bool(others),
    )


def _decode(body: Body) -> Add | Remove:
    return msgspec.convert(body, Add) if "modificationTime" in body else msgspec.convert(body, Remove)


def project(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return columns of a table by name; a name that is no column names a field of a struct, joined by dots."""
    columns: list[Any] = [
        rows.column(name) if name in rows.column_names else select_field(rows, name.split(".")) for name in names
    ]
    return pa.table(columns, names=list(names))
