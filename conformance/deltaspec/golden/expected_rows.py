"""Expected rows with the nullability of their table, which the harnesses of some clients compare."""

import pyarrow as pa

from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive, Struct
from deltaspec_generators.tables.readable import arrow_image


def mark_required(rows: pa.Table, schema: Struct) -> pa.Table:
    """Return rows whose columns have the nullability of a schema, at every depth; other columns stay as they are."""
    fields = {each.name: _build_field(each) for each in schema.fields}
    wanted = [fields.get(each.name, each) for each in rows.schema]
    columns = []
    for field, given in zip(wanted, rows.columns, strict=True):
        columns.append(given if given.type.equals(field.type) else pa.array(given.to_pylist(), field.type))
    return pa.table(columns, schema=pa.schema(wanted))


def _build_field(field: Field) -> pa.Field:
    return pa.field(field.name, _build_type(field.type), field.nullable)


def _build_type(data_type: DataType) -> pa.DataType:
    match data_type:
        case Primitive("variant"):
            return pa.struct([pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")])
        case Struct(fields):
            return pa.struct([_build_field(each) for each in fields])
        case Array(element):
            return pa.list_(pa.field("element", _build_type(element), data_type.contains_null))
        case Map(key, value):
            item = pa.field("value", _build_type(value), data_type.value_contains_null)
            return pa.map_(pa.field("key", _build_type(key), nullable=False), item)
    return arrow_image(data_type)
