"""Small valid tables with data files.

Each is known line by line, so a planted fault can break exactly one place. Sizes and statistics are true until then.
"""

import io
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaspec.protocol.files import deletion_vectors
from deltaspec.protocol.property_names import CHANGE_DATA_FEED, DELETION_VECTORS
from deltaspec_generators.checkpoint_writer import Row
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
)

FIELDS: tuple[tuple[str, Any], ...] = (("id", "long"), ("name", "string"), ("price", "double"))
VECTOR_FILE_UUID = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


def build_rows(first: int = 0, count: int = 10) -> pa.Table:
    """Build rows of `FIELDS`: consecutive ids, every fifth name null."""
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([None if each % 5 == 4 else f"name {each:03}" for each in ids], pa.string()),
            "price": pa.array([each / 2 for each in ids], pa.float64()),
        }
    )


def encode_data_file(table: pa.Table, **options: Any) -> bytes:
    """Encode a table as Parquet; `options` are passed to `pyarrow.parquet.write_table`."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **{"compression": "snappy", "store_schema": False, **options})
    return sink.getvalue()


def compute_statistics(table: pa.Table) -> dict[str, Any]:
    """Compute true statistics of the top-level columns, with bounds for numbers and strings."""
    found: dict[str, Any] = {"numRecords": table.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for name, column in zip(table.column_names, table.columns, strict=True):
        found["nullCount"][name] = column.null_count
        plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_string(column.type)
        if plain and column.null_count < len(column):
            bounds = pc.min_max(column).as_py()
            found["minValues"][name], found["maxValues"][name] = bounds["min"], bounds["max"]
    return found


def add_data_file(
    files: TableFiles, path: str, table: pa.Table, *, parquet_options: Mapping[str, Any] | None = None, **more: Any
) -> Row:
    """Add a data file to a table and return its true add action; `more` sets fields by wire name."""
    data = encode_data_file(table, **(parquet_options or {}))
    files.data[path] = data
    stats = more.pop("stats", None) or json.dumps(compute_statistics(table))
    return add_action(path, **{"size": len(data), "stats": stats, **more})


def build_table_with_data(
    *,
    protocol: Row | None = None,
    configuration: Mapping[str, str] | None = None,
    fields: Sequence[Any] = FIELDS,
    tables: Sequence[pa.Table] | None = None,
    parquet_options: Mapping[str, Any] | None = None,
) -> TableFiles:
    """Build three commits: protocol and metadata; add a and b; add c and remove a. Files b and c are live."""
    files = TableFiles()
    first, second, third = tables or (build_rows(0), build_rows(10), build_rows(20))
    files.commits[0] = [
        commit_info_action(0),
        deepcopy(protocol) or protocol_action(1, 2),
        metadata_action(fields, configuration=configuration),
    ]
    a = add_data_file(files, "a.parquet", first, parquet_options=parquet_options)
    b = add_data_file(files, "b.parquet", second, parquet_options=parquet_options)
    c = add_data_file(files, "c.parquet", third, parquet_options=parquet_options)
    files.commits[1] = [commit_info_action(1), a, b]
    files.commits[2] = [commit_info_action(2), c, remove_action(a)]
    return files


def add_rewrite(files: TableFiles, table: pa.Table, *, states_counts: bool = True) -> TableFiles:
    """Add a commit to `build_table_with_data` that replaces b and c by one file with these rows, without data change.

    Args:
        files: the table.
        table: rows of the new file.
        states_counts: whether the new file has statistics.
    """
    new = add_data_file(files, "d.parquet", table, dataChange=False)
    if not states_counts:
        del new["add"]["stats"]
    old = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    removes = [remove_action(each, dataChange=False) for each in old]
    files.commits[3] = [commit_info_action(3, operation="OPTIMIZE"), *removes, new]
    return files


def build_table_with_stored_vectors(
    deleted: Sequence[Sequence[int]] = ((1, 3), (2,)), tables: Sequence[pa.Table] | None = None
) -> TableFiles:
    """Build a table whose files b and c have deletion vectors, stored in one file in the table root."""
    files = build_table_with_data(
        tables=tables,
        protocol=protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"]),
        configuration={DELETION_VECTORS: "true"},
    )
    bitmaps = [deletion_vectors.encode_bitmap(each) for each in deleted]
    data, offsets = deletion_vectors.build_file(bitmaps)
    files.extra[f"deletion_vector_{VECTOR_FILE_UUID}.bin"] = data
    files.commits[3] = [commit_info_action(3)]
    before = (files.commits[1][2], files.commits[2][1])
    for add, bitmap, offset, each in zip(before, bitmaps, offsets, deleted, strict=True):
        assert isinstance(add, dict)
        descriptor = deletion_vectors.build_file_descriptor(VECTOR_FILE_UUID, offset, bitmap, len(each))
        vector = {
            "storageType": "u",
            "pathOrInlineDv": descriptor.path_or_inline_dv,
            "offset": offset,
            "sizeInBytes": len(bitmap),
            "cardinality": len(each),
        }
        stats = json.dumps({**json.loads(add["add"]["stats"]), "tightBounds": False})
        files.commits[3] += [remove_action(add), {"add": {**add["add"], "stats": stats, "deletionVector": vector}}]
    return files


def build_table_with_change_data() -> TableFiles:
    """Build a table with change data feed whose version 3 deletes a row of file b and adds a change data file."""
    files = build_table_with_data(configuration={CHANGE_DATA_FEED: "true"}, protocol=protocol_action(1, 4))
    before, remaining, deleted = build_rows(10), build_rows(10, 9), build_rows(19, 1)
    kinds = pa.array(["delete"] * deleted.num_rows, pa.string())
    data = encode_data_file(deleted.append_column("_change_type", kinds))
    files.data["_change_data/cdc-0.parquet"] = data
    cdc = {"path": "_change_data/cdc-0.parquet", "partitionValues": {}, "size": len(data), "dataChange": False}
    assert before.num_rows == remaining.num_rows + deleted.num_rows
    b = files.commits[1][2]
    assert isinstance(b, dict)
    files.commits[3] = [
        commit_info_action(3),
        remove_action(b),
        add_data_file(files, "d.parquet", remaining),
        {"cdc": cdc},
    ]
    return files
