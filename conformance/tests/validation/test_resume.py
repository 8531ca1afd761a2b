"""A killed run can be resumed from its state. The report is the same as that of an uninterrupted run."""

import json
import os
import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.killed_runs import BUCKETS, RunServer, start_run_server
from helpers.resume_table import OPTIONS, build_full_table

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.validation import run as validate_run
from deltaspec.validation.resume import saved_buckets
from deltaspec_generators.table_files import write_table

KILLS = 20
SEED = int(os.environ.get("DELTASPEC_SEED", "7"))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("resume") / "table"
    write_table(build_full_table(), root)
    return root


@pytest.fixture(autouse=True)
def few_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate_run, "SPILLED_BUCKETS", BUCKETS)


@pytest.fixture(scope="module")
def server() -> Iterator[RunServer]:
    with start_run_server() as found:
        yield found


@pytest.fixture(scope="module")
def expected(table: Path) -> bytes:
    """The report of a run without a state."""
    return msgspec.json.encode(deltaspec.validate(str(table), **OPTIONS))


def resumed(table: Path, state: Path, **options: Any) -> bytes:
    report = deltaspec.validate(str(table), **{**OPTIONS, "state": str(state), "resume": True, **options})
    return msgspec.json.encode(report)


def test_the_table_has_something_to_be_found_at_every_level(expected: bytes) -> None:
    report = json.loads(expected)
    assert {each["level"] for each in report["findings"]} == {"log", "files", "footers", "rows"}


def test_resumed_report_is_that_of_a_run_in_one_piece(
    table: Path, expected: bytes, server: RunServer, tmp_path: Path
) -> None:
    before = {path: path.stat() for path in table.rglob("*")}
    steps = server.judge(table, tmp_path / "whole", **OPTIONS, state=str(tmp_path / "whole state"))
    assert steps is not None
    assert (tmp_path / "whole").read_bytes() == expected
    drawn = random.Random(SEED)
    points = sorted(drawn.sample(range(1, steps + 1), KILLS))
    for point in points:
        state = tmp_path / f"state {point}"
        assert server.judge(table, tmp_path / "none", point, **OPTIONS, state=str(state)) is None, point
        assert resumed(table, state) == expected, f"killed at step {point} of {steps}"
    assert not (tmp_path / "none").exists()
    assert {path: path.stat().st_mtime_ns for path in table.rglob("*")} == {
        path: facts.st_mtime_ns for path, facts in before.items()
    }


def test_run_that_is_killed_again_and_again_ends(
    table: Path, expected: bytes, server: RunServer, tmp_path: Path
) -> None:
    """What goes on is killed as well, each time somewhat later."""
    options = {**OPTIONS, "state": str(tmp_path / "state"), "resume": True}
    killed = 0
    while server.judge(table, tmp_path / "report", 25 * (killed + 1), **options) is None:
        killed += 1
    assert killed > 2
    assert (tmp_path / "report").read_bytes() == expected


def test_what_is_done_is_not_done_again(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = str(tmp_path / "state")
    first = deltaspec.validate(str(table), **OPTIONS, state=state)
    assert sorted(os.listdir(state)) == ["key.json", "lock", "report.record"]

    def fail(*_: object) -> None:
        raise AssertionError("is done")

    monkeypatch.setattr(saved_buckets.SavedBuckets, "run_stage", fail)
    assert deltaspec.validate(str(table), **OPTIONS, state=state, resume=True) == first


def test_resume_begins_where_nothing_is_kept(table: Path, expected: bytes, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    assert resumed(table, tmp_path / "empty") == expected
    assert resumed(table, tmp_path / "none yet") == expected
    assert (tmp_path / "none yet").stat().st_mode & 0o777 == 0o700


# refusals


@pytest.fixture(scope="module")
def half_done(table: Path, server: RunServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a run that was killed in the middle."""
    folder = tmp_path_factory.mktemp("half")
    steps = server.judge(table, folder / "whole", **OPTIONS, state=str(folder / "whole state"))
    assert steps is not None
    assert server.judge(table, folder / "none", steps * 2 // 3, **OPTIONS, state=str(folder / "state")) is None
    return folder / "state"


@pytest.fixture
def state(half_done: Path, tmp_path: Path) -> Path:
    shutil.copytree(half_done, tmp_path / "state")
    return tmp_path / "state"


def refused(table: Path, state: object, *, resume: bool = True, **options: Any) -> str:
    with pytest.raises(InvalidUsage) as raised:
        deltaspec.validate(str(table), **{**OPTIONS, "state": str(state), "resume": resume, **options})
    return str(raised.value).removeprefix(f"{state}: ")


def test_state_is_gone_on_with_only_if_that_is_asked(table: Path, state: Path) -> None:
    assert refused(table, state, resume=False) == (
        "contains a state; add --resume to continue from it, or name another directory"
    )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"revision": "r3"}, "the revision is current in the state and r3 now"),
        ({"level": "footers"}, "the level is rows in the state and footers now"),
        ({"at": 4}, "the version is not given in the state and 4 now"),
        ({"history": "latest"}, "the history is all in the state and latest now"),
        ({"clock": 0}, "the clock is 2023-11-14T22:23:20.000+00:00 in the state and 1970-01-01T00:00:00.000+00:00 now"),
        ({"select": ["LOG"]}, "the selection of rules differs"),
        ({"samples": 3}, "the number of samples is 1000 in the state and 3 now"),
        ({"accept_unchecked": ["ROW040"]}, "--accept-unchecked differs"),
        ({"allow_outside": True}, "--allow-outside is False in the state and True now"),
    ],
)
def test_state_of_other_options_is_refused(table: Path, state: Path, options: dict[str, Any], part: str) -> None:
    assert refused(table, state, **options) == f"contains the state of another run: {part}; name another directory"


def test_state_of_another_release_is_refused(table: Path, state: Path) -> None:
    key = json.loads((state / "key.json").read_bytes())
    (state / "key.json").write_text(json.dumps({**key, "the release of deltaspec": "0.0.1"}), "utf-8")
    assert refused(table, state) == (
        f"contains the state of another run: the release of deltaspec is 0.0.1 in the state and "
        f"{deltaspec.__version__} now; name another directory"
    )


def test_state_of_another_listing_is_refused(table: Path, state: Path, tmp_path: Path) -> None:
    shutil.copytree(table, tmp_path / "moved")
    other = tmp_path / "moved"
    said = refused(other, state)
    assert said.startswith(f"contains the state of another run: the table is {table} in the state and {other} now")
    log = table / "_delta_log"
    (log / f"{6:020}.json").write_text("{}\n", "utf-8")
    try:
        assert refused(table, state) == (
            "contains the state of another run: the log has changed since the state was saved; name another directory"
        )
    finally:
        (log / f"{6:020}.json").unlink()


def _torn(state: Path) -> None:
    record = max(state.glob("*.record"))
    record.write_bytes(record.read_bytes()[:-1])


def _of_another_look(state: Path) -> None:
    first, second = sorted(state.glob("*.record"))[:2]
    shutil.copy(first, second)


def _without_rows(state: Path) -> None:
    for path in state.glob("*.rows"):
        path.unlink()


@pytest.mark.parametrize("damage", [_torn, _of_another_look, _without_rows])
def test_damaged_state_is_refused(table: Path, state: Path, damage: Callable[[Path], None]) -> None:
    damage(state)
    assert refused(table, state) == "its state is damaged; name another directory"


def test_state_is_at_nobody_elses_hands(table: Path, state: Path) -> None:
    state.chmod(0o770)
    assert refused(table, state).startswith("other users can write to this directory")


def test_directory_of_other_things_is_no_state(table: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept", "utf-8")
    tmp_path.chmod(0o700)
    assert refused(table, tmp_path).startswith("contains files that belong to no state")
    assert refused(table, tmp_path / "mine.txt") == "is not a directory"
    assert refused(table, tmp_path / "no" / "such").startswith("cannot be created")
    assert os.listdir(tmp_path) == ["mine.txt"]


@pytest.mark.parametrize("place", ["", "state", "_delta_log", "_delta_log/state", "p=1/state"])
def test_nothing_is_kept_in_a_table(table: Path, place: str) -> None:
    assert refused(table, table / place).startswith("is in a table, where deltaspec does not write")
    assert not (table / "state").exists()


def test_full_disk_is_told(table: Path, state: Path) -> None:
    """Files may be no longer than they are by now, as where there is no room left."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        assert refused(table, state).startswith("cannot be written to: File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_two_runs_do_not_share_a_state(table: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    run_stage = saved_buckets.SavedBuckets.run_stage

    def look_beside_another(buckets: saved_buckets.SavedBuckets, *args: Any, **options: Any) -> Any:
        if not said:
            said.append(refused(table, state))
        return run_stage(buckets, *args, **options)

    monkeypatch.setattr(saved_buckets.SavedBuckets, "run_stage", look_beside_another)
    resumed(table, state)
    assert said == ["another run is using this directory; wait for it, or stop it"]


def test_options_without_sense_are_refused(table: Path) -> None:
    with pytest.raises(InvalidUsage, match="--resume needs --state"):
        deltaspec.validate(str(table), resume=True)
    with pytest.raises(InvalidUsage, match="--state is empty"):
        deltaspec.validate(str(table), state="")
    assert "saves its state in a local directory only" in refused(table, "s3://bucket/state")
