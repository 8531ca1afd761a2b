"""Requirements of the table state for its live files, along the history.

A file action is validated against the state of its own version. The history shows which later versions require more, so
that files that stay live can be compared with them.
"""

from collections.abc import Mapping
from itertools import chain

import msgspec

from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import DataType, Primitive, Struct, iter_fields
from deltaspec.views.table.schema_columns import ColumnCache, find_appended_columns

_Columns = dict[tuple[str, ...], tuple[tuple[str, ...], int]]
_VOID = Primitive("void")


class FileRequirements(msgspec.Struct, frozen=True):
    """Requirements of one state for every live file."""

    partition_columns: Mapping[str, DataType] | None = None
    """Physical name to type; None if unknown."""
    logical_partition_names: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Logical to physical name of the partition columns whose names differ."""
    vectors_supported: bool | None = None
    """None if unknown."""
    num_records: bool = False
    """Whether Iceberg compatibility V1 is enabled, which requires numRecords in every file."""
    stores_partition_columns: bool = False
    """Whether files must store partition columns, so that they have the values of a column that becomes another."""
    checkpoints_keep_statistics: bool = False
    """Whether a checkpoint of the version has the statistics of its files."""


class RequirementChange(msgspec.Struct, frozen=True):
    """Version whose protocol or metadata requires something of files that the preceding version does not require."""

    version: int
    file: str
    line: int
    last_legal_version: int | None
    """The preceding version; None if its state is unknown."""
    new_partition_columns: Mapping[str, DataType] = msgspec.field(default_factory=dict)
    """Physical names of the columns that were no partition columns, or that had another type, with their types."""
    logical_partition_names: Mapping[str, str] = msgspec.field(default_factory=dict)
    former_partition_columns: frozenset[str] = frozenset()
    """Physical names of columns that stopped being partition columns and that files do not store."""
    forbids_vectors: bool = False
    requires_num_records: bool = False
    renamed_column: str | None = None
    """Column that files store under another name than this version defines, because the mapping mode changed."""
    renamed_since: int = 0
    """First version whose schema has the column."""


class RequirementHistory:
    """Changes of the requirements along the history, updated version by version."""

    def __init__(self) -> None:
        self.changes: list[RequirementChange] = []
        """In ascending order of versions."""
        self.base_has_statistics = False
        """Whether the checkpoint that the history begins with, if any, has the statistics of its files."""
        self._before: FileRequirements | None = None
        self._is_first = True
        self.columns: _Columns = {}
        """Stored columns of the last applied version by physical path."""
        self._is_mapped = False
        self._schema: Struct | None = None
        """The schema whose columns are known; None if it is unknown."""
        self._layout: tuple[str | None, Mapping[str, DataType]] | None = None
        """Mapping mode and partition columns that belong to it."""
        self._stored = ColumnCache(_list_stored_columns)

    def forget(self) -> None:
        """Record that protocol or metadata are unknown."""
        self._before = None
        self.columns, self._schema = {}, None

    def apply(
        self,
        location: tuple[int, str, int],
        after: FileRequirements,
        schema: Struct | None,
        mapping: str | None,
        configured_mapping: str | None,
    ) -> None:
        """Apply the next version with a protocol or metaData action.

        Args:
            location: version, file and line of the last of these actions.
            after: requirements from this version on.
            schema: table schema; None if unknown.
            mapping: column mapping mode; None if off.
            configured_mapping: mode in the properties, which has no effect without the feature. A protocol that leaves
                a mode without its feature is reported elsewhere; it renames nothing.
        """
        if self._is_mapped and mapping is None:
            mapping = configured_mapping
        version, file, line = location
        before = self._before or FileRequirements()
        known = before.partition_columns or {}
        new_columns = {name: kind for name, kind in (after.partition_columns or {}).items() if known.get(name) != kind}
        renamed, since = self._apply_columns(version, after, schema, mapping)
        change = RequirementChange(
            version,
            file,
            line,
            version - 1 if self._before is not None else None,
            new_columns,
            after.logical_partition_names if new_columns else {},
            _find_former_partition_columns(before, after),
            forbids_vectors=after.vectors_supported is False and before.vectors_supported is not False,
            requires_num_records=after.num_records and not before.num_records,
            renamed_column=renamed,
            renamed_since=since,
        )
        is_first, self._is_first, self._before = self._is_first, False, after
        if is_first:  # the only earlier files are in a base checkpoint
            self.base_has_statistics = after.checkpoints_keep_statistics
            if after.num_records and ".checkpoint." in file:
                self.changes.append(RequirementChange(version, file, line, None, requires_num_records=True))
            return
        partitions_change = new_columns or change.former_partition_columns
        if partitions_change or change.forbids_vectors or change.requires_num_records or renamed is not None:
            self.changes.append(change)

    def _apply_columns(
        self, version: int, after: FileRequirements, schema: Struct | None, mapping: str | None
    ) -> tuple[str | None, int]:
        """Return the oldest column that a change of the mapping mode renames, and since when the schema has it.

        Only turning the mapping on or off is compared: while it is on, a column is identified by its id. Partition
        columns are not stored in files, and void columns have no values.
        """
        before, was_mapped = self.columns, self._is_mapped
        partition_columns = after.partition_columns or {}
        layout = (mapping, partition_columns)
        appended = None if schema is None or layout != self._layout else find_appended_columns(self._schema, schema)
        self._schema, self._layout = schema, layout
        if appended is not None:
            for path, physical in _list_stored_columns(appended, mapping):
                if physical[0] not in partition_columns:
                    before[path] = physical, before.get(path, ((), version))[1]
            return None, 0
        self.columns, self._is_mapped = {}, mapping is not None
        if schema is None:
            return None, 0
        for path, physical in chain.from_iterable(self._stored.collect(schema, mapping)):
            if physical[0] not in partition_columns:
                self.columns[path] = physical, before.get(path, ((), version))[1]
        if was_mapped == self._is_mapped:
            return None, 0
        renamed = [
            (since, ".".join(path))
            for path, (physical, since) in before.items()
            if path in self.columns and self.columns[path][0] != physical
        ]
        since, name = min(renamed, default=(0, None))
        return name, since


def _find_former_partition_columns(before: FileRequirements, after: FileRequirements) -> frozenset[str]:
    """Return the columns that stopped being partition columns; a column with only a new physical name did not."""
    if before.stores_partition_columns or after.partition_columns is None:
        return frozenset()
    names = {*after.partition_columns, *after.logical_partition_names}
    return frozenset(before.partition_columns or ()) - names


def _list_stored_columns(schema: Struct, mapping: str | None) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return logical and physical path of each column at any depth; void columns have no values."""
    fields = zip(iter_fields(schema), column_mapping.list_physical_paths(schema, mapping), strict=True)
    return [(path, physical) for (path, each), (physical, _) in fields if each.type != _VOID]
