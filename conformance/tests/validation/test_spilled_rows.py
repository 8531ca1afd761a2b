"""Rows that are spilled come back bucket by bucket, whatever their columns are."""

import io
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from helpers.backends import embedded_backend
from helpers.bad_nights import build_night_table, run_on, truncate
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from deltaspec.validation import spilled_rows
from deltaspec.validation.bucketing import split_by_bucket
from deltaspec.validation.options import Options
from deltaspec.validation.spilled_rows import SpilledRows
from deltaspec.validation.stored_rows import LZ4, LeftOut, leave_out_columns, read_rows, write_rows
from deltaspec_generators.table_files import write_table

COUNT = 8
VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "text": (pl.String, st.sampled_from(["", "a", "a" * 20])),
    "number": (pl.Int64, st.sampled_from([0, 1, -(2**63), 2**63 - 1])),
    "flag": (pl.Boolean, st.booleans()),
    "real": (pl.Float64, st.sampled_from([0.0, -0.0, float("nan")])),
    "items": (pl.List(pl.Int32), st.lists(st.integers(0, 3) | st.none(), max_size=2)),
    "fields": (pl.Struct({"a": pl.String}), st.fixed_dictionaries({"a": st.none() | st.just("a")})),
}


@st.composite
def draw_frames(draw: st.DrawFn) -> pl.DataFrame:
    """Draw rows whose columns have many values, one value, one value and null, or only null."""
    length = draw(st.integers(1, 12))
    columns = {}
    for name in draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, unique=True)):
        dtype, values = VALUES[name]
        some = values | st.none() if draw(st.booleans()) else values
        kind = draw(st.sampled_from(["many", "one", "null"]))
        drawn = [draw(some) for _ in range(length if kind == "many" else 1)]
        rows = drawn if kind == "many" else (drawn if kind == "one" else [None]) * length
        columns[name] = pl.Series(name, rows, dtype)
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spilled")


@st.composite
def draw_parts(draw: st.DrawFn) -> tuple[pl.DataFrame, list[tuple[pl.DataFrame, LeftOut]]]:
    """Draw rows of several parts, each with own constant columns, and the parts."""
    first = draw(draw_frames())
    parts = [first]
    for _ in range(draw(st.integers(0, 3))):
        part = draw(st.sampled_from(parts))
        for name in draw(st.lists(st.sampled_from(first.columns), unique=True)):
            dtype, values = VALUES[name]
            part = part.with_columns(pl.lit(draw(values | st.none()), dtype).alias(name))
        parts.append(part)
    return pl.concat(parts), [leave_out_columns(each) for each in parts]


@given(drawn=draw_parts(), data=st.data())
def test_buckets_are_those_of_the_rows(
    drawn: tuple[pl.DataFrame, list[tuple[pl.DataFrame, LeftOut]]], data: st.DataObject, directory: Path
) -> None:
    rows, given_parts = drawn
    fewest = data.draw(st.sampled_from([1, 1000]))
    numbers = st.lists(st.integers(0, 20), min_size=len(rows), max_size=len(rows))
    keys = pl.Series(data.draw(numbers), dtype=pl.Int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_rows, "FEWEST_ROWS", fewest)
        spilled = SpilledRows.write(directory / "rows.arrow", given_parts, keys, COUNT)
    parts = dict(split_by_bucket(rows, keys, COUNT))
    for bucket in range(COUNT):
        read = spilled.read([bucket])
        assert (read is None) == (bucket not in parts)
        if read is not None:
            assert_frame_equal(read, parts[bucket])
    several = data.draw(st.lists(st.sampled_from(range(COUNT)), unique=True))
    expected = [parts[bucket] for bucket in several if bucket in parts]
    read = spilled.read(several)
    assert (read is None) == (not expected)
    if read is not None:
        assert_frame_equal(read, pl.concat(expected))


@given(frame=draw_frames(), data=st.data())
def test_streams_that_leave_out_other_columns_are_one_frame(frame: pl.DataFrame, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(frame)))) | {len(frame)})
    streams = []
    for start, end in pairwise([0, *cuts]):
        stored, left_out = leave_out_columns(frame.slice(start, end - start))
        sink = io.BytesIO()
        write_rows(sink, stored, LZ4)
        streams.append((left_out, sink.getvalue()))
    assert_frame_equal(read_rows(streams), frame)


def test_constant_columns_are_not_stored(directory: Path) -> None:
    rows = pl.DataFrame({"path": [f"{each}" * 9 for each in range(1000)], "file": ["x" * 50] * 1000})
    written = SpilledRows.write(directory / "with.arrow", [leave_out_columns(rows)], rows["path"], COUNT)
    fewer = [leave_out_columns(rows.drop("file"))]
    without = SpilledRows.write(directory / "without.arrow", fewer, rows["path"], COUNT)
    assert written.left_out.constants == {"file": "x" * 50}
    assert written.path.stat().st_size == without.path.stat().st_size


def test_columns_that_are_constant_in_each_part_are_stored_as_indices(directory: Path) -> None:
    rows = pl.DataFrame({"path": [f"{each}" * 9 for each in range(1000)], "file": ["x" * 50] * 600 + ["y" * 50] * 400})
    parts = [leave_out_columns(rows.slice(*each)) for each in ((0, 300), (300, 300), (600, 400))]
    written = SpilledRows.write(directory / "indices.arrow", parts, rows["path"], COUNT)
    assert {name: list(values) for name, values in written.values.items()} == {"file": ["x" * 50, "y" * 50]}
    with pa.memory_map(str(written.path)) as file:
        assert pa.ipc.open_file(file).schema.field("file").type == pa.uint32()


def test_columns_of_small_parts_are_not_indexed(directory: Path) -> None:
    """All values of an indexed column stay in memory."""
    rows = pl.DataFrame({"path": [f"{each}" * 9 for each in range(50)], "size": range(50)})
    parts = [leave_out_columns(rows.slice(row, 1)) for row in range(50)]
    written = SpilledRows.write(directory / "small.arrow", parts, rows["path"], COUNT)
    assert not written.values
    read = written.read(range(COUNT))
    assert read is not None
    assert_frame_equal(read.sort("size"), rows)


@pytest.mark.parametrize("damage", [Path.unlink, truncate], ids=["deleted", "truncated"])
@pytest.mark.parametrize("phase", ["replay", "data files", "rows of commits"])
def test_run_is_incomplete_if_temporary_rows_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, damage: Callable[[Path], None]
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    write_table(build_night_table(is_sound=False, with_sidecar=True), tmp_path / "table")

    def lose_rows(now: str, done: int, total: int | None) -> None:
        if now == phase and not done:
            for path in temporary.glob("deltaspec-*/*.arrow"):
                damage(path)

    outcome = run_on(lambda: embedded_backend(0, 3, lose_rows)(str(tmp_path / "table"), Options.create(level="rows")))
    assert outcome.verdict in ("incomplete", "violations")
    assert {"DAT001", "STA001"} <= outcome.unchecked | {rule for rule, _, _ in outcome.findings}
    assert list(temporary.iterdir()) == []
