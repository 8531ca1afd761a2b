"""Read the rows of data files as a reader must return them.

Columns are found by name or field id, missing ones are null, partition columns have the values of the log, narrower
types are converted, and rows that a deletion vector marks are left out. Sources: Reader Requirements for Deletion
Vectors, Column Mapping, Type Widening, Row Tracking; Partition Value Serialization.
"""

from collections.abc import Collection
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import LoadedTable
from deltaspec.errors import DeltaspecError
from deltaspec.model.rows.row_ids import compute_stable_row_commit_versions, compute_stable_row_ids
from deltaspec.protocol.actions import Add, Cdc, DeletionVectorDescriptor, Remove
from deltaspec.protocol.files.partition_values import parse_partition_value
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.property_names import ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from deltaspec.protocol.schema.column_mapping import get_partition_types, physical_name
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct, get_type_name
from deltaspec.wire.data.arrow_types import ARROW_PRIMITIVES
from deltaspec.wire.data.column_resolution import FileColumn, resolve_columns
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches, iter_empty_batches
from deltaspec.wire.storage.data_access import DataAccess

UNREADABLE = (DeltaspecError, UnreadableRows, ValueError)
"""Errors of `RowReader.read`."""
_PRIMITIVES = ARROW_PRIMITIVES | {
    "void": pa.null(),
    "variant": pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
}


class UnsupportedType(ValueError):
    """A type that the protocol does not define."""


class UnreadableFile(ValueError):
    """A data file stores a column in a way that the protocol does not define."""


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of a Delta type. Raises `UnsupportedType`."""
    match data_type:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(arrow_type(element))
        case Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(fields):
            return pa.struct([(each.name, arrow_type(each.type)) for each in fields])
        case Primitive(name) if name in _PRIMITIVES:
            return _PRIMITIVES[name]
    raise UnsupportedType(f"type {get_type_name(data_type)} is not supported")


def arrow_schema(schema: Struct) -> pa.Schema:
    """Return the Arrow schema of a table."""
    return pa.schema([(each.name, arrow_type(each.type)) for each in schema.fields])


class FileRows(msgspec.Struct, frozen=True):
    """The rows of a data file without deleted ones."""

    table: pa.Table
    """All columns of the table's schema."""
    indexes: list[int]
    """Position of each row in the file."""
    row_ids: list[int] | None
    """Stable row ids; None if the file has no base row id."""
    row_commit_versions: list[int | None] | None
    extra: dict[str, list[Any]]
    """Values of the requested hidden columns."""


class RowReader:
    """Reads data files of one version.

    The public methods can be replaced, to build faulty readers.
    """

    def __init__(self, access: DataAccess, state: LoadedTable) -> None:
        self.access, self.state = access, state
        self._vectors = DeletionVectorReader(access)

    def with_partitions_of(self, other: LoadedTable) -> "RowReader":
        """Return a reader of files of another version whose rows get the schema of this one."""
        return type(self)(self.access, replace(self.state, metadata=other.metadata))

    def read(self, action: Add | Remove | Cdc, *, hidden: Collection[str] = ()) -> FileRows:
        """Read the rows of a file.

        Args:
            action: the file, with its partition values and deletion vector.
            hidden: further columns of the file to read; null if it does not have them.

        Raises:
            DeltaspecError, UnreadableRows, UnreadableFile, ValueError: the file or its vector cannot be read.
        """
        deleted = self.read_deleted_rows(action)
        with RowBatches(self.access, self.find_file(action)) as source:
            stored = read_table(source)
            indexes = [index for index in range(source.row_count) if index not in deleted]
        keep = pa.array(indexes, pa.int64())
        names = stored.column_names
        extra = {
            name: stored.column(name).take(keep).to_pylist() if name in names else [None] * len(indexes)
            for name in hidden
        }
        columns = self.build_columns(stored, action.partition_values or {})
        table = pa.table(columns, schema=arrow_schema(self.state.schema)) if columns else stored.select([])
        ids, versions = self.compute_row_ids(action, stored)
        return FileRows(
            table.take(keep) if columns else table,
            indexes,
            None if ids is None else [ids[index] for index in indexes],
            None if versions is None else [versions[index] for index in indexes],
            extra,
        )

    def list_stored_columns(self, action: Add | Remove | Cdc) -> list[str]:
        """Return the names of the top-level columns that a file stores. Raises as `read` does."""
        with RowBatches(self.access, self.find_file(action)) as source:
            return list(source.schema.names)

    def find_file(self, action: Add | Remove | Cdc) -> str:
        """Return the path of a data file, relative to the table or absolute."""
        return path_key(action.path, self.access.store.root)

    def read_deleted_rows(self, action: Add | Remove | Cdc) -> set[int]:
        """Return the positions of the rows that the deletion vector of a file marks."""
        vector = None if isinstance(action, Cdc) else action.deletion_vector
        return set() if vector is None else self.read_vector(vector)

    def read_vector(self, vector: DeletionVectorDescriptor) -> set[int]:
        """Return the positions that a deletion vector marks."""
        return set(self._vectors.rows(vector))

    def resolve_columns(self, file_schema: pa.Schema) -> tuple[FileColumn, ...]:
        """Return the columns of the table with their places in a file."""
        return resolve_columns(file_schema, self.state.schema, self.state.mapping)

    def parse_partition_value(self, text: str | None, data_type: DataType) -> Any:
        """Return the value of a partition column; an empty text is null."""
        return parse_partition_value(text, data_type)

    def build_columns(self, stored: pa.Table, partition_values: dict[str, str | None]) -> list[pa.Array]:
        """Return the columns of the table from the columns of a file and its partition values."""
        state = self.state
        partitions = get_partition_types(state.schema, state.partition_columns, state.mapping)
        columns = []
        for field, column in zip(state.schema.fields, self.resolve_columns(stored.schema), strict=True):
            name = physical_name(field, state.mapping)
            if name in partitions:
                value = self.parse_partition_value(partition_values.get(name), field.type)
                columns.append(repeat_value(value, arrow_type(field.type), stored.num_rows))
            elif column.place is None:
                columns.append(pa.nulls(stored.num_rows, arrow_type(field.type)))
            else:
                chunks = stored.column(column.place)
                array = pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], chunks.type)
                columns.append(self.convert(array, column, field))
        return columns

    def compute_row_ids(
        self, action: Add | Remove | Cdc, stored: pa.Table
    ) -> tuple[list[int] | None, list[int | None] | None]:
        """Return stable row ids and row commit versions of all rows of a file; None without a base row id."""
        if not isinstance(action, Add) or action.base_row_id is None:
            return None, None
        configuration = self.state.metadata.configuration
        kept = []
        for key in (ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN):
            name = configuration.get(key)
            has_column = name is not None and name in stored.column_names
            kept.append(stored.column(name).to_pylist() if has_column else [None] * stored.num_rows)
        return compute_stable_row_ids(action, kept[0]), compute_stable_row_commit_versions(action, kept[1])

    def convert(self, array: pa.Array, column: FileColumn, field: Field) -> pa.Array:
        """Convert the values of a file to the type of the table's column. Raises `UnreadableFile`."""
        kind = column.kind
        match kind:
            case Struct(fields):
                _require(pa.types.is_struct(array.type), array, kind)
                parts = array.flatten()
                members = [
                    pa.nulls(len(array), arrow_type(each.type)) if member.place is None
                    else self.convert(parts[member.place], member, each)
                    for member, each in zip(column.members, fields, strict=True)
                ]  # fmt: skip
                return pa.StructArray.from_arrays(members, fields=list(arrow_type(kind)), mask=array.is_null())
            case Array(element, contains_null):
                _require(bool(column.members) and pa.types.is_list(array.type), array, kind)
                values = self.convert(array.values, column.members[0], Field("element", element, contains_null))
                return pa.ListArray.from_arrays(
                    pc.add(array.offsets, 0), values, arrow_type(kind), mask=array.is_null()
                )
            case Map(key, value, value_contains_null):
                _require(bool(column.members) and pa.types.is_map(array.type), array, kind)
                keys = self.convert(array.keys, column.members[0], Field("key", key, False))
                items = self.convert(array.items, column.members[1], Field("value", value, value_contains_null))
                return pa.MapArray.from_arrays(
                    pc.add(array.offsets, 0), keys, items, arrow_type(kind), mask=array.is_null()
                )
        return self.convert_primitive(array, kind)

    def convert_primitive(self, array: pa.Array, data_type: DataType) -> pa.Array:
        """Convert to a type that represents all values of the stored type. Source: Type Widening, Primitive Types."""
        target, name = arrow_type(data_type), get_type_name(data_type)
        if name == "void":
            return pa.nulls(len(array))
        if name == "variant":
            return convert_variant(array, target)
        if pa.types.is_decimal(target):
            _require(pa.types.is_decimal(array.type) or pa.types.is_signed_integer(array.type), array, data_type)
            wide = array.cast(pa.decimal128(19, 0)) if pa.types.is_integer(array.type) else array
            return wide.cast(target)
        if pa.types.is_timestamp(target) and pa.types.is_timestamp(array.type):
            # INT96 has no zone; the value counts as UTC, as in every engine
            return array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64()).cast(target)
        try:
            return array.cast(target)
        except pa.ArrowException as error:
            raise UnreadableFile(f"the file stores {array.type} for {name}: {error}") from None


def read_table(source: RowBatches) -> pa.Table:
    """Return all columns of a data file."""
    names = source.schema.names
    if not names:
        rows = sum(batch.rows for batch in iter_empty_batches(source.row_count, None))
        return pa.table({"": pa.nulls(rows)}).select([])
    batches = [pa.RecordBatch.from_arrays(list(batch.columns.values()), schema=source.schema)
               for batch in source.read(names)]  # fmt: skip
    return pa.Table.from_batches(batches, source.schema)


def repeat_value(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    """Return a column of one value, which the model represents as days or microseconds for dates and timestamps."""
    if value is None:
        return pa.nulls(rows, kind)
    if pa.types.is_date32(kind):
        return pa.repeat(pa.scalar(value, pa.int32()), rows).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.repeat(pa.scalar(value, pa.int64()), rows).cast(kind)
    return pa.repeat(pa.scalar(value, kind), rows)


def _require(condition: bool, array: pa.Array, data_type: DataType) -> None:
    if not condition:
        raise UnreadableFile(f"the file stores {array.type} for {get_type_name(data_type)}")


def convert_variant(array: pa.Array, target: pa.StructType) -> pa.Array:
    """Convert a variant. Raises `UnreadableFile` if it is shredded."""
    _require(pa.types.is_struct(array.type), array, Primitive("variant"))
    names = [array.type.field(position).name for position in range(array.type.num_fields)]
    if sorted(names) != ["metadata", "value"]:
        raise UnreadableFile("shredded variants are not reconstructed")
    parts = array.flatten()
    members = [parts[names.index(name)].cast(pa.binary()) for name in ("metadata", "value")]
    return pa.StructArray.from_arrays(members, fields=list(target), mask=array.is_null())
