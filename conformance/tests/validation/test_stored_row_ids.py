"""Row ids read from files, and their duplicates, equal those of the model."""

from typing import Any, cast

import pyarrow as pa
import pytest
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import MemoryStore
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from deltaspec.model.rows.row_ids import compute_stable_row_ids, find_repeated_row_ids
from deltaspec.protocol.actions import Add
from deltaspec.validation.data.data_bucket import DataBucket
from deltaspec.validation.data.row_id_reader import MaterializedColumns, RowIds, read_row_ids
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.parquet.row_batches import UnreadableRows
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec_generators.small_tables import encode_data_file

MATERIALIZED = MaterializedColumns("id", "version")
Drawn = list[tuple[list[int | None], set[int]]]


class FakeBucket:
    """Stand-in for a bucket: files in memory and their deleted rows."""

    def __init__(self, tables: dict[str, pa.Table], deleted: dict[str, set[int]]) -> None:
        self.access = DataAccess(MemoryStore({name: encode_data_file(table) for name, table in tables.items()}))
        self.deleted = deleted

    def vector(self, file: DataFile) -> BitMap64 | None:
        return BitMap64(self.deleted[file.path_key]) if self.deleted[file.path_key] else None


def build_data_file(path: str, base: int, version: int | None = 7) -> DataFile:
    return DataFile(1, "log", 1, "add", path, path, None, None, None, {}, None, base, version)


def build_files(drawn: Drawn) -> tuple[DataBucket, list[DataFile]]:
    """Build files with ten default ids each, named by their order."""
    names = [f"{number}.parquet" for number in range(len(drawn))]
    tables = {}
    for name, (ids, _) in zip(names, drawn, strict=True):
        columns = {"x": pa.array([0] * len(ids), pa.int64())}
        if any(each is not None for each in ids):
            columns["id"] = pa.array(ids, pa.int64())
        tables[name] = pa.table(columns)
    run = FakeBucket(tables, {name: deleted for name, (_, deleted) in zip(names, drawn, strict=True)})
    return cast(DataBucket, run), [build_data_file(name, 10 * number) for number, name in enumerate(names)]


DRAWN = st.lists(
    st.tuples(st.lists(st.none() | st.integers(0, 25), min_size=1, max_size=4), st.sets(st.integers(0, 3), max_size=3)),
    min_size=1,
    max_size=3,
)


@example_settings(40)
@given(DRAWN)
def test_repeated_ids_equal_the_model(drawn: Drawn) -> None:
    run, files = build_files(drawn)
    seen, repeated = RowIds(), BitMap64()
    for file in files:
        repeated |= seen.take(read_row_ids(run, file, MATERIALIZED))
    adds = [_add(10 * number) for number in range(len(drawn))]
    expected = find_repeated_row_ids([(add, ids, deleted) for add, (ids, deleted) in zip(adds, drawn, strict=True)])
    assert set(repeated) == expected


@example_settings(40)
@given(DRAWN)
def test_stable_ids_equal_the_model(drawn: Drawn) -> None:
    run, files = build_files(drawn)
    for number, (file, (ids, deleted)) in enumerate(zip(files, drawn, strict=True)):
        stable = compute_stable_row_ids(_add(10 * number), ids)
        expected = {each for index, each in enumerate(stable) if index not in deleted}
        assert set(read_row_ids(run, file, MATERIALIZED).stable) == expected


def test_commit_versions_of_rows_do_not_depend_on_their_file() -> None:
    def versions(ids: list[int], written: list[Any], base: int, default: int) -> int:
        table = pa.table({"id": pa.array(ids), "version": pa.array(written, pa.int64())})
        run = cast(DataBucket, FakeBucket({"a": table}, {"a": set()}))
        return read_row_ids(run, build_data_file("a", base, default), MATERIALIZED, versions=True).versions

    before = versions([0, 1], [None, 3], base=0, default=2)
    assert versions([1, 0], [3, 2], base=9, default=5) == before
    assert versions([1, 0], [3, None], base=9, default=5) != before
    assert versions([0, 1], [3, 2], base=9, default=5) != before


def test_the_last_row_id_is_the_largest_long() -> None:
    bucket, _ = build_files([([None] * 3, set())])
    ids = read_row_ids(bucket, build_data_file("0.parquet", 2**63 - 3), MATERIALIZED, versions=False)
    assert list(ids.by_default) == [2**63 - 3, 2**63 - 2, 2**63 - 1]
    with pytest.raises(UnreadableRows, match=str(2**63 - 2)):
        read_row_ids(bucket, build_data_file("0.parquet", 2**63 - 2), MATERIALIZED, versions=False)


def test_file_without_materialized_columns_is_not_read() -> None:
    run = cast(DataBucket, FakeBucket({"a": pa.table({"x": pa.array(range(100_000))})}, {"a": {3}}))
    ids = read_row_ids(run, build_data_file("a", 2**62), MATERIALIZED)
    assert (len(ids.by_default), ids.by_default.min(), ids.by_default.max()) == (99_999, 2**62, 2**62 + 99_999)
    assert 2**62 + 3 not in ids.by_default


def _add(base: int) -> Add:
    return Add(path="a", partition_values={}, size=1, modification_time=1, data_change=True, base_row_id=base)
