"""The command `deltaspec faults`: options, exit codes and output."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deltaspec.cli import main

CORRECT = "py:faults.small_writers:SmallWriter"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["faults", *arguments])


@pytest.mark.parametrize("name", ["kill", "kill.x", "none.1", "flood.1"])
def test_unknown_trial_is_wrong_usage(name: str) -> None:
    result = run(CORRECT, "--only", name)
    assert result.exit_code == 2
    assert f"unknown trial {name}" in result.output


def test_candidate_without_writes_is_not_asked() -> None:
    result = run("py:faults.small_writers:ReadsOnly", "--kills", "0", "--races", "0", "--storage", "0")
    assert result.exit_code == 2
    assert "does not declare the kinds create and append" in result.output
    assert "NOTHING ASKED" in result.output


@pytest.mark.slow("conformance/deltaspec/faults", "conformance/deltaspec/commands/faults.py")
def test_json_report_has_controls_and_selected_trials(tmp_path: Path) -> None:
    output, events = tmp_path / "report.json", tmp_path / "events.ndjson"
    arguments = ["--format", "json", "--output", str(output), "--events", str(events)]
    result = run(CORRECT, "--only", "read-only.0", *arguments)
    assert result.exit_code == 0, result.output
    report = json.loads(output.read_bytes())
    assert report["run"]["trials"] == {"read-only": 1}
    assert report["faults"]["none"]["outcomes"] == {"not-asked": 2, "passed": 2}
    assert report["faults"]["read-only"]["outcomes"] == {"passed": 1}
    assert report["trials"] == []
    trials = {each["trial"]: each["outcome"] for each in map(json.loads, events.read_text("utf-8").splitlines())}
    assert trials["read-only.0"] == "passed"
    assert sorted(trials.values()) == ["not-asked", "not-asked", "passed", "passed", "passed"]


@pytest.mark.slow("conformance/deltaspec/faults", "conformance/deltaspec/commands/faults.py")
def test_interrupted_run_is_resumed(tmp_path: Path) -> None:
    output, events = tmp_path / "report.json", tmp_path / "events.ndjson"
    arguments = [CORRECT, "--only", "read-only.0,read-only.1", "--format", "json", "--output", str(output)]
    arguments += ["--events", str(events), "--resume"]
    assert run(*arguments).exit_code == 0
    whole = json.loads(output.read_bytes())["faults"]
    lines = events.read_bytes().splitlines(keepends=True)
    assert len(lines) == 6
    first = lines[4].replace(b'"seconds":', b'"seconds":1')  # a result that only the file has
    events.write_bytes(b"".join([*lines[:4], first, lines[5][:30]]))
    assert run(*arguments).exit_code == 0
    assert json.loads(output.read_bytes())["faults"] == whole
    resumed = events.read_bytes().splitlines(keepends=True)
    assert resumed[:5] == [*lines[:4], first]
    assert [json.loads(each)["trial"] for each in resumed] == [json.loads(each)["trial"] for each in lines]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "--resume needs --events"),
        (["--resume", "--events", "{events}"], "line 2: not the result of a trial"),
        (["--resume", "--events", "{others}"], "the events are of a run with other arguments: kill.7"),
        (["--resume", "--events", "{others}", "--seed", "2"], f"run with other arguments: {CORRECT}, seed 1"),
        (["--resume", "--events", "{others}", "--with", CORRECT], f"run with other arguments: {CORRECT}, seed 1"),
    ],
)
@pytest.mark.slow("conformance/deltaspec/faults", "conformance/deltaspec/commands/faults.py")
def test_run_that_cannot_be_resumed_is_wrong_usage(arguments: list[str], message: str, tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"
    assert run(CORRECT, "--only", "read-only.0", "--events", str(events)).exit_code == 0
    others = tmp_path / "others.ndjson"
    others.write_bytes(events.read_bytes().replace(b"read-only.0", b"kill.7"))
    content = events.read_bytes().replace(b"\n", b"\n{}\n", 1)
    events.write_bytes(content)
    named = [each.format(events=events, others=others) for each in arguments]
    result = run(CORRECT, "--only", "read-only.0", *named)
    assert result.exit_code == 2
    assert message in result.output
    assert events.read_bytes() == content


def test_events_that_cannot_be_written_are_wrong_usage(tmp_path: Path) -> None:
    result = run(CORRECT, "--only", "read-only.0", "--events", str(tmp_path / "nowhere" / "events.ndjson"))
    assert result.exit_code == 2
    assert "events.ndjson: cannot be written: No such file or directory" in result.output


def test_full_disk_is_reported_with_the_name_of_the_events() -> None:
    result = run(CORRECT, "--only", "read-only.0", "--events", "/dev/full")
    assert result.exit_code == 2
    assert "deltaspec: /dev/full: cannot be written: No space left on device" in result.output
