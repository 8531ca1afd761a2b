"""Column mapping along the validated history: facts of metadata and fields, and names that statistics may use."""

from collections import Counter
from itertools import chain
from typing import Any, NamedTuple

from deltaspec.protocol.features.table_properties import get_integer_property
from deltaspec.protocol.files.entry_names import EntryNames, collect_entry_names
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, PHYSICAL_NAME
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec.views.table.mapped_columns import (
    MappedColumns,
    collect_mapped_columns,
    find_illegal_new_names,
    find_illegal_physical_names,
    find_illegal_physical_paths,
    merge_mapped_columns,
)
from deltaspec.views.table.schema_columns import ColumnCache, find_appended_columns, select_special_columns

Row = dict[str, Any]


class _MappedField(NamedTuple):
    field: Field
    path: tuple[str, ...]
    """Physical path."""
    number: int | None
    """Column id."""
    physical_name: str | None
    """As in the metadata of the field."""


class MappingHistory:
    """Mapped columns along the history, updated schema by schema."""

    _columns: MappedColumns | None
    _names: set[str]
    _older: set[int]
    _unmapped: Struct | None
    """The last schema, if columns were never mapped; otherwise None."""
    _facts: list[Row]
    """Facts of the fields of the last schema."""
    is_complete: bool
    """Whether the validated history starts with the table and therefore has every name."""
    has_gap: bool
    """Whether a version of the validated history is unknown, so that names of dropped columns may be missing."""

    def __init__(self) -> None:
        self._cache = ColumnCache(_list_mapped_fields)
        self.forget()
        self.has_gap = False

    def forget(self) -> None:
        """Record that versions are unknown."""
        self._columns = None
        self._names = set()
        self._older = set()
        self._unmapped = None
        self._facts = []
        self.is_complete = False
        self.has_gap = True

    @property
    def names(self) -> frozenset[str]:
        """Names that any column has or had in files: physical names, and logical names while column mapping was off."""
        return frozenset(self._names)

    def apply(
        self, schema: Struct | None, configuration: dict[str, str], mapping: str | None, *, is_first: bool = False
    ) -> tuple[Row, list[Row]]:
        """Apply the next metadata; a schema that cannot be parsed discards the earlier state.

        Args:
            schema: table schema; None if it cannot be parsed.
            configuration: table properties.
            mapping: column mapping mode; None if off.
            is_first: whether the table starts with this metadata.

        Returns:
            Columns of the row of `metadata`, and of the rows of `schema_fields` in the order of
            `data_types.iter_fields`.
        """
        if schema is None:
            self.forget()
            return {}, []
        before, current = self._columns, collect_mapped_columns(schema, configuration, mapping)
        self._columns = merge_mapped_columns(before, current)
        self.is_complete = self.is_complete or is_first
        is_unmapped = mapping is None and before is None
        appended = find_appended_columns(self._unmapped, schema) if is_unmapped and not is_first else None
        fields = [] if appended is None else _list_mapped_fields(appended, mapping)
        if appended is None or not self._are_new(fields):
            fields, appended = list(chain.from_iterable(self._cache.collect(schema, mapping))), None
        self._names |= {each.path[-1] for each in fields}
        self._older |= _older_columns(fields)
        older = self._older if self.is_complete else None
        facts = _field_facts(fields, mapping, before, current, older)
        self._facts = facts if appended is None else self._facts + facts
        self._unmapped = schema if is_unmapped else None
        return _metadata_facts(schema, configuration, mapping, before), self._facts

    def _are_new(self, fields: list[_MappedField]) -> bool:
        """Return whether fields have no ids, and names that no field had: they change no fact of other fields."""
        names = {each.path[-1] for each in fields}
        return (
            len(names) == len(fields) and names.isdisjoint(self._names) and all(each.number is None for each in fields)
        )


def _metadata_facts(
    schema: Struct, configuration: dict[str, str], mapping: str | None, before: MappedColumns | None
) -> Row:
    if mapping is None:
        return {}
    return {
        "max_column_id": get_integer_property(configuration, MAX_COLUMN_ID),
        "max_column_id_before": before.max_column_id if before else None,
        "max_used_column_id": column_mapping.find_max_column_id(schema),
    }


def _list_mapped_fields(schema: Struct, mapping: str | None) -> list[_MappedField]:
    """Return all fields in the order of `data_types.iter_fields`."""
    return [
        _MappedField(field, path, column_mapping.column_id(field), _text(field.metadata.get(PHYSICAL_NAME)))
        for path, field in column_mapping.list_physical_paths(schema, mapping)
    ]


def _older_columns(fields: list[_MappedField]) -> set[int]:
    """Return ids of columns whose physical name equals the logical one: they may be older than the column mapping."""
    return {each.number for each in fields if each.number is not None and each.physical_name == each.field.name}


def _field_facts(
    fields: list[_MappedField],
    mapping: str | None,
    before: MappedColumns | None,
    current: MappedColumns | None,
    older: set[int] | None,
) -> list[Row]:
    """Return the mapping columns of `schema_fields`.

    `older` are ids of columns from before the column mapping; None if a version that shows them may be unknown.
    """
    ids = Counter(each.number for each in fields)
    path_counts = Counter(each.path for each in fields)
    renamed = {number: was for number, was, _ in find_illegal_physical_names(before, current)}
    reused_ids = {number for number, _ in find_illegal_new_names(before, current)}
    reused = set(find_illegal_physical_paths(before, current))
    kept = [each for each in fields if each.number not in reused_ids]
    shared_names = _shared_names(kept, older) if older is not None else set()
    rows = []
    for _, path, number, name in fields:
        is_new = before is not None and number is not None and number not in before.names
        rows.append(
            {
                "column_mapping_mode": mapping,
                "column_id": number,
                "physical_name": name,
                "fields_with_column_id": None if number is None else ids[number],
                "fields_with_physical_path": path_counts[path],
                "shares_physical_name": path[-1] in shared_names and number not in reused_ids,
                "physical_name_before": renamed.get(number) if number is not None else None,
                "path_was_reused": is_new and path in reused,
                "name_was_reused": number in reused_ids,
            }
        )
    return rows


def _shared_names(fields: list[_MappedField], older: set[int]) -> set[str]:
    """Return physical names that fields of different structs share, without fields from before the column mapping.

    The name of such an older field is unique only within its struct, and stays when the field is renamed.
    """
    parents: dict[str, set[tuple[str, ...]]] = {}
    names_of_older_fields = set()
    for _, path, number, _ in fields:
        parents.setdefault(path[-1], set()).add(path[:-1])
        if number in older:
            names_of_older_fields.add(path[-1])
    return {name for name, structs in parents.items() if len(structs) > 1} - names_of_older_fields


def entry_names(
    schema: Struct, configuration: dict[str, str], mapping: str | None, history: MappingHistory
) -> EntryNames | None:
    """Return the names that statistics may use under a schema, or None if the names cannot be validated.

    Statistics use physical names if columns are mapped, and logical names otherwise. The names are not validated if:

    - logical and physical names do not differ;
    - the table sets a mapping mode that its protocol does not support, because that is the fault;
    - columns are mapped and versions are unknown, because a dropped column may have had any name (S13).
    """
    if mapping is None and configuration.get(COLUMN_MAPPING_MODE) in ("id", "name"):
        return None
    if mapping is not None and not history.is_complete:
        return None
    if mapping is None and not select_special_columns(schema).fields:
        return None  # no column has a physical name
    return collect_entry_names(schema, mapping, history.names)


def logical_partition_names(schema: Struct, partition_columns: list[str], mapping: str | None) -> dict[str, str]:
    """Map logical to physical names of partition columns, if they differ and no other column uses the logical name."""
    physical = dict(
        zip(
            partition_columns,
            column_mapping.list_physical_partition_columns(schema, partition_columns, mapping),
            strict=True,
        )
    )
    return {name: key for name, key in physical.items() if name not in physical.values()}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
