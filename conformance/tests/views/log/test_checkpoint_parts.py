"""Columnar part assignment equals the model."""

from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.log.spark_hash import compute_part
from deltaspec.views.log.checkpoint_parts import PartAssignmentCheck, compute_spark_parts, split_paths

Row = dict[str, Any]
SCHEMA = {
    "path": pl.String,
    "dv_storage_type": pl.String,
    "dv_path_or_inline": pl.String,
    "dv_offset": pl.Int64,
}
TEXTS = st.text(max_size=70) | st.text("abc/=-%é€", min_size=1, max_size=300)


@st.composite
def file_rows(draw: st.DrawFn) -> Row:
    row: Row = dict.fromkeys(SCHEMA)
    row["path"] = draw(TEXTS)
    if draw(st.booleans()):
        row |= {"dv_storage_type": draw(st.sampled_from("uip")), "dv_path_or_inline": draw(TEXTS)}
        row["dv_offset"] = draw(st.none() | st.integers(0, 2**31 - 1))
    return row


def vector_id(row: Row) -> str | None:
    if row["dv_storage_type"] is None:
        return None
    return DeletionVectorDescriptor(
        storage_type=row["dv_storage_type"],
        path_or_inline_dv=row["dv_path_or_inline"],
        size_in_bytes=1,
        cardinality=1,
        offset=row["dv_offset"],
    ).unique_id


@example_settings(60)
@given(rows=st.lists(file_rows(), max_size=12), parts=st.integers(1, 40), vectors=st.booleans())
def test_parts_equal_the_model(rows: list[Row], parts: int, vectors: bool) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA)
    expected = [compute_part([row["path"], vector_id(row) if vectors else None], parts) for row in rows]
    assert compute_spark_parts(frame, parts, vectors=vectors).to_list() == expected


def table(*paths: str) -> pa.Table:
    columns = {"path": list(paths), **{name: [None] * len(paths) for name in SCHEMA if name != "path"}}
    return pl.DataFrame(columns, schema=SCHEMA).to_arrow()


@pytest.mark.parametrize("vectors", [True, False])
def test_files_in_the_wrong_part_are_counted(vectors: bool) -> None:
    facts = PartAssignmentCheck(("first", "second"), vectors_supported=vectors)
    facts.check_batch(
        "first", table("a", "abc")
    )  # hashes 1485273170 and 1322437556 of Spark are even, -97053317 is odd
    facts.check_batch("second", table("ab", "abcd"))  # -396302900 is even
    assert facts.misplaced_files == 1


def test_single_file_checkpoint_has_no_misplaced_files() -> None:
    facts = PartAssignmentCheck(("only",), vectors_supported=True)
    facts.check_batch("only", table("a"))
    assert facts.misplaced_files is None


def test_paths_in_several_parts_are_counted_once() -> None:
    parts = ("first", "second", "third")
    rows = [("a", part) for part in (*parts, "first")] + [(f"of {part}", part) for part in parts]
    frame = pl.DataFrame(
        {
            "path": [None if path == "a" else path for path, _ in rows],
            "path_key": [path for path, _ in rows],
            "file": [part for _, part in rows],
        }
    )
    assert split_paths(frame, parts) == 1
    assert split_paths(frame, parts[:1]) == 0
