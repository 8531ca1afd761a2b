"""Generated tables with data are valid: the log matches the files, and readers get the drawn rows."""

import io
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal as Exact
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from pyroaring import BitMap64

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files import deletion_vectors, paths
from deltaspec.protocol.schema.data_types import Map, iter_fields
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.data_files.stored_files import ROW_ID, ROW_VERSION
from deltaspec_generators.table_files import encode_table, write_table
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.tables.history import draw_generated_table
from deltaspec_generators.tables.readable import CHANGE_TYPE
from deltaspec_generators.tables.strategies import GeneratedTable, data_tables_with_states
from deltaspec_generators.tables.table_specs import FEATURES, NAMES, TableOptions
from deltaspec_generators.values.arrow_values import to_plain_values

few_examples = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def iter_file_actions(drawn: GeneratedTable) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield kind and body of every add and cdc action."""
    for version, lines in drawn.files.commits.items():
        for line in lines:
            assert isinstance(line, dict), f"{version=}"
            ((kind, body),) = line.items()
            if kind in ("add", "cdc"):
                yield kind, body


def read_rows(data: bytes) -> pa.Table:
    return pq.ParquetFile(io.BytesIO(data), coerce_int96_timestamp_unit="us").read()


def decode_deleted_rows(body: dict[str, Any], files: dict[str, bytes]) -> list[int]:
    """Decode with pyroaring, independently of the model that encoded the vectors."""
    if "deletionVector" not in body:
        return []
    vector = msgspec.convert(body["deletionVector"], DeletionVectorDescriptor)
    if vector.storage_type == "i":
        bitmap = deletion_vectors.decode_inline(vector)
    else:
        data = files[deletion_vectors.build_relative_path(vector)]
        assert data[0] == 1
        offset = vector.offset or 0
        size = int.from_bytes(data[offset : offset + 4], "big")
        bitmap = data[offset + 4 : offset + 4 + size]
    assert len(bitmap) == vector.size_in_bytes
    assert int.from_bytes(bitmap[:4], "little") == 1681511377
    rows = list(BitMap64.deserialize(bitmap[4:]))
    assert len(rows) == vector.cardinality
    return rows


def build_row_key(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def count_row_keys(rows: Any) -> Counter[str]:
    return Counter(map(build_row_key, rows))


@few_examples
@given(drawn=data_tables_with_states())
def test_every_file_exists_with_the_size_in_the_log(drawn: GeneratedTable) -> None:
    files = encode_table(drawn.files)
    for _, body in iter_file_actions(drawn):
        assert len(files[paths.decode(body["path"])]) == body["size"]


@few_examples
@given(drawn=data_tables_with_states())
def test_row_counts_equal_statistics_and_vectors(drawn: GeneratedTable) -> None:
    files = encode_table(drawn.files)
    for kind, body in iter_file_actions(drawn):
        rows = read_rows(files[paths.decode(body["path"])]).num_rows
        if "stats" in body:
            assert json.loads(body["stats"])["numRecords"] == rows
        deleted = decode_deleted_rows(body, files) if kind == "add" else []
        assert "deletionVector" not in body or 0 < len(deleted) < rows
        assert [index for index in deleted if index >= rows] == [], body["path"]


@few_examples
@given(drawn=data_tables_with_states(non_conforming=True))
def test_integer_bounds_and_null_counts_equal_the_files(drawn: GeneratedTable) -> None:
    """`id` is a long, or a decimal after widening, so Arrow and JSON compare it equally."""
    files = encode_table(drawn.files)
    for state in drawn.states:
        schema = parse_schema(state.metadata["schemaString"])
        name = schema.fields[[each.name for each in schema.fields].index("id")].metadata.get(
            "delta.columnMapping.physicalName", "id"
        )
        for body in state.live.values():
            found = json.loads(body.get("stats", "{}"), parse_float=Exact)
            table = read_rows(files[paths.decode(body["path"])])
            deleted = [] if found.get("tightBounds") is False else decode_deleted_rows(body, files)
            counted = [index for index in range(table.num_rows) if index not in deleted]
            column = table[name].take(pa.array(counted, pa.int64()))
            bounds = pc.min_max(column).as_py()
            wide = found.get("tightBounds") is False
            for key, sign in (("min", 1), ("max", -1)):
                stated = found.get(f"{key}Values", {}).get(name)
                if stated is not None:
                    assert sign * stated <= sign * bounds[key] if wide else stated == bounds[key], (
                        f"version {state.version}, {body['path']}"
                    )
            nulls = found.get("nullCount", {}).get(name)
            if nulls is not None and not wide:
                assert nulls == column.null_count, f"version {state.version}, {body['path']}"
            elif nulls is not None and nulls in (0, table.num_rows):
                assert nulls == table[name].null_count, f"version {state.version}, {body['path']}"


@few_examples
@given(drawn=data_tables_with_states())
def test_files_contain_the_drawn_rows(drawn: GeneratedTable) -> None:
    """Read files by physical names; missing columns are null, narrower columns are not compared."""
    files = encode_table(drawn.files)
    for state, version in zip(drawn.states, drawn.versions, strict=True):
        schema = parse_schema(state.metadata["schemaString"])
        plain = [
            (each.name, each.metadata.get("delta.columnMapping.physicalName", each.name))
            for each in schema.fields
            if "delta.typeChanges" not in each.metadata
            and each.name not in state.metadata["partitionColumns"]
            and not list(iter_fields(each.type))  # names within structs are checked with delta-rs below
        ]
        for name, physical in plain:
            values: list[Any] = []
            for body in state.live.values():
                table = read_rows(files[paths.decode(body["path"])])
                column = to_plain_values(table[physical]) if physical in table.column_names else [None] * table.num_rows
                deleted = set(decode_deleted_rows(body, files))
                values += [value for index, value in enumerate(column) if index not in deleted]
            assert Counter(map(repr, values)) == Counter(repr(row[name]) for row in version.plain_rows)


def iter_tracked_rows(drawn: GeneratedTable, files: dict[str, bytes], state: WrittenState) -> Iterator[tuple[int, int]]:
    """Yield stable row id and row commit version of every live row."""
    for body in state.live.values():
        table = read_rows(files[paths.decode(body["path"])])
        ids = table[ROW_ID].to_pylist() if ROW_ID in table.column_names else [None] * table.num_rows
        versions = table[ROW_VERSION].to_pylist() if ROW_VERSION in table.column_names else [None] * table.num_rows
        deleted = set(decode_deleted_rows(body, files))
        for index, (row_id, version) in enumerate(zip(ids, versions, strict=True)):
            if index not in deleted:
                default = body["defaultRowCommitVersion"]
                yield (
                    body["baseRowId"] + index if row_id is None else row_id,
                    default if version is None else version,
                )


@few_examples
@given(drawn=data_tables_with_states(features=("rowTracking", "deletionVectors", "changeDataFeed")))
def test_row_ids_are_unique_stable_and_below_the_mark(drawn: GeneratedTable) -> None:
    files = encode_table(drawn.files)
    for state, version in zip(drawn.states, drawn.versions, strict=True):
        if "rowTracking" not in state.features:
            continue
        rows = list(iter_tracked_rows(drawn, files, state))
        assert version.row_ids is not None
        assert sorted(row_id for row_id, _ in rows) == sorted(version.row_ids)
        assert len(set(version.row_ids)) == len(version.row_ids)
        assert [commit for _, commit in rows if commit > state.version] == []
        if rows:
            mark = json.loads(state.domains["delta.rowTracking"]["configuration"])["rowIdHighWaterMark"]
            assert max(version.row_ids) <= mark
        ranges = sorted(
            (body["baseRowId"], body["baseRowId"] + json.loads(body["stats"])["numRecords"])
            for body in state.live.values()
        )
        full = [range_ for range_ in ranges if range_[0] < range_[1]]
        assert [(left, right) for left, right in pairwise(full) if left[1] > right[0]] == [], f"version {state.version}"


@few_examples
@given(drawn=data_tables_with_states(features=("changeDataFeed", "deletionVectors", "columnMapping"), max_commits=5))
def test_change_data_turns_one_version_into_the_next(drawn: GeneratedTable) -> None:
    for before, now in pairwise(drawn.versions):
        changes = now.plain_changes or []
        if not changes:
            continue
        removed = count_row_keys(row for kind, row in changes if kind in ("delete", "update_preimage"))
        added = count_row_keys(row for kind, row in changes if kind in ("insert", "update_postimage"))
        assert count_row_keys(before.plain_rows) - removed + added == count_row_keys(now.plain_rows)
        assert not removed - count_row_keys(before.plain_rows)


@few_examples
@given(drawn=data_tables_with_states(features=("changeDataFeed", "deletionVectors"), partitioned=False, depth=0))
def test_change_files_contain_the_drawn_changes(drawn: GeneratedTable) -> None:
    files = encode_table(drawn.files)
    for number, version in enumerate(drawn.versions):
        found: Counter[str] = Counter()
        for line in drawn.files.commits[number]:
            if isinstance(line, dict) and "cdc" in line:
                table = read_rows(files[paths.decode(line["cdc"]["path"])])
                columns = {name: to_plain_values(table[name]) for name in table.column_names}
                names = [each.name for each in version.schema.fields]
                for index, kind in enumerate(columns[CHANGE_TYPE]):
                    row = {name: columns[name][index] if name in columns else None for name in names}
                    found[repr((kind, build_row_key(row)))] += 1
        changes = (version.plain_changes or []) if version.has_change_files else []
        assert found == Counter(repr((kind, build_row_key(row))) for kind, row in changes), f"version {number}"


@pytest.mark.parametrize(
    "features",
    [
        (),
        ("deletionVectors",),
        ("columnMapping",),
        [name for name in FEATURES if name not in ("typeWidening", "variantType")],
    ],
    ids=["plain", "vectors", "mapped", "all but widening and variants"],
)
def test_delta_rs_reads_the_drawn_rows(features: list[str], tmp_path: Path) -> None:
    """Query the newest version with delta-rs.

    It refuses type widening, its INT96 values overflow outside the years that 64 bits of nanoseconds cover, it returns
    variants as binary views that Arrow cannot cast, and it cannot cast timestamps in maps.
    """
    deltalake = pytest.importorskip("deltalake")
    names = [name for name in NAMES if not name.startswith("timestamp")]
    compared = 0
    for index in range(15):
        options = TableOptions(features=features, times=("micros",), names=names if index % 2 else NAMES)
        drawn = draw_generated_table(SeededChoices(1, index), options)
        schema = drawn.versions[-1].schema
        if any(isinstance(each.type, Map) and "timestamp" in str(each.type) for _, each in iter_fields(schema)):
            continue
        write_table(drawn.files, tmp_path / str(index))
        engine = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(tmp_path / str(index))))
        read = pa.table(engine.execute("select * from t").read_all())
        names_of_columns = [each.name for each in schema.fields]
        assert sorted(read.column_names) == sorted(names_of_columns), f"table {index}"
        columns = [to_plain_values(read[name]) for name in names_of_columns]
        rows = [dict(zip(names_of_columns, values, strict=True)) for values in zip(*columns, strict=True)]
        assert count_row_keys(rows) == count_row_keys(drawn.versions[-1].plain_rows), f"table {index}"
        compared += 1
    assert compared > 10


@few_examples
@given(drawn=data_tables_with_states())
def test_encoding_is_deterministic(drawn: GeneratedTable) -> None:
    once = encode_table(drawn.files)
    assert encode_table(drawn.files, once) == once
