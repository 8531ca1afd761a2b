"""Faults in finding the columns of a table in a data file."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.row_reader import FileRows, RowReader, UnreadableFile, arrow_type
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, PHYSICAL_NAME
from deltaspec.protocol.schema.column_mapping import get_mapping_mode, physical_name
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Struct
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.selftest.readers.parquet_footers import read_footer
from deltaspec.wire.data.column_resolution import FileColumn, resolve_columns

BY_NAME, BY_ID = "column-mapping.read-by-physical-name", "column-mapping.read-by-id"
Columns = tuple[FileColumn, ...]


@mutant(RowReader.resolve_columns, BY_ID, suites=("read",), origin="cm-001")
def ids_ignored(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Finds columns by their display names in id mode."""
    mapping = None if reader.state.mapping == "id" else reader.state.mapping
    return resolve_columns(file_schema, reader.state.schema, mapping)


@mutant(RowReader.resolve_columns, BY_ID, suites=("read",), origin="cm-001")
def ids_taken_for_physical_names(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Finds columns by their physical names in id mode."""
    return resolve_columns(file_schema, reader.state.schema, reader.state.mapping and "name")


@mutant(RowReader.resolve_columns, BY_NAME, suites=("read",), origin="proto-006")
def display_names_searched(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Finds columns by their display names in name mode."""
    mapping = None if reader.state.mapping == "name" else reader.state.mapping
    return resolve_columns(file_schema, reader.state.schema, mapping)


@mutant(RowReader.resolve_columns, "column-mapping.read-by-display-name", suites=("read",), origin="cm-003")
def physical_names_used_without_mode(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Finds columns by the physical names in the schema although no mode is set."""
    return resolve_columns(file_schema, reader.state.schema, reader.state.mapping or "name")


@mutant(RowReader.resolve_columns, BY_NAME, suites=("read",))
def columns_found_by_position(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Takes the columns of a file in the order of the schema."""
    found: Columns = original(reader, file_schema)
    present = sorted(each.place for each in found if each.place is not None)
    places = iter(present)
    return tuple(each if each.place is None else _move(each, next(places), file_schema) for each in found)


def _move(column: FileColumn, place: int, file_schema: pa.Schema) -> FileColumn:
    same = file_schema.field(place).type == column.file_type
    return replace(column, place=place if same else column.place)


@mutant(RowReader.resolve_columns, BY_NAME, suites=("read",))
def fields_of_structs_found_by_position(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Takes the fields of a struct in the order of the schema."""

    def renumber(column: FileColumn) -> FileColumn:
        members = tuple(renumber(each) for each in column.members)
        if isinstance(column.kind, Struct):
            places = iter(sorted(each.place for each in members if each.place is not None))
            members = tuple(each if each.place is None else replace(each, place=next(places)) for each in members)
        return replace(column, members=members)

    return tuple(renumber(each) for each in original(reader, file_schema))


@mutant(RowReader.resolve_columns, BY_NAME, suites=("read",), origin="cm-007")
def only_columns_mapped(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Maps columns and finds nested fields by their display names."""
    state = reader.state
    plain = Struct(tuple(replace(each, type=_unmap(each.type)) for each in state.schema.fields))
    return resolve_columns(file_schema, plain, state.mapping)


@mutant(RowReader.resolve_columns, BY_NAME, suites=("read",), origin="cm-007")
def fields_in_collections_not_mapped(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Maps fields of structs, but not of structs inside of arrays and maps."""
    state = reader.state
    return resolve_columns(file_schema, _unmap_collections(state.schema), state.mapping)


def _unmap(data_type: DataType) -> DataType:
    """Return a type whose fields have their display names as physical names."""
    match data_type:
        case Struct(fields):
            return Struct(tuple(_rename(each) for each in fields))
        case Array(element, contains_null):
            return Array(_unmap(element), contains_null)
        case Map(key, value, contains_null):
            return Map(_unmap(key), _unmap(value), contains_null)
    return data_type


def _rename(field: Field) -> Field:
    metadata = {**field.metadata, PHYSICAL_NAME: field.name}
    return replace(field, type=_unmap(field.type), metadata=metadata)


def _unmap_collections(kind: Any) -> Any:
    if isinstance(kind, Struct):
        return Struct(tuple(replace(each, type=_unmap_collections(each.type)) for each in kind.fields))
    return _unmap(kind)


@mutant(RowReader.resolve_columns, BY_NAME, BY_ID, suites=("read",))
def missing_columns_found_by_display_name(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Falls back to the display name if a file does not have a column, and revives dropped columns of that name."""
    by_name = resolve_columns(file_schema, reader.state.schema, None)
    found: Columns = original(reader, file_schema)
    return tuple(other if each.place is None else each for each, other in zip(found, by_name, strict=True))


@mutant(LogReader.build_state, "protocol.columns-mapped-by-either", suites=("read",), origin="proto-002")
def mapping_needs_listed_feature(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Maps columns only if the protocol lists the feature, not with reader version 2."""
    state: LoadedTable = original(log, snapshot)
    listed = "columnMapping" in (state.protocol.reader_features or ())
    return replace(state, mapping=state.mapping if listed else None)


@mutant(LogReader.build_state, "column-mapping.property-needs-support", suites=("read",))
def property_enough_for_mapping(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Maps columns if the property says so, although the protocol does not support it."""
    state: LoadedTable = original(log, snapshot)
    return replace(state, mapping=get_mapping_mode(state.metadata.configuration, supported=True))


@mutant(LogReader.build_state, "column-mapping.mode-consulted", suites=("read",))
def mode_always_name(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Maps columns by name whenever the feature is supported, whatever the mode."""
    state: LoadedTable = original(log, snapshot)
    supported = get_mapping_mode({COLUMN_MAPPING_MODE: "name"}, supported=True)
    version = state.protocol.min_reader_version
    maps = version == 2 or "columnMapping" in (state.protocol.reader_features or ())
    return replace(state, mapping=supported if maps else state.mapping)


@mutant(RowReader.resolve_columns, "consistency.missing-columns-null", suites=("read",))
def missing_columns_refused(original: Method, reader: RowReader, file_schema: pa.Schema) -> Columns:
    """Fails if a file does not have a column."""
    found: Columns = original(reader, file_schema)
    partitions = set(reader.state.partition_columns)
    fields = reader.state.schema.fields
    if any(each.place is None and field.name not in partitions for each, field in zip(found, fields, strict=True)):
        raise UnreadableFile("a column is missing")
    return found


@mutant(RowReader.convert, "consistency.missing-columns-null", suites=("read",))
def missing_fields_refused(
    original: Method, reader: RowReader, array: pa.Array, column: FileColumn, field: Field
) -> pa.Array:
    """Fails if a struct of a file does not have a field."""
    if isinstance(column.kind, Struct) and any(each.place is None for each in column.members):
        raise UnreadableFile("a field is missing")
    return original(reader, array, column, field)


@mutant(RowReader.build_columns, "consistency.missing-columns-null", suites=("read",))
def missing_structs_filled(
    original: Method, reader: RowReader, stored: pa.Table, partition_values: dict[str, str | None]
) -> list[pa.Array]:
    """Fills a missing struct with a struct of nulls."""
    columns: list[pa.Array] = original(reader, stored, partition_values)
    for place, (column, field) in enumerate(
        zip(reader.resolve_columns(stored.schema), reader.state.schema.fields, strict=True)
    ):
        if column.place is None and isinstance(field.type, Struct) and field.type.fields:
            members = [pa.nulls(stored.num_rows, arrow_type(each.type)) for each in field.type.fields]
            columns[place] = pa.StructArray.from_arrays(members, fields=list(arrow_type(field.type)))
    return columns


@mutant(RowReader.build_columns, "default-columns.not-for-reading", suites=("read",))
def defaults_fill_missing_columns(
    original: Method, reader: RowReader, stored: pa.Table, partition_values: dict[str, str | None]
) -> list[pa.Array]:
    """Fills a missing column with its default."""
    columns: list[pa.Array] = original(reader, stored, partition_values)
    state = reader.state
    for place, field in enumerate(state.schema.fields):
        default = field.metadata.get("CURRENT_DEFAULT")
        missing = physical_name(field, state.mapping) not in stored.column_names
        if default is not None and missing and field.name not in state.partition_columns:
            try:
                value = pa.scalar(str(default).strip("'")).cast(arrow_type(field.type))
            except pa.ArrowException:
                continue
            columns[place] = pa.repeat(value, stored.num_rows)
    return columns


@mutant(RowReader.read, "data-files.change-type-column-ignored", suites=("read",))
def change_type_column_filters_rows(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Takes rows of a data file with a column `_change_type` for changes and drops those without a type."""
    if options:
        rows: FileRows = original(reader, action, **options)
        return rows
    found: FileRows = original(reader, action, hidden=("_change_type",))
    if "_change_type" not in read_footer(reader, action).schema.to_arrow_schema().names:
        return found
    return replace(found, table=found.table.slice(0, 0), indexes=[])


@mutant(Engine.select_columns, "column-mapping.mode-consulted", suites=("read",), origin="cm-013")
def nested_fields_found_by_leaf_name(
    original: Method, engine: Engine, rows: pa.Table, columns: Sequence[Sequence[str]]
) -> pa.Table:
    """Returns the column with the name of a nested field, if there is one."""
    paths = [path[-1:] if path[-1] in rows.column_names else path for path in columns]
    names = [".".join(path) for path in columns]
    return original(engine, rows, paths).rename_columns(names)


@mutant(Engine.select_columns, "parquet.names", suites=("read",))
def names_lowered(original: Method, engine: Engine, rows: pa.Table, columns: Sequence[Sequence[str]]) -> pa.Table:
    """Returns the names of columns in lower case."""
    found = original(engine, rows, columns)
    return found.rename_columns([name.lower() for name in found.column_names])


@mutant(LogReader.build_state, "parquet.names", suites=("read",))
def names_compared_in_lower_case(original: Method, log: LogReader, snapshot: Snapshot) -> LoadedTable:
    """Looks for the lower-case name of a column in a file whose names keep their case."""
    state: LoadedTable = original(log, snapshot)
    fields = tuple(
        each if each.name == each.name.lower() else replace(each, metadata={}) for each in state.schema.fields
    )
    return replace(state, schema=Struct(fields))
