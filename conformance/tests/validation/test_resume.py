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

KILLS = 8
SEED = int(os.environ.get("DELTASPEC_SEED", "7"))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("resume") / "table"
    write_table(build_full_table(), root)
    return root


@pytest.fixture(autouse=True)
def use_few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate_run, "SPILLED_BUCKETS", BUCKETS)


@pytest.fixture(scope="module")
def server() -> Iterator[RunServer]:
    with start_run_server() as found:
        yield found


@pytest.fixture(scope="module")
def expected(table: Path) -> bytes:
    """Return the report of a run without a state."""
    return msgspec.json.encode(deltaspec.validate(str(table), **OPTIONS))


def resume_run(table: Path, state: Path, **options: Any) -> bytes:
    report = deltaspec.validate(str(table), **{**OPTIONS, "state": str(state), "resume": True, **options})
    return msgspec.json.encode(report)


def test_table_has_findings_at_every_level(expected: bytes) -> None:
    report = json.loads(expected)
    assert {each["level"] for each in report["findings"]} == {"log", "files", "footers", "rows"}


def test_resumed_report_equals_that_of_an_uninterrupted_run(
    table: Path, expected: bytes, server: RunServer, tmp_path: Path
) -> None:
    before = {path: path.stat() for path in table.rglob("*")}
    steps = server.validate(table, tmp_path / "uninterrupted", **OPTIONS, state=str(tmp_path / "uninterrupted state"))
    assert steps is not None
    assert (tmp_path / "uninterrupted").read_bytes() == expected
    choice = random.Random(SEED)
    points = sorted(choice.sample(range(1, steps + 1), KILLS))
    for point in points:
        state = tmp_path / f"state {point}"
        assert server.validate(table, tmp_path / "none", point, **OPTIONS, state=str(state)) is None, point
        assert resume_run(table, state) == expected, f"killed at step {point} of {steps}"
    assert not (tmp_path / "none").exists()
    assert {path: path.stat().st_mtime_ns for path in table.rglob("*")} == {
        path: facts.st_mtime_ns for path, facts in before.items()
    }


def test_repeatedly_killed_run_finishes(table: Path, expected: bytes, server: RunServer, tmp_path: Path) -> None:
    """Resumed runs are killed too, each one later than the previous."""
    options = {**OPTIONS, "state": str(tmp_path / "state"), "resume": True}
    killed = 0
    while server.validate(table, tmp_path / "report", 25 * (killed + 1), **options) is None:
        killed += 1
    assert killed > 2
    assert (tmp_path / "report").read_bytes() == expected


def test_saved_stages_are_not_repeated(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = str(tmp_path / "state")
    first = deltaspec.validate(str(table), **OPTIONS, state=state)
    assert sorted(os.listdir(state)) == ["key.json", "lock", "report.record"]

    def fail(*_: object) -> None:
        raise AssertionError("a saved stage was repeated")

    monkeypatch.setattr(saved_buckets.SavedBuckets, "run_stage", fail)
    assert deltaspec.validate(str(table), **OPTIONS, state=state, resume=True) == first


def test_resume_without_saved_state_starts_from_the_beginning(table: Path, expected: bytes, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    assert resume_run(table, tmp_path / "empty") == expected
    assert resume_run(table, tmp_path / "none yet") == expected
    assert (tmp_path / "none yet").stat().st_mode & 0o777 == 0o700


# refusals


@pytest.fixture(scope="module")
def interrupted_state(table: Path, server: RunServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state of a run that was killed after two thirds of its steps."""
    folder = tmp_path_factory.mktemp("half")
    steps = server.validate(table, folder / "uninterrupted", **OPTIONS, state=str(folder / "uninterrupted state"))
    assert steps is not None
    assert server.validate(table, folder / "none", steps * 2 // 3, **OPTIONS, state=str(folder / "state")) is None
    return folder / "state"


@pytest.fixture
def state(interrupted_state: Path, tmp_path: Path) -> Path:
    shutil.copytree(interrupted_state, tmp_path / "state")
    return tmp_path / "state"


def get_refusal(table: Path, state: object, *, resume: bool = True, **options: Any) -> str:
    with pytest.raises(InvalidUsage) as raised:
        deltaspec.validate(str(table), **{**OPTIONS, "state": str(state), "resume": resume, **options})
    return str(raised.value).removeprefix(f"{state}: ")


def test_state_is_used_only_with_resume(table: Path, state: Path) -> None:
    assert get_refusal(table, state, resume=False) == (
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
    assert get_refusal(table, state, **options) == f"contains the state of another run: {part}; name another directory"


def test_state_of_another_release_is_refused(table: Path, state: Path) -> None:
    key = json.loads((state / "key.json").read_bytes())
    (state / "key.json").write_text(json.dumps({**key, "the release of deltaspec": "0.0.1"}), "utf-8")
    assert get_refusal(table, state) == (
        f"contains the state of another run: the release of deltaspec is 0.0.1 in the state and "
        f"{deltaspec.__version__} now; name another directory"
    )


def test_state_of_another_listing_is_refused(table: Path, state: Path, tmp_path: Path) -> None:
    shutil.copytree(table, tmp_path / "moved")
    other = tmp_path / "moved"
    message = get_refusal(other, state)
    assert message.startswith(f"contains the state of another run: the table is {table} in the state and {other} now")
    log = table / "_delta_log"
    (log / f"{6:020}.json").write_text("{}\n", "utf-8")
    try:
        assert get_refusal(table, state) == (
            "contains the state of another run: the log has changed since the state was saved; name another directory"
        )
    finally:
        (log / f"{6:020}.json").unlink()


def _truncate_record(state: Path) -> None:
    record = max(state.glob("*.record"))
    record.write_bytes(record.read_bytes()[:-1])


def _overwrite_record(state: Path) -> None:
    first, second = sorted(state.glob("*.record"))[:2]
    shutil.copy(first, second)


def _remove_rows(state: Path) -> None:
    for path in state.glob("*.rows"):
        path.unlink()


def _truncate_rows(state: Path) -> None:
    for path in state.glob("*.rows"):
        path.write_bytes(path.read_bytes()[:-1])


def _change_rows(state: Path) -> None:
    """Change a bit of each stream; Arrow reads most of the changed ones without an error."""
    for path in state.glob("*.rows"):
        content = bytearray(path.read_bytes())
        for start in range(200, len(content), 200):
            content[start] ^= 1
        path.write_bytes(content)


@pytest.mark.parametrize("damage", [_truncate_record, _overwrite_record, _remove_rows, _truncate_rows, _change_rows])
def test_damaged_state_is_refused(table: Path, state: Path, damage: Callable[[Path], None]) -> None:
    damage(state)
    assert get_refusal(table, state) == "its state is damaged; name another directory"


def test_state_that_other_users_can_write_is_refused(table: Path, state: Path) -> None:
    state.chmod(0o770)
    assert get_refusal(table, state).startswith("other users can write to this directory")


def test_directory_with_other_files_is_refused(table: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept", "utf-8")
    tmp_path.chmod(0o700)
    assert get_refusal(table, tmp_path).startswith("contains files that belong to no state")
    assert get_refusal(table, tmp_path / "mine.txt") == "is not a directory"
    assert get_refusal(table, tmp_path / "no" / "such").startswith("cannot be created")
    assert os.listdir(tmp_path) == ["mine.txt"]


@pytest.mark.parametrize("location", ["", "state", "_delta_log", "_delta_log/state", "p=1/state"])
def test_state_in_a_table_is_refused(table: Path, location: str) -> None:
    assert get_refusal(table, table / location).startswith("is in a table, where deltaspec does not write")
    assert not (table / "state").exists()


def test_full_disk_is_reported(table: Path, state: Path) -> None:
    """A limit of the file size simulates a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        assert get_refusal(table, state).startswith("cannot be written: File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_concurrent_runs_cannot_use_one_state(table: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    run_stage = saved_buckets.SavedBuckets.run_stage

    def run_stage_next_to_another_run(buckets: saved_buckets.SavedBuckets, *args: Any, **options: Any) -> Any:
        if not messages:
            messages.append(get_refusal(table, state))
        return run_stage(buckets, *args, **options)

    monkeypatch.setattr(saved_buckets.SavedBuckets, "run_stage", run_stage_next_to_another_run)
    resume_run(table, state)
    assert messages == ["another run is using this directory; wait for it, or stop it"]


def test_invalid_state_options_are_refused(table: Path) -> None:
    with pytest.raises(InvalidUsage, match="--resume needs --state"):
        deltaspec.validate(str(table), resume=True)
    with pytest.raises(InvalidUsage, match="--state is empty"):
        deltaspec.validate(str(table), state="")
    assert "saves its state in a local directory only" in get_refusal(table, "s3://bucket/state")
