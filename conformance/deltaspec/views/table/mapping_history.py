"""Column mapping along the judged history: facts of metadata and fields, and the names that statistics may use."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deltaspec.model.features.column_mapping_changes import (
    MappedColumns,
    collect_mapped_columns,
    find_illegal_new_names,
    find_illegal_physical_names,
    find_illegal_physical_paths,
    merge_mapped_columns,
)
from deltaspec.model.features.table_properties import get_integer_property
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import DataType, Field, Struct, iter_fields

Row = dict[str, Any]


class MappingHistory:
    """What the versions so far say of mapped columns, and what one more schema does to them."""

    _columns: MappedColumns | None
    _names: set[str]
    _older: set[int]
    is_complete: bool
    """Whether the judged history begins with the table, and so has every name there was."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Note that versions are unknown."""
        self._columns = None
        self._names = set()
        self._older = set()
        self.is_complete = False

    @property
    def names(self) -> frozenset[str]:
        """Names that any column has or had in files: physical ones, and logical ones while no mapping was in force."""
        return frozenset(self._names)

    def take(
        self, schema: Struct | None, configuration: dict[str, str], mapping: str | None, *, is_first: bool = False
    ) -> tuple[Row, list[Row]]:
        """Step to the next metadata; one whose schema cannot be read makes all before it forgotten.

        Args:
            schema: of the table.
            configuration: of the table.
            mapping: mode in force.
            is_first: the table begins with this metadata.

        Returns:
            Columns of the row of `metadata`, and of the rows of `schema_fields`, in the order of `data_types.walk`.
        """
        if schema is None:
            self.forget()
            return {}, []
        before, now = self._columns, collect_mapped_columns(schema, configuration, mapping)
        self._columns = merge_mapped_columns(before, now)
        self.is_complete = self.is_complete or is_first
        self._names |= {path[-1] for path, _ in column_mapping.list_physical_paths(schema, mapping)}
        self._older |= _older_columns(schema)
        older = self._older if self.is_complete else None
        facts = _field_facts(schema, mapping, before, now, older)
        return _metadata_facts(schema, configuration, mapping, before), facts


def _metadata_facts(
    schema: Struct, configuration: dict[str, str], mapping: str | None, before: MappedColumns | None
) -> Row:
    if mapping is None:
        return {}
    return {
        "max_column_id": get_integer_property(configuration, column_mapping.MAX_COLUMN_ID),
        "max_column_id_before": before.max_column_id if before else None,
        "max_used_column_id": column_mapping.find_max_column_id(schema),
    }


def _older_columns(schema: Struct) -> set[int]:
    """Ids of columns whose physical name is their logical one, as those from before the mapping have it."""
    ids = {
        column_mapping.column_id(field)
        for _, field in iter_fields(schema)
        if field.metadata.get(column_mapping.PHYSICAL_NAME) == field.name
    }
    return {number for number in ids if number is not None}


def _field_facts(
    schema: Struct,
    mapping: str | None,
    before: MappedColumns | None,
    now: MappedColumns | None,
    older: set[int] | None,
) -> list[Row]:
    """`older`: ids of columns from before the mapping; None where a version that tells may be unknown."""
    fields = [field for _, field in iter_fields(schema)]
    paths = [path for path, _ in column_mapping.list_physical_paths(schema, mapping)]
    ids = Counter(column_mapping.column_id(field) for field in fields)
    times = Counter(paths)
    renamed = {number: was for number, was, _ in find_illegal_physical_names(before, now)}
    taken = {number for number, _ in find_illegal_new_names(before, now)}
    reused = set(find_illegal_physical_paths(before, now))
    kept = [
        (field, path) for field, path in zip(fields, paths, strict=True) if column_mapping.column_id(field) not in taken
    ]
    shared = _shared_names(kept, older) if older is not None else set()
    rows = []
    for field, path in zip(fields, paths, strict=True):
        number = column_mapping.column_id(field)
        is_new = before is not None and number is not None and number not in before.names
        rows.append(
            {
                "column_mapping_mode": mapping,
                "column_id": number,
                "physical_name": _text(field.metadata.get(column_mapping.PHYSICAL_NAME)),
                "fields_with_column_id": ids[number],
                "fields_with_physical_path": times[path],
                "shares_physical_name": path[-1] in shared and number not in taken,
                "physical_name_before": renamed.get(number) if number is not None else None,
                "path_was_reused": is_new and path in reused,
                "name_was_reused": number in taken,
            }
        )
    return rows


def _shared_names(fields: list[tuple[Field, tuple[str, ...]]], older: set[int]) -> set[str]:
    """Physical names that fields below different parents have, none of them a field from before the mapping.

    The name of such a field is unique in its struct only, and stays when it is renamed.
    """
    parents: dict[str, set[tuple[str, ...]]] = {}
    spared = set()
    for field, path in fields:
        parents.setdefault(path[-1], set()).add(path[:-1])
        if column_mapping.column_id(field) in older:
            spared.add(path[-1])
    return {name for name, places in parents.items() if len(places) > 1} - spared


@dataclass(frozen=True)
class EntryNames:
    """The names that entries of statistics have at one level of nesting."""

    used: Mapping[str, "EntryNames | None"]
    """Names in force to those of the level below, for structs that have one."""
    other: frozenset[str]
    """Names that fields of the level have by the other way of naming, and that no column has or had by this one."""
    is_certain: bool
    """Whether a name of `other` can be nothing but that; else a column that was dropped may have had it."""

    def wrong_names(self) -> Iterator[str]:
        """Every name of `other`, at all levels."""
        yield from self.other
        for below in self.used.values():
            if below is not None:
                yield from below.wrong_names()


def entry_names(
    schema: Struct, configuration: dict[str, str], mapping: str | None, history: MappingHistory
) -> EntryNames | None:
    """The names that statistics may use under a schema; None where there are no others to mistake them for.

    Physical names where columns are mapped; else logical ones, and physical names in the schema are the other way.
    Where a mode is set that the protocol does not support, that is the fault, and names are not judged; nor are they
    where columns are mapped and versions are unknown: a column that was dropped may have had any name (S13).
    """
    if mapping is None and configuration.get(column_mapping.MODE) in ("id", "name"):
        return None
    if mapping is not None and not history.is_complete:
        return None
    ever = history.names if mapping else frozenset()
    found = _names_of(schema, mapping, ever, is_certain=mapping is not None)
    return found if any(found.wrong_names()) else None


def _names_of(schema: Struct, mapping: str | None, ever: frozenset[str], *, is_certain: bool) -> EntryNames:
    used: dict[str, EntryNames | None] = {}
    others = set()
    for field in schema.fields:
        physical = column_mapping.physical_name(field, "name")
        name, other = (physical, field.name) if mapping else (field.name, physical)
        used[name] = _below(field.type, mapping, ever, is_certain=is_certain)
        others.add(other)
    return EntryNames(used, frozenset(others - used.keys() - ever), is_certain)


def _below(kind: DataType, mapping: str | None, ever: frozenset[str], *, is_certain: bool) -> EntryNames | None:
    return _names_of(kind, mapping, ever, is_certain=is_certain) if isinstance(kind, Struct) else None


def logical_partition_names(schema: Struct, partition_columns: list[str], mapping: str | None) -> dict[str, str]:
    """Logical to physical name of the partition columns that have two, where the first is no key of another."""
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
