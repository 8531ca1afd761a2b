"""Tables of one data file, with the types and values that a test gives them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.bases.data_files import add_data_file
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action

FILE_PATH = "a.parquet"


def build_required_field(name: str, kind: Any) -> dict[str, Any]:
    """A field of a schema that is not nullable."""
    return {"name": name, "type": kind, "nullable": False, "metadata": {}}


def struct_type(*fields: tuple[str, Any] | dict[str, Any]) -> dict[str, Any]:
    """A struct as a schema spells it."""
    named = [
        each if isinstance(each, dict) else {"name": each[0], "type": each[1], "nullable": True, "metadata": {}}
        for each in fields
    ]
    return {"type": "struct", "fields": named}


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
    """One data file `FILE_PATH` with a table as its rows, and no statistics but the number of them.

    Args:
        table: what the file stores.
        fields: of the schema, partition columns among them.
        partition: partition columns and the file's values of them.
        protocol: action; (1, 2) where None.
        configuration: of the table.
        parquet_options: as `pyarrow.parquet.write_table` takes them.
        more: of the add action, by wire name.
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
    """Strings of any bytes."""
    plain = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(plain), plain.buffers()[1], plain.buffers()[2], plain.buffers()[0])


def build_cents_array(values: Sequence[int], precision: int) -> pa.Array:
    """Decimals of two digits behind the point, of any size."""
    data = b"".join(each.to_bytes(16, "little", signed=True) for each in values)
    return pa.Array.from_buffers(pa.decimal128(precision, 2), len(values), [None, pa.py_buffer(data)])
