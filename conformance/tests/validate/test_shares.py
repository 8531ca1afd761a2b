"""The report of a table does not depend on how its rows are spread, nor on the order in which they come.

`two_engines` judges a table in memory, in spilled shares, and as the Spark engine does with lists of rows for frames.
Here one mutation of every chapter is drawn; `nox -s same_answer` takes all of them, and every permission.
"""

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from examples import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from two_engines import DEFAULTS, compared, in_shares, laid_down, on_lists

from deltaspec.validate import log_run
from deltaspec.validate.asked import ask
from deltaspec.validate.base_run import Run
from deltaspec.validate.dealing import dealt, place_of, shares_of
from deltaspec.validate.findings import Findings
from deltaspec.validate.plan import make_plan
from deltaspec.validate.shares import Deal, Frames, LocalShares
from deltaspec.validate.spark import payloads
from deltaspec.validate.spark.payloads import Payload, from_batches, of_frame, to_batches, to_frame
from deltaspec.validate.sums import Sums
from deltaspec.views.base import LEVELS
from deltaspec.wire.storage import open_store
from deltaspec_generators.bases import plain
from deltaspec_generators.builder import TableFiles, write_table
from deltaspec_generators.data_faults import FAULTS, broken_tables
from deltaspec_generators.data_tables import data_tables
from deltaspec_generators.every_mutation import MUTATIONS
from deltaspec_generators.logs import logs

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
        f"spilled to {spilled}": in_shares(0, spilled),
        f"{count} shares of lists": on_lists(count, seed, executors_reach=reached),
    }
    with laid_down(files) as uri:
        assert compared(uri, engines, **options) == []


@drawn(8)
@given(data=st.data())
def test_valid_logs_give_one_report(data: st.DataObject) -> None:
    assert_same(data.draw, data.draw(logs()), "log")


@drawn(8)
@given(data=st.data())
def test_valid_tables_with_data_give_one_report(data: st.DataObject) -> None:
    assert_same(data.draw, data.draw(data_tables(max_commits=4)), data.draw(st.sampled_from(LEVELS)))


@drawn(8)
@given(data=st.data())
def test_tables_with_broken_files_give_one_report(data: st.DataObject) -> None:
    fault = FAULTS[data.draw(st.sampled_from(sorted(FAULTS)))]
    assert_same(data.draw, data.draw(broken_tables(fault)), fault.level)


@pytest.mark.parametrize("chapter", CHAPTERS)
@drawn(1)
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
    assert shares_of(place_of(pl.Series(paths)), count).n_unique() == 1


@settings(deadline=None)
@given(numbers=st.lists(st.integers(0, 50)), count=st.integers(1, 9))
def test_every_row_is_dealt_once_and_keeps_its_order(numbers: list[int], count: int) -> None:
    frame = pl.DataFrame({"number": numbers, "row": range(len(numbers))}, schema={"number": pl.Int64, "row": pl.Int64})
    parts = dealt(frame, frame["number"], count)
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
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run over a small table."""
    root = tmp_path_factory.mktemp("table") / "table"
    write_table(plain(), root)
    store = open_store(str(root))
    return Run(store, make_plan(store.uri, store.list_log(), at=None, history="latest"), Findings([], 1))


def rows(*paths: str) -> pl.DataFrame:
    return pl.DataFrame({"path_key": paths, "number": range(len(paths))})


class _Looks:
    """A stage that notes the paths of every share, and hands its rows on."""

    def __init__(self, onward: str | None = None) -> None:
        self.onward = onward
        self.seen: list[dict[str, list[str]]] = []

    def __call__(self, run: Run, frames: Frames, deal: Deal) -> Sums:
        self.seen.append({tag: sorted(frame["path_key"]) for tag, frame in frames.items()})
        for frame in frames.values():
            if self.onward is not None:
                deal(self.onward, frame)
        return Sums(rearranging={len(frame) for frame in frames.values()})


def test_shares_spill_beyond_their_bound_and_leave_nothing(temporary: Path, run: Run) -> None:
    shares = LocalShares(rows_in_memory=4, count=3)
    shares.put("a", rows("p", "q"))
    shares.put("b", rows("q", "r"))
    assert (shares.count, list(temporary.iterdir())) == (1, [])
    shares.put("claim x", rows("p"))
    assert shares.count == 3
    look = _Looks("onward")
    shares.look(look, run, ("a", "b", "claim "))
    assert run.share_count == 3
    found = {tag: sorted(path for share in look.seen for path in share.get(tag, ())) for tag in ("a", "b", "claim x")}
    assert found == {"a": ["p", "q"], "b": ["q", "r"], "claim x": ["p"]}
    by_path = [share for share in look.seen if any("q" in paths for paths in share.values())]
    assert [{tag for tag, paths in share.items() if "q" in paths} for share in by_path] == [{"a", "b"}]
    together = _Looks()
    shares.look(together, run, ("onward",), together=True)
    assert together.seen == [{"onward": ["p", "p", "q", "q", "r"]}]
    shares.drop(("a", "b", "claim "))
    assert shares.rows("a") is None
    assert sorted(shares.rows("onward")["path_key"]) == ["p", "p", "q", "q", "r"]  # type: ignore[index]
    shares.drop(("onward",))
    assert [each for folder in temporary.iterdir() for each in folder.iterdir()] == []
    shares.close()
    assert list(temporary.iterdir()) == []


def test_a_stage_runs_once_where_no_share_has_a_row(temporary: Path, run: Run) -> None:
    for limit in (None, 0):
        shares, look = LocalShares(limit, 4), _Looks()
        shares.put("other", rows("p", "q"))
        shares.look(look, run, ("none of these",))
        shares.close()
        assert look.seen == [{}]


def test_nothing_is_left_where_a_run_ends_early(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr(log_run, "look_at_type_changes", fails)
    with laid_down(plain()) as uri:
        assert [each.name for each in temporary.iterdir()] == [Path(uri).parent.name]
        with pytest.raises(RuntimeError, match="in the middle"):
            in_shares(0, 3)(uri, ask(**{**DEFAULTS, "level": "files"}))
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
        made = list(of_frame("tag", 3, frame))
        assert len(made) == -(-len(frame) // at_once)
        back = list(from_batches(to_batches(made)))
    assert back == made
    assert_frame_equal(to_frame(each.payload for each in back), frame)


def test_batches_hold_no_more_bytes_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "_BATCH_BYTES", 100)
    made = [Payload("tag", number, bytes(60)) for number in range(5)]
    assert [batch.num_rows for batch in to_batches(made)] == [2, 2, 1]
    assert list(to_batches([])) == []
