"""Options of `validate`: history, version, selection of rules, samples and accepted unchecked rules."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.raw_logs import PLAIN_CHECKPOINT_ROWS, RawLog, count_findings_by_rule, validate_unchanged

from deltaspec.cli import main
from deltaspec.errors import InvalidUsage
from deltaspec.rules import RULES
from deltaspec.validation.options import Options


@pytest.fixture
def checkpointed(tmp_path: Path) -> Path:
    """Write `plain` up to version 4, with checkpoints of 2 and 4 and malformed paths in versions 1 and 4."""
    log = RawLog("plain")
    log.edit(1, "__/b.parquet", "__/b%.parquet")
    at_2 = log.rows(*PLAIN_CHECKPOINT_ROWS)
    log.checkpoint(2, at_2)
    log.append(3, '{"txn":{"appId":"loader","version":2}}')
    log.append(4, log.files["00000000000000000002.json"].decode().splitlines()[2].replace("/c.", "/d%."))
    log.checkpoint(4, [*(row for row in at_2 if "txn" not in row), *log.rows((3, '{"txn"'), (4, '{"add"'))])
    return log.write(tmp_path)


def validate(root: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and JSON report."""
    result = CliRunner().invoke(main, ["validate", str(root), "--level", "log", "--format", "json", *options])
    return result.exit_code, json.loads(result.stdout)


def collect_versions(report: dict[str, Any]) -> set[int]:
    return {finding["version"] for finding in report["findings"]}


def test_latest_starts_from_the_checkpoint_before_the_newest(checkpointed: Path) -> None:
    code, report = validate(checkpointed)
    assert (code, report["history"], report["version"]) == (1, "latest", 4)
    assert collect_versions(report) == {2, 4}
    assert report["checked"]["derived_files_not_compared"] == [
        {"file": "_delta_log/00000000000000000002.checkpoint.parquet", "reason": "history is latest"}
    ]


def test_all_starts_from_version_0(checkpointed: Path) -> None:
    code, report = validate(checkpointed, "--history", "all")
    assert (code, report["history"]) == (1, "all")
    assert collect_versions(report) == {1, 2, 4}
    assert report["checked"]["derived_files_not_compared"] == []


def test_number_of_versions_starts_from_the_checkpoint_before_them(checkpointed: Path) -> None:
    _, report = validate(checkpointed, "--history", "2")
    assert collect_versions(report) == {2, 4}
    _, report = validate(checkpointed, "--history", "3")
    assert collect_versions(report) == {1, 2, 4}
    assert {each.version for each in validate_unchanged(checkpointed, history=3).findings} == {1, 2, 4}


@pytest.mark.parametrize("history", ["0", "-1", "none", "1.5", "٣", ""])
def test_invalid_history_is_refused(history: str, checkpointed: Path) -> None:
    with pytest.raises(InvalidUsage, match="choose latest, all, or a number"):
        validate_unchanged(checkpointed, history=history)


def test_at_validates_an_older_version_and_nothing_after_it(checkpointed: Path) -> None:
    code, report = validate(checkpointed, "--at", "3", "--history", "all")
    assert (code, report["version"]) == (1, 3)
    assert collect_versions(report) == {1, 2}
    code, report = validate(checkpointed, "--at", "0")
    assert (code, report["version"], report["verdict"], report["findings"]) == (0, 0, "conforms", [])


def test_select_chooses_rules_by_prefix(checkpointed: Path) -> None:
    code, report = validate(checkpointed, "--history", "all", "--select", "log,FIL011")
    assert (code, report["verdict"]) == (0, "conforms")
    assert {rule[:3] for rule in report["checked"]["run"]} == {"LOG", "FIL"}
    assert "FIL001" in report["checked"]["skipped"]
    code, report = validate(checkpointed, "--history", "all", "--select", "FIL001")
    assert (code, report["checked"]["run"]) == (1, ["FIL001"])


def test_ignored_rules_are_reported_as_skipped(checkpointed: Path) -> None:
    code, report = validate(checkpointed, "--history", "all", "--ignore", "FIL001")
    assert (code, report["verdict"], report["findings"]) == (0, "conforms", [])
    skipped = report["checked"]["skipped"]
    skipped_log_rules = [code for code in skipped if RULES[code].level == "log" and "current" in RULES[code].revisions]
    assert skipped_log_rules == ["FIL001"]


def test_empty_selection_is_refused(checkpointed: Path) -> None:
    with pytest.raises(InvalidUsage, match="leave no rule"):
        validate_unchanged(checkpointed, select=["FIL001"], ignore=["FIL"])


def test_counts_include_findings_beyond_the_samples(checkpointed: Path) -> None:
    _, report = validate(checkpointed, "--history", "all", "--samples", "1")
    assert len(report["findings"]) == 1
    assert report["counts"]["violation"] == report["totals"]["FIL001"] == 5


@pytest.fixture
def unreadable(tmp_path: Path) -> Path:
    """Write `plain` with a version checksum that links to a device, so that it is not read."""
    root = RawLog("plain").write(tmp_path)
    (root / "_delta_log" / "00000000000000000002.crc").symlink_to("/dev/null")
    return root


def test_unreadable_file_makes_a_run_incomplete(unreadable: Path) -> None:
    code, report = validate(unreadable)
    assert (code, report["verdict"], report["findings"]) == (3, "incomplete", [])
    entry = next(each for each in report["checked"]["not_checked"] if each["rule"] == "CRC003")
    assert entry == {
        "rule": "CRC003",
        "reason": "_delta_log/00000000000000000002.crc: is not a regular file",
        "file": "_delta_log/00000000000000000002.crc",
        "accepted": False,
    }


def test_accepted_unchecked_rules_do_not_make_a_run_incomplete(unreadable: Path) -> None:
    code, report = validate(unreadable, "--accept-unchecked", "CRC003")
    assert (code, report["verdict"]) == (3, "incomplete")
    code, report = validate(unreadable, "--accept-unchecked", "CRC")
    assert (code, report["verdict"]) == (0, "conforms")
    ledger = report["checked"]["not_checked"]
    assert {each["rule"][:3] for each in ledger} == {"CRC"}
    assert [each for each in ledger if not each["accepted"]] == []


def test_violations_take_precedence_over_incomplete(unreadable: Path) -> None:
    log = RawLog("plain")
    log.edit(1, "__/b.parquet", "__/b%.parquet")
    log.write(unreadable)
    code, report = validate(unreadable)
    assert (code, report["verdict"]) == (1, "violations")
    assert report["checked"]["not_checked"]


def test_table_with_only_a_divergence_conforms(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.append(2, "")
    report = validate_unchanged(log.write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report), report.counts["divergence"]) == (
        "conforms",
        {"LIN005": 1},
        1,
    )


def test_every_rule_is_listed_once(checkpointed: Path) -> None:
    from deltaspec.rules import RULES

    _, report = validate(checkpointed, "--ignore", "CRC")
    checked = report["checked"]
    listed = [*checked["run"], *checked["not_applicable"], *checked["skipped"]]
    assert sorted(listed) == sorted(RULES)


def test_one_string_names_rules_like_a_list(checkpointed: Path) -> None:
    listed = validate_unchanged(checkpointed, history="all", level="log", select=["LOG", "FIL001"], ignore=["LOG002"])
    named = validate_unchanged(checkpointed, history="all", level="log", select="log, FIL001", ignore="LOG002")
    assert named == listed
    assert named.findings
    assert validate_unchanged(checkpointed, history="all", level="log", ignore="RID").findings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"select": "R"}, None),
        ({"select": "XYZ"}, "unknown rule 'XYZ'"),
        ({"ignore": ""}, "unknown rule"),
        ({"ignore": ["RID", 7]}, "invalid ignore"),
        ({"accept_unchecked": 7}, "invalid accept_unchecked"),
        ({"clock": "now"}, None),
        ({"clock": "2026-11-21T12:00:00Z"}, None),
        ({"clock": "yesterday"}, "neither `now` nor a time"),
        ({"clock": 1.5}, "neither `now` nor a time"),
        ({"clock": True}, "neither `now` nor a time"),
        ({"at": "x"}, "invalid version or time 'x'; expected a version, or a time such as 2026-11-21T12:00:00Z"),
        ({"at": -1}, "invalid version or time -1"),
        ({"samples": 0}, "invalid samples 0; expected an integer from 1"),
        ({"writer_time_zone": "Europe/Paris"}, None),
        ({"writer_time_zone": "-08:00"}, None),
        ({"writer_time_zone": "Mars/Base"}, "unknown time zone 'Mars/Base'"),
        ({"writer_time_zone": "../../etc/passwd"}, "unknown time zone"),
        ({"writer_time_zone": 3}, "unknown time zone 3"),
        ({"allow_outside": "false"}, "invalid allow_outside 'false'"),
        ({"since": 7}, "invalid since: int; give the path of a file"),
        ({"baseline": {}}, "invalid baseline: dict; give the path of a file"),
    ],
)
def test_python_options_are_checked(options: dict[str, Any], message: str | None) -> None:
    if message is None:
        Options.create(**options)
        return
    with pytest.raises(InvalidUsage, match=message):
        Options.create(**options)
