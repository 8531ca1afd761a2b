"""Rows of Arrow tables as values of `deltaspec.model`."""

from typing import Any

import pyarrow as pa


def list_model_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Return rows as the model represents them: dates as days, timestamps as microseconds, structs as mappings.

    Lists and maps are None, because predicates never compare them.
    """
    if not rows.num_columns:
        return [{}] * rows.num_rows
    columns = {name: _list_model_values(rows.column(name).combine_chunks()) for name in rows.column_names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _list_model_values(array: pa.Array) -> list[Any]:
    if pa.types.is_struct(array.type):
        names = [array.type.field(position).name for position in range(array.type.num_fields)]
        members = zip(*map(_list_model_values, array.flatten()), strict=True) if names else iter([()] * len(array))
        valid = array.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if ok else None for ok, row in zip(valid, members, strict=True)]
    if pa.types.is_timestamp(array.type):
        return list(array.cast(pa.int64()).to_pylist())
    if pa.types.is_date32(array.type):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_nested(array.type):
        return [None] * len(array)
    return list(array.to_pylist())
