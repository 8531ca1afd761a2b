"""The report of a table does not depend on how its rows are spread, nor on the order in which they come.

`two_engines` judges a table in memory, in spilled shares, and as the Spark engine does with lists of rows for frames.
Here one mutation of every chapter is drawn; `nox -s same_answer` takes all of them, and every permission.
"""

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from helpers.engines import compare_reports, embedded_engine, list_engine, table_in_temporary_directory
from helpers.hypothesis_settings import example_settings
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.bucketing import compute_buckets, normalize_path_keys, split_by_bucket
from deltaspec.validation.buckets import LocalBuckets, RowsByTag, StageOutput
from deltaspec.validation.findings import Findings
from deltaspec.validation.log import log_run
from deltaspec.validation.log.facts import LogFacts, LogFactsBuilder, ReadContext
from deltaspec.validation.options import Options
from deltaspec.validation.plan import build_plan
from deltaspec.validation.spark import payloads
from deltaspec.validation.spark.payloads import (
    Payload,
    batches_to_payloads,
    frame_to_payloads,
    payloads_to_batches,
    payloads_to_frame,
)
from deltaspec.views.base import LEVELS
from deltaspec.wire.storage.factory import open_store
from deltaspec_generators.bases.log_only import build_table
from deltaspec_generators.logs.strategies import logs
from deltaspec_generators.mutations.all_mutations import MUTATIONS
from deltaspec_generators.table_files import TableFiles, write_table
from deltaspec_generators.tables.faults import FAULTS, broken_tables
from deltaspec_generators.tables.strategies import data_tables

CHAPTERS = sorted({each.requirement.partition(".")[0] for each in MUTATIONS.values()})


@st.composite
def asked(draw: st.DrawFn, level: str, clock: int | None) -> dict[str, Any]:
    """Options under which a fault of a level may be seen; few samples, so that it matters which they are."""
    return {
        "level": draw(st.sampled_from(LEVELS[LEVELS.index(level) :])),  # type: ignore[arg-type]
        "history": draw(st.sampled_from(["latest", "all"])),
        "revision": draw(st.sampled_from(["current", "current", "r1", "r2", "r3"])),
        "samples": draw(st.sampled_from([1, 3, 1000])),
        "clock": draw(st.sampled_from([None, clock])),
    }


def assert_same(draw: st.DrawFn, files: TableFiles, level: str) -> None:
    options = draw(asked(level, files.clock_ms))
    spilled, count, seed = draw(st.sampled_from([1, 2, 7])), draw(st.sampled_from([1, 2, 5])), draw(st.integers(0, 999))
    reached = draw(st.booleans())
    engines = {
        f"spilled to {spilled}": embedded_engine(0, spilled),
        f"{count} shares of lists": list_engine(count, seed, executors_can_read=reached),
    }
    with table_in_temporary_directory(files) as uri:
        assert compare_reports(uri, engines, **options) == []


@example_settings(8)
@given(data=st.data())
def test_valid_logs_give_one_report(data: st.DataObject) -> None:
    assert_same(data.draw, data.draw(logs()), "log")


@example_settings(8)
@given(data=st.data())
def test_valid_tables_with_data_give_one_report(data: st.DataObject) -> None:
    assert_same(data.draw, data.draw(data_tables(max_commits=4)), data.draw(st.sampled_from(LEVELS)))


@example_settings(8)
@given(data=st.data())
def test_tables_with_broken_files_give_one_report(data: st.DataObject) -> None:
    fault = FAULTS[data.draw(st.sampled_from(sorted(FAULTS)))]
    assert_same(data.draw, data.draw(broken_tables(fault)), fault.level)


@pytest.mark.parametrize("chapter", CHAPTERS)
@example_settings(1)
@given(data=st.data())
def test_mutations_of_every_chapter_give_one_report(chapter: str, data: st.DataObject) -> None:
    names = sorted(name for name, each in MUTATIONS.items() if each.requirement.startswith(f"{chapter}."))
    mutation = MUTATIONS[data.draw(st.sampled_from(names))]
    assert_same(data.draw, data.draw(mutation.tables()), mutation.level)


# the pieces


@st.composite
def spellings(draw: st.DrawFn) -> list[str]:
    """Several spellings of one path below the table."""
    segments = draw(st.lists(st.sampled_from(["a", "b=1", "c d", "é"]), min_size=1, max_size=3))
    found = ["/".join(segments)]
    for _ in range(draw(st.integers(1, 4))):
        odd = [[each, *draw(st.sampled_from([[], ["."], [""], ["x", ".."]]))] for each in segments[:-1]]
        start = draw(st.sampled_from(["", "./", "a/../"]))
        found.append(start + "/".join([*(each for some in odd for each in some), segments[-1]]))
    return found


@settings(deadline=None)
@given(paths=spellings(), count=st.integers(1, 64))
def test_every_spelling_of_a_path_is_dealt_to_one_share(paths: list[str], count: int) -> None:
    assert compute_buckets(normalize_path_keys(pl.Series(paths)), count).n_unique() == 1


@settings(deadline=None)
@given(numbers=st.lists(st.integers(0, 50)), count=st.integers(1, 9))
def test_every_row_is_dealt_once_and_keeps_its_order(numbers: list[int], count: int) -> None:
    frame = pl.DataFrame({"number": numbers, "row": range(len(numbers))}, schema={"number": pl.Int64, "row": pl.Int64})
    parts = split_by_bucket(frame, frame["number"], count)
    assert sorted(row for _, part in parts for row in part["row"]) == list(range(len(numbers)))
    assert all(part["row"].is_sorted() and len(part) and 0 <= share < count for share, part in parts)
    where = [(number, share) for share, part in parts for number in part["number"]]
    assert len({number for number, _ in where}) == len(set(where)), "rows of one number are in one share"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's temporary directories are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def facts(tmp_path_factory: pytest.TempPathFactory) -> LogFacts:
    """Facts about a small table."""
    root = tmp_path_factory.mktemp("table") / "table"
    write_table(build_table(), root)
    store = open_store(str(root))
    plan = build_plan(store.uri, store.list_log(), at=None, history="latest")
    return LogFactsBuilder(ReadContext(store, plan, Options.create(), compares_files=False)).build()


def rows(*paths: str) -> pl.DataFrame:
    return pl.DataFrame({"path_key": paths, "number": range(len(paths))})


class _Looks:
    """A stage that notes the paths of every share, and hands its rows on."""

    def __init__(self, onward: str | None = None) -> None:
        self.onward = onward
        self.seen: list[dict[str, list[str]]] = []
        self.bucket_counts: set[int] = set()

    def __call__(self, facts: LogFacts, _: Findings, frames: RowsByTag, output: StageOutput) -> Aggregates:
        self.bucket_counts.add(facts.bucket_count)
        self.seen.append({tag: sorted(frame["path_key"]) for tag, frame in frames.items()})
        for frame in frames.values():
            if self.onward is not None:
                output.put(self.onward, frame)
        return Aggregates(rearranging={len(frame) for frame in frames.values()})


def test_shares_spill_beyond_their_bound_and_leave_nothing(temporary: Path, facts: LogFacts) -> None:
    buckets = LocalBuckets(rows_in_memory=4, count=3)
    buckets.put("a", rows("p", "q"))
    buckets.put("b", rows("q", "r"))
    assert (buckets.count, list(temporary.iterdir())) == (1, [])
    buckets.put("claim x", rows("p"))
    assert buckets.count == 3
    look = _Looks("onward")
    buckets.run_stage(look, facts, Findings([], 1), ("a", "b", "claim "))
    assert look.bucket_counts == {3}
    found = {tag: sorted(path for share in look.seen for path in share.get(tag, ())) for tag in ("a", "b", "claim x")}
    assert found == {"a": ["p", "q"], "b": ["q", "r"], "claim x": ["p"]}
    by_path = [share for share in look.seen if any("q" in paths for paths in share.values())]
    assert [{tag for tag, paths in share.items() if "q" in paths} for share in by_path] == [{"a", "b"}]
    in_one_bucket = _Looks()
    buckets.run_stage(in_one_bucket, facts, Findings([], 1), ("onward",), in_one_bucket=True)
    assert in_one_bucket.seen == [{"onward": ["p", "p", "q", "q", "r"]}]
    buckets.drop(("a", "b", "claim "))
    assert buckets.rows("a") is None
    assert sorted(buckets.rows("onward")["path_key"]) == ["p", "p", "q", "q", "r"]  # type: ignore[index]
    buckets.drop(("onward",))
    assert [each for folder in temporary.iterdir() for each in folder.iterdir()] == []
    buckets.close()
    assert list(temporary.iterdir()) == []


def test_a_stage_runs_once_where_no_share_has_a_row(temporary: Path, facts: LogFacts) -> None:
    for limit in (None, 0):
        buckets, look = LocalBuckets(limit, 4), _Looks()
        buckets.put("other", rows("p", "q"))
        buckets.run_stage(look, facts, Findings([], 1), ("none of these",))
        buckets.close()
        assert look.seen == [{}]


def test_nothing_is_left_where_a_run_ends_early(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr(log_run, "check_type_changes", fails)
    with table_in_temporary_directory(build_table()) as uri:
        assert [each.name for each in temporary.iterdir()] == [Path(uri).parent.name]
        with pytest.raises(RuntimeError, match="in the middle"):
            embedded_engine(0, 3)(uri, Options.create(level="files"))
        assert [each.name for each in temporary.iterdir()] == [Path(uri).parent.name]


frames = st.lists(
    st.tuples(st.text(max_size=3) | st.none(), st.integers(-(2**63), 2**63 - 1) | st.none(), st.booleans() | st.none()),
    min_size=1,
    max_size=9,
).map(
    lambda found: pl.DataFrame(
        found, schema={"path_key": pl.String, "number": pl.Int64, "flag": pl.Boolean}, orient="row"
    ).with_columns(many=pl.struct(key="path_key", value=pl.lit(None, pl.String)).implode().over("number"))
)


@settings(deadline=None)
@given(frame=frames, at_once=st.integers(1, 4))
def test_payloads_are_the_frames_that_they_were_made_of(frame: pl.DataFrame, at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "FRAME_ROWS", at_once)
        patch.setattr(payloads, "_BATCH_BYTES", 1000)
        made = list(frame_to_payloads("tag", 3, frame))
        assert len(made) == -(-len(frame) // at_once)
        back = list(batches_to_payloads(payloads_to_batches(made)))
    assert back == made
    assert_frame_equal(payloads_to_frame(each.payload for each in back), frame)


def test_batches_hold_no_more_bytes_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "_BATCH_BYTES", 100)
    made = [Payload("tag", number, bytes(60)) for number in range(5)]
    assert [batch.num_rows for batch in payloads_to_batches(made)] == [2, 2, 1]
    assert list(payloads_to_batches([])) == []
