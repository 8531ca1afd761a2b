"""Tables of one data file, with the types and values that a test gives them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import TableFiles, commit_info_action, metadata_action, protocol_action

FILE_PATH = "a.parquet"


def build_required_field(name: str, kind: Any) -> dict[str, Any]:
    """Build a field that is not nullable."""
    return {"name": name, "type": kind, "nullable": False, "metadata": {}}


def build_single_file_table(
    table: pa.Table,
    fields: Sequence[Any],
    *,
    partition: Mapping[str, str | None] | None = None,
    protocol: dict[str, Any] | None = None,
    configuration: Mapping[str, str] | None = None,
    parquet_options: Mapping[str, Any] | None = None,
    **more: Any,
) -> TableFiles:
    """Build a table with one data file `FILE_PATH`, whose statistics are only `numRecords`.

    Args:
        table: rows of the file.
        fields: fields of the schema, including partition columns.
        partition: values of the file by partition column.
        protocol: protocol action; versions (1, 2) if None.
        configuration: table properties.
        parquet_options: options of `pyarrow.parquet.write_table`.
        more: fields of the add action by wire name.
    """
    values = dict(partition or {})
    files = TableFiles()
    stats = json.dumps({"numRecords": table.num_rows})
    add = add_data_file(
        files, FILE_PATH, table, parquet_options=parquet_options, partition=values, **{"stats": stats, **more}
    )
    metadata = metadata_action(fields, list(values), configuration)
    files.commits[0] = [commit_info_action(0), protocol or protocol_action(1, 2), metadata]
    files.commits[1] = [commit_info_action(1), add]
    return files


def build_string_array(*values: bytes | None) -> pa.StringArray:
    """Build a string array from arbitrary bytes, which may be invalid UTF-8."""
    plain = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(plain), plain.buffers()[1], plain.buffers()[2], plain.buffers()[0])


def build_cents_array(values: Sequence[int], precision: int) -> pa.Array:
    """Build decimals of scale 2 from unscaled values, which may exceed the precision."""
    data = b"".join(each.to_bytes(16, "little", signed=True) for each in values)
    return pa.Array.from_buffers(pa.decimal128(precision, 2), len(values), [None, pa.py_buffer(data)])
