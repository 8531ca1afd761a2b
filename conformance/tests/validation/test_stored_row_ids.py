"""Row ids read from files are those of the model, and repeated where the model says so."""

from typing import Any, cast

import pyarrow as pa
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import MemoryStore
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from deltaspec.model.actions import Add
from deltaspec.model.rows.row_tracking import compute_stable_row_ids, find_repeated_row_ids
from deltaspec.validation.data.data_bucket import DataBucket
from deltaspec.validation.data.row_id_reader import MaterializedColumns, RowIds, read_row_ids
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec_generators.bases.data_files import encode_data_file

HIDDEN = MaterializedColumns("id", "version")
Drawn = list[tuple[list[int | None], set[int]]]


class Reads:
    """What reading of row ids asks of a run."""

    def __init__(self, tables: dict[str, pa.Table], deleted: dict[str, set[int]]) -> None:
        self.access = DataAccess(MemoryStore({name: encode_data_file(table) for name, table in tables.items()}))
        self.deleted = deleted

    def vector(self, file: DataFile) -> BitMap64 | None:
        return BitMap64(self.deleted[file.path_key]) if self.deleted[file.path_key] else None


def data_file(path: str, base: int, version: int | None = 7) -> DataFile:
    return DataFile(1, "log", 1, "add", path, path, None, None, None, {}, None, base, version)


def files_of(example_settings: Drawn) -> tuple[DataBucket, list[DataFile]]:
    """Files of ten default ids each: names say their order."""
    names = [f"{number}.parquet" for number in range(len(example_settings))]
    tables = {}
    for name, (ids, _) in zip(names, example_settings, strict=True):
        columns = {"x": pa.array([0] * len(ids), pa.int64())}
        if any(each is not None for each in ids):
            columns["id"] = pa.array(ids, pa.int64())
        tables[name] = pa.table(columns)
    run = Reads(tables, {name: deleted for name, (_, deleted) in zip(names, example_settings, strict=True)})
    return cast(DataBucket, run), [data_file(name, 10 * number) for number, name in enumerate(names)]


DRAWN = st.lists(
    st.tuples(st.lists(st.none() | st.integers(0, 25), min_size=1, max_size=4), st.sets(st.integers(0, 3), max_size=3)),
    min_size=1,
    max_size=3,
)


@example_settings(40)
@given(DRAWN)
def test_repeated_ids_are_those_of_the_model(example_settings: Drawn) -> None:
    run, files = files_of(example_settings)
    recorded, met = RowIds(), BitMap64()
    for file in files:
        met |= recorded.take(read_row_ids(run, file, HIDDEN))
    adds = [_add(10 * number) for number in range(len(example_settings))]
    expected = find_repeated_row_ids(
        [(add, ids, deleted) for add, (ids, deleted) in zip(adds, example_settings, strict=True)]
    )
    assert set(met) == expected


@example_settings(40)
@given(DRAWN)
def test_stable_ids_are_those_of_the_model(example_settings: Drawn) -> None:
    run, files = files_of(example_settings)
    for number, (file, (ids, deleted)) in enumerate(zip(files, example_settings, strict=True)):
        stable = compute_stable_row_ids(_add(10 * number), ids)
        expected = {each for index, each in enumerate(stable) if index not in deleted}
        assert set(read_row_ids(run, file, HIDDEN).stable) == expected


def test_commit_versions_of_rows_are_the_same_in_any_files() -> None:
    def versions(ids: list[int], written: list[Any], base: int, default: int) -> int:
        table = pa.table({"id": pa.array(ids), "version": pa.array(written, pa.int64())})
        run = cast(DataBucket, Reads({"a": table}, {"a": set()}))
        return read_row_ids(run, data_file("a", base, default), HIDDEN, versions=True).versions

    before = versions([0, 1], [None, 3], base=0, default=2)
    assert versions([1, 0], [3, 2], base=9, default=5) == before
    assert versions([1, 0], [3, None], base=9, default=5) != before
    assert versions([0, 1], [3, 2], base=9, default=5) != before


def test_file_without_hidden_columns_is_not_read() -> None:
    run = cast(DataBucket, Reads({"a": pa.table({"x": pa.array(range(100_000))})}, {"a": {3}}))
    ids = read_row_ids(run, data_file("a", 2**62), HIDDEN)
    assert (len(ids.by_default), ids.by_default.min(), ids.by_default.max()) == (99_999, 2**62, 2**62 + 99_999)
    assert 2**62 + 3 not in ids.by_default


def _add(base: int) -> Add:
    return Add(path="a", partition_values={}, size=1, modification_time=1, data_change=True, base_row_id=base)
