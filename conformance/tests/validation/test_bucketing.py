"""The report of a table depends neither on the distribution and order of its rows nor on how lines are decoded.

`assert_same_report` validates a table in memory, in spilled buckets, with the Spark backend on lists of rows, and
without the fast ways to decode lines. These tests draw one planted fault of every chapter;
`nox -s compare_backends` covers all planted faults and permissions.
"""

import resource
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from helpers.backends import (
    compare_reports,
    embedded_backend,
    line_by_line_backend,
    list_backend,
    table_in_temporary_directory,
)
from helpers.hypothesis_settings import example_settings
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from deltaspec.errors import InvalidUsage
from deltaspec.scales import LEVELS
from deltaspec.validation import pipeline
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.bucketing import compute_buckets, find_keys_of_buckets, normalize_path_keys, split_by_bucket
from deltaspec.validation.buckets import LocalBuckets, RowsByTag, StageOutput
from deltaspec.validation.findings import Findings
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
from deltaspec.wire.storage.factory import open_store
from deltaspec_generators.table_files import TableFiles, write_table
from deltaspec_generators.tables.strategies import data_tables, logs
from planted_tables.bases.actions import build_rearranged_table
from planted_tables.bases.log_only import build_table
from planted_tables.drawn_table_faults import FAULTS, broken_tables
from planted_tables.faults.all_faults import PLANTED_FAULTS

CHAPTERS = sorted({each.requirement.partition(".")[0] for each in PLANTED_FAULTS.values()})


@st.composite
def validation_options(draw: st.DrawFn, level: str, clock: int | None) -> dict[str, Any]:
    """Options under which a fault of a level can be found. With few samples, their selection matters."""
    return {
        "level": draw(st.sampled_from(LEVELS[LEVELS.index(level) :])),  # type: ignore[arg-type]
        "history": draw(st.sampled_from(["latest", "all"])),
        "revision": draw(st.sampled_from(["current", "current", "r1", "r2", "r3"])),
        "samples": draw(st.sampled_from([1, 3, 1000])),
        "clock": draw(st.sampled_from([None, clock])),
    }


def assert_same_report(draw: st.DrawFn, files: TableFiles, level: str) -> None:
    options = draw(validation_options(level, files.clock_ms))
    spilled, count, seed = draw(st.sampled_from([1, 2, 7])), draw(st.sampled_from([1, 2, 5])), draw(st.integers(0, 999))
    executors_can_read = draw(st.booleans())
    backends = {
        f"spilled to {spilled}": embedded_backend(0, spilled),
        f"{count} buckets of lists": list_backend(count, seed, executors_can_read=executors_can_read),
        "line by line": line_by_line_backend(),
    }
    with table_in_temporary_directory(files) as uri:
        assert compare_reports(uri, backends, **options) == []


@example_settings(8)
@given(data=st.data())
def test_valid_logs_give_one_report(data: st.DataObject) -> None:
    assert_same_report(data.draw, data.draw(logs()), "log")


@pytest.mark.slow("conformance/deltaspec/validation/bucketing.py")
@example_settings(8)
@given(data=st.data())
def test_valid_tables_with_data_give_one_report(data: st.DataObject) -> None:
    assert_same_report(data.draw, data.draw(data_tables(max_commits=4)), data.draw(st.sampled_from(LEVELS)))


@pytest.mark.slow("conformance/deltaspec/validation/bucketing.py")
@example_settings(8)
@given(data=st.data())
def test_tables_with_broken_files_give_one_report(data: st.DataObject) -> None:
    fault = FAULTS[data.draw(st.sampled_from(sorted(FAULTS)))]
    assert_same_report(data.draw, data.draw(broken_tables(fault)), fault.level)


@pytest.mark.slow("conformance/deltaspec/validation")
@pytest.mark.parametrize("chapter", CHAPTERS)
@example_settings(1)
@given(data=st.data())
def test_planted_faults_of_every_chapter_give_one_report(chapter: str, data: st.DataObject) -> None:
    names = sorted(name for name, each in PLANTED_FAULTS.items() if each.requirement.startswith(f"{chapter}."))
    fault = PLANTED_FAULTS[data.draw(st.sampled_from(names))]
    assert_same_report(data.draw, data.draw(fault.tables()), fault.level)


@pytest.mark.parametrize(
    ("stated_by_removes", "added", "found"),
    [
        (True, [7, 8, 9], {}),
        (True, [7, 8, 8], {"COM021": 1}),
        (False, [7, 8, 9], {}),
        (False, [7, 8, 10], {"COM020": 1}),
    ],
)
def test_rows_of_a_commit_are_counted_over_all_buckets(
    stated_by_removes: bool, added: list[int], found: dict[str, int]
) -> None:
    """Only some of the buckets have a file action with dataChange false."""
    files = build_rearranged_table([4, 5, 6, 9], added, stated_by_removes=stated_by_removes)
    backends = {"spilled": embedded_backend(0, 5), **{f"seed {seed}": list_backend(5, seed) for seed in range(3)}}
    with table_in_temporary_directory(files) as uri:
        assert compare_reports(uri, backends) == []
        assert embedded_backend(0, 5)(uri, Options.create(level="log")).totals == found


# parts of the implementation


@st.composite
def equivalent_paths(draw: st.DrawFn) -> list[str]:
    """Relative paths that all name one file in the table."""
    segments = draw(st.lists(st.sampled_from(["a", "b=1", "c d", "é"]), min_size=1, max_size=3))
    paths = ["/".join(segments)]
    for _ in range(draw(st.integers(1, 4))):
        padded = [[segment, *draw(st.sampled_from([[], ["."], [""], ["x", ".."]]))] for segment in segments[:-1]]
        start = draw(st.sampled_from(["", "./", "a/../"]))
        paths.append(start + "/".join([*(part for parts in padded for part in parts), segments[-1]]))
    return paths


@settings(deadline=None)
@given(paths=equivalent_paths(), count=st.integers(1, 64))
def test_equivalent_paths_are_in_one_bucket(paths: list[str], count: int) -> None:
    assert compute_buckets(normalize_path_keys(pl.Series(paths)), count).n_unique() == 1


@settings(deadline=None)
@given(numbers=st.lists(st.integers(0, 50)), count=st.integers(1, 9))
def test_every_row_is_in_one_bucket_and_keeps_its_order(numbers: list[int], count: int) -> None:
    frame = pl.DataFrame({"number": numbers, "row": range(len(numbers))}, schema={"number": pl.Int64, "row": pl.Int64})
    parts = split_by_bucket(frame, frame["number"], count)
    assert sorted(row for _, part in parts for row in part["row"]) == list(range(len(numbers)))
    assert [
        (bucket, part) for bucket, part in parts if not (part["row"].is_sorted() and len(part) and 0 <= bucket < count)
    ] == []
    buckets = [(number, bucket) for bucket, part in parts for number in part["number"]]
    assert len({number for number, _ in buckets}) == len(set(buckets)), "rows of one number are in several buckets"


@pytest.fixture
def temporary_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use `tmp_path` as the parent of temporary directories."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def facts(tmp_path_factory: pytest.TempPathFactory) -> LogFacts:
    """Facts of the log of a small table."""
    root = tmp_path_factory.mktemp("table") / "table"
    write_table(build_table(), root)
    store = open_store(str(root))
    plan = build_plan(store.uri, store.list_log(), at=None, history="latest")
    return LogFactsBuilder(ReadContext(store, plan, Options.create(), compares_files=False)).build()


def rows(*paths: str) -> pl.DataFrame:
    return pl.DataFrame({"path_key": paths, "number": range(len(paths))})


class _RecordingStage:
    """A stage that records the paths of every bucket, and passes its rows to a later stage."""

    def __init__(self, output_tag: str | None = None) -> None:
        self.output_tag = output_tag
        self.seen: list[dict[str, list[str]]] = []
        self.bucket_counts: set[int] = set()

    def __call__(self, facts: LogFacts, _: Findings, frames: RowsByTag, output: StageOutput) -> Aggregates:
        self.bucket_counts.add(facts.bucket_count)
        self.seen.append({tag: sorted(frame["path_key"]) for tag, frame in frames.items()})
        for frame in frames.values():
            if self.output_tag is not None:
                output.put(self.output_tag, frame)
        return Aggregates(rearranging={len(frame) for frame in frames.values()})


@pytest.mark.parametrize(("rows_of_a_stage", "stages"), [(0, 3), (25, 2), (40, 1)])
def test_small_buckets_are_handled_together(
    rows_of_a_stage: int, stages: int, temporary_root: Path, facts: LogFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress: list[tuple[str, int, int | None]] = []
    buckets = LocalBuckets(0, 3, lambda *each: progress.append(each), rows_of_a_stage)
    names = [f"{each}.parquet" for each in range(30)]
    monkeypatch.setattr("deltaspec.validation.buckets.ROWS_AT_ONCE", 1)
    for part in range(3):  # each becomes a file
        buckets.put("a", rows(*names[part::3]))
    buckets.put("b", rows(names[4]))
    stage = _RecordingStage()
    buckets.run_stage(stage, facts, Findings([], 1), ("a", "b"))
    assert stage.bucket_counts == {3}
    assert len(stage.seen) == stages
    assert sorted(path for each in stage.seen for path in each.get("a", ())) == sorted(names)
    assert [{"a", "b"}] == [each.keys() for each in stage.seen if names[4] in each.get("a", ())]
    assert [each[1:] for each in progress][-1] == (3, 3)
    alone = _RecordingStage()
    buckets.run_stage(alone, facts, Findings([], 1), ("a", "b"), opens_files=True)
    assert len(alone.seen) == 3
    buckets.close()


def test_buckets_spill_above_the_limit_and_delete_their_files(temporary_root: Path, facts: LogFacts) -> None:
    buckets = LocalBuckets(rows_in_memory=4, count=3, rows_of_a_stage=0)
    buckets.put("a", rows("p", "q"))
    buckets.put("b", rows("q", "r"))
    assert (buckets.count, list(temporary_root.iterdir())) == (1, [])
    buckets.put("derived_file x", rows("p"))
    assert buckets.count == 3
    stage = _RecordingStage("later")
    buckets.run_stage(stage, facts, Findings([], 1), ("a", "b", "derived_file "))
    assert stage.bucket_counts == {3}
    found = {
        tag: sorted(path for paths in stage.seen for path in paths.get(tag, ())) for tag in ("a", "b", "derived_file x")
    }
    assert found == {"a": ["p", "q"], "b": ["q", "r"], "derived_file x": ["p"]}
    with_path = [tags for tags in stage.seen if any("q" in paths for paths in tags.values())]
    assert [{tag for tag, paths in tags.items() if "q" in paths} for tags in with_path] == [{"a", "b"}]
    later = _RecordingStage()
    buckets.run_stage(later, facts, Findings([], 1), ("later",))
    assert sorted(path for each in later.seen for path in each.get("later", ())) == ["p", "p", "q", "q", "r"]
    buckets.drop(("a", "b", "derived_file "))
    assert buckets.rows("a") is None
    buckets.put("later", rows("s"))
    assert sorted(buckets.rows("later")["path_key"]) == ["p", "p", "q", "q", "r", "s"]  # type: ignore[index]
    buckets.drop(("later",))
    assert [each for folder in temporary_root.iterdir() for each in folder.iterdir()] == []
    buckets.close()
    assert list(temporary_root.iterdir()) == []


@pytest.mark.parametrize("numbers", [[[1], [None, 2], [None]], [[None], [None, None]], [[None, 3]]], ids=str)
@pytest.mark.parametrize("large_part_rows", [1, 4_096])
def test_rows_in_memory_are_combined_once_and_stay_equal(
    monkeypatch: pytest.MonkeyPatch, numbers: list[list[int | None]], large_part_rows: int
) -> None:
    """Later reads, further rows and a spill see the same rows; columns without values keep their types."""
    monkeypatch.setattr("deltaspec.validation.buckets.LARGE_PART_ROWS", large_part_rows)
    frames = [
        pl.DataFrame(
            {"number": each, "text": [None] * len(each), "values": [None] * len(each)},
            schema={"number": pl.Int64, "text": pl.String, "values": pl.List(pl.Struct({"key": pl.String}))},
        )
        for each in numbers
    ]
    expected = pl.concat(frames)
    buckets = LocalBuckets(rows_in_memory=len(expected) + len(frames[0]), count=3)

    def read() -> pl.DataFrame:
        rows = buckets.rows("a")
        assert rows is not None
        return rows

    for frame in frames:
        buckets.put("a", frame, pl.Series(range(len(frame))))
    for _ in range(2):
        assert_frame_equal(read(), expected)
    if expected["number"].n_unique() > 1:  # other columns are constants, which are not stored
        assert read()["number"].n_chunks() == (1 if large_part_rows > 1 else len(frames))
    buckets.put("a", frames[0], pl.Series(range(len(frames[0]))))
    assert_frame_equal(read(), pl.concat([expected, frames[0]]))
    buckets.put("a", expected, pl.Series(range(len(expected))))
    assert buckets.count == 3
    spilled = pl.concat([expected, frames[0], expected])
    assert_frame_equal(read(), spilled, check_row_order=False)
    buckets.close()


def test_stage_runs_once_without_rows(temporary_root: Path, facts: LogFacts) -> None:
    for limit in (None, 0):
        buckets, stage = LocalBuckets(limit, 4), _RecordingStage()
        buckets.put("other", rows("p", "q"))
        buckets.run_stage(stage, facts, Findings([], 1), ("absent",))
        buckets.close()
        assert stage.seen == [{}], f"{limit=}"


def test_full_temporary_disk_is_named(temporary_root: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    buckets = LocalBuckets(rows_in_memory=4, count=3)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(InvalidUsage, match=r"cannot be written to: .*; set TMPDIR to a directory with more space"):
            buckets.put("a", rows("p", "q", "r", "s", "t"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        buckets.close()
    assert list(temporary_root.iterdir()) == []


def test_failed_run_leaves_no_temporary_files(temporary_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr(pipeline, "check_type_changes", fails)
    with table_in_temporary_directory(build_table()) as uri:
        assert [each.name for each in temporary_root.iterdir()] == [Path(uri).parent.name]
        with pytest.raises(RuntimeError, match="in the middle"):
            embedded_backend(0, 3)(uri, Options.create(level="files"))
        assert [each.name for each in temporary_root.iterdir()] == [Path(uri).parent.name]


frames = st.lists(
    st.tuples(st.text(max_size=3) | st.none(), st.integers(-(2**63), 2**63 - 1) | st.none(), st.booleans() | st.none()),
    min_size=1,
    max_size=9,
).map(
    lambda tuples: pl.DataFrame(
        tuples, schema={"path_key": pl.String, "number": pl.Int64, "flag": pl.Boolean}, orient="row"
    ).with_columns(many=pl.struct(key="path_key", value=pl.lit(None, pl.String)).implode().over("number"))
)


@settings(deadline=None)
@given(frame=frames, frame_rows=st.integers(1, 4))
def test_frames_survive_a_round_trip_through_payloads(frame: pl.DataFrame, frame_rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "FRAME_ROWS", frame_rows)
        patch.setattr(payloads, "BATCH_BYTES", 1000)
        sent = list(frame_to_payloads("tag", 3, frame))
        assert len(sent) == -(-len(frame) // frame_rows)
        received = list(batches_to_payloads(payloads_to_batches(sent)))
    assert received == sent
    assert_frame_equal(payloads_to_frame(each.payload for each in received), frame)


def test_batches_respect_the_byte_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "BATCH_BYTES", 100)
    sent = [Payload("tag", number, bytes(60)) for number in range(5)]
    assert [batch.num_rows for batch in payloads_to_batches(sent)] == [2, 2, 1]
    assert list(payloads_to_batches([])) == []


@pytest.mark.parametrize("count", [1, 2, 7, 4096])
def test_every_bucket_has_a_key(count: int) -> None:
    assert compute_buckets(find_keys_of_buckets(count), count).to_list() == list(range(count))
