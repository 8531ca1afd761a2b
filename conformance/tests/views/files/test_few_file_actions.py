"""Few file actions are compared one by one, with the same result as queries over many."""

from typing import Any

import polars as pl
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from deltaspec.protocol.revisions import Revision
from deltaspec.views.files import file_history_rows, file_replay, idle_removes
from deltaspec.views.files.file_replay import REPLAY_COLUMNS
from deltaspec.views.files.partition_facts import ENTRY_END, VALUE_BEGIN

PATHS = ("a", "b", "b%20c", None)
SOURCES = {0: "checkpoint", 1: "sidecar"}
"""By version; later versions are commits."""


@st.composite
def actions(draw: st.DrawFn, kinds: tuple[str, ...] = ("add", "remove")) -> pl.DataFrame:
    """Draw actions of a few paths, of which some have no path, ordered by version, file and line."""
    rows: list[dict[str, Any]] = []
    number = st.none() | st.integers(1, 2)
    for line in range(draw(st.integers(0, 12))):
        version, key = draw(st.integers(0, 5)), draw(st.sampled_from(PATHS))
        rows.append(
            {
                "source": SOURCES.get(version, "commit"),
                "file": f"{version}",
                "version": version,
                "line": line,
                "kind": draw(st.sampled_from(kinds)),
                "path": draw(st.none() | st.just(f"./{key}")) if key else None,
                "path_key": key,
                "deletion_vector_id": draw(st.sampled_from((None, None, "x", "y", ""))),
                "size": draw(number),
                "base_row_id": draw(number),
                "default_row_commit_version": draw(number),
                "has_tags": draw(st.none() | st.booleans()),
                "partition_text": draw(st.sampled_from((None, f"p{VALUE_BEGIN}1{ENTRY_END}", f"p{VALUE_BEGIN}2"))),
            }
        )
    frame = pl.DataFrame(rows, schema_overrides=REPLAY_COLUMNS)
    blank = {name: pl.lit(None, dtype) for name, dtype in REPLAY_COLUMNS.items() if name not in frame.columns}
    return frame.with_columns(**blank).select(list(REPLAY_COLUMNS))


histories = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), max_size=3).map(sorted)


@pytest.mark.parametrize("revision", [Revision.R1, Revision.CURRENT])
@example_settings(100)
@given(chain=actions())
def test_intervals(revision: Revision, chain: pl.DataFrame) -> None:
    few = file_replay.build_intervals(chain, revision)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_replay, "FEW_ROWS", 0)
        many = file_replay.build_intervals(chain, revision)
    assert_frame_equal(few, many, check_row_order=False)


@example_settings(200)
@given(chain=actions(), cdcs=actions(("cdc",)), row_tracking=histories, replacements=st.lists(st.integers(0, 5)))
def test_file_history(
    chain: pl.DataFrame, cdcs: pl.DataFrame, row_tracking: list[tuple[int, bool, bool]], replacements: list[int]
) -> None:
    few = file_history_rows.build_commit_file_history(chain, cdcs, row_tracking, replacements)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_history_rows, "FEW_ROWS", 0)
        many = file_history_rows.build_commit_file_history(chain, cdcs, row_tracking, replacements)
    assert_frame_equal(few, many, check_row_order=False)


@example_settings(100)
@given(rows=actions())
def test_history_of_a_derived_file(rows: pl.DataFrame) -> None:
    source = pl.when(pl.col("line") % 2 == 0).then(pl.lit("checkpoint")).otherwise(pl.lit("sidecar"))
    rows = rows.with_columns(version=pl.lit(7, pl.Int64), source=source)
    few = file_history_rows.build_derived_file_history(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_history_rows, "FEW_ROWS", 0)
        many = file_history_rows.build_derived_file_history(rows)
    assert_frame_equal(few, many, check_row_order=False)


@example_settings(100)
@given(chain=actions())
def test_idle_removes(chain: pl.DataFrame) -> None:
    intervals = file_replay.build_intervals(chain)
    few = idle_removes.build_idle_remove_rows(intervals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(idle_removes, "FEW_ROWS", 0)
        many = idle_removes.build_idle_remove_rows(intervals)
    assert_frame_equal(few, many, check_row_order=False)
