"""`deltaspec baseline`, and `deltaspec validate` with baselines and accepted findings, from the command line."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from helpers.cli import run, single_error_line
from helpers.raw_logs import compute_fingerprint
from jsonschema import Draft202012Validator

from deltaspec.report.report_schema import build_report_schema
from deltaspec.validation.baseline import build_table_key
from deltaspec_generators.table_files import TableFiles, add_action, metadata_action, protocol_action, write_table

GOLDEN = Path(__file__).parents[3] / "golden-tables" / "partition-values" / "partition-values.key-missing" / "delta"
WITHOUT_COUNT = """
{"baseline_version": 1, "findings": [{"table": "a", "rule": "FIL001", "subject": "", "fingerprint": "x"}]}
"""
OPTIONS = ("--level", "log", "--select", "FIL")


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the tables `lake/a` and `lake/b`."""
    monkeypatch.chdir(tmp_path)
    write_faulty_table("lake/a", ["x", "y"])
    write_faulty_table("lake/b", ["z"])
    return tmp_path


def write_faulty_table(table: str, *commits: list[str]) -> None:
    """Write a table whose files have paths with a tab: a finding of FIL001 for each."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    for version, names in enumerate(commits, 1):
        files.commits[version] = [add_action(f"{each}\t.parquet") for each in names]
    write_table(files, Path(table))


def validate(table: str, *arguments: str) -> Result:
    return run("validate", table, *OPTIONS, *arguments)


def read_report(*arguments: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(validate(*arguments, "--format", "json").stdout)
    Draft202012Validator(build_report_schema()).validate(report)
    return report


def update(*arguments: str) -> list[str]:
    result = run("baseline", "update", *arguments, *OPTIONS)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.splitlines()


def prune(*arguments: str) -> list[str]:
    result = run("baseline", "prune", *arguments, *OPTIONS)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.splitlines()


def read_lines(file: str = "b.json") -> list[dict[str, Any]]:
    """Return the findings of a baseline; assert that each has a line."""
    text = Path(file).read_text()
    found: list[dict[str, Any]] = json.loads(text)["findings"]
    assert [json.loads(line.rstrip(",")) for line in text.splitlines() if line.startswith("    ")] == found
    return found


def test_known_findings_do_not_fail_a_run_and_new_ones_do() -> None:
    assert validate("lake/a").exit_code == 1
    assert update("b.json", "lake/a") == ["lake/a: 2 findings, before 0"]
    known = validate("lake/a", "--baseline", "b.json")
    assert known.exit_code == 0
    assert known.stdout.splitlines()[-2:] == ["2 findings accepted (baseline b.json)", "CONFORMS  2 accepted · exit 0"]
    write_faulty_table("lake/a", ["x", "y"], ["new"])
    new = validate("lake/a", "--baseline", "b.json")
    assert new.exit_code == 1
    assert "new\\x09.parquet" in new.stdout
    assert "at _delta_log/00000000000000000001.json" not in new.stdout
    assert new.stdout.splitlines()[-1] == "VIOLATIONS  1 violation, 2 accepted · exit 1"
    assert validate("lake/a", "--baseline", "b.json", "--exit-zero").exit_code == 0


def test_file_has_a_line_for_each_finding_in_a_stable_order() -> None:
    update("b.json", "lake/b", "lake/a")
    before = Path("b.json").read_bytes()
    assert [(each["table"], each["rule"], each["subject"], each["count"]) for each in read_lines()] == [
        ("lake/a", "FIL001", "x\t.parquet", 1),
        ("lake/a", "FIL001", "y\t.parquet", 1),
        ("lake/b", "FIL001", "z\t.parquet", 1),
    ]
    update("b.json", "lake/*")
    assert Path("b.json").read_bytes() == before


def test_update_changes_only_the_tables_it_names_and_the_rules_it_decides() -> None:
    update("b.json", "lake/a", "lake/b")
    before = {each["subject"]: each for each in read_lines()}
    write_faulty_table("lake/a", ["x"], ["new"])
    write_faulty_table("lake/b", [])
    assert update("b.json", "lake/a") == ["lake/a: 2 findings, before 2"]
    after = {each["subject"]: each for each in read_lines()}
    assert after.keys() == {"x\t.parquet", "new\t.parquet", "z\t.parquet"}
    assert after["z\t.parquet"] == before["z\t.parquet"]
    result = run("baseline", "update", "b.json", "lake/a", "--select", "FIL007")
    assert (result.exit_code, {each["subject"] for each in read_lines()}) == (0, after.keys())


def test_prune_removes_what_is_gone_and_adds_nothing() -> None:
    write_faulty_table("lake/a", ["x"], ["x"], ["y"])
    update("b.json", "lake/a")
    write_faulty_table("lake/a", ["x"], ["new"], ["new"])
    gone = validate("lake/a", "--baseline", "b.json")
    assert "2 findings of the baseline b.json are gone; run `deltaspec baseline prune`" in gone.stdout
    assert prune("b.json", "lake/a") == ["lake/a: 1 finding, before 3"]
    assert [(each["subject"], each["count"]) for each in read_lines()] == [("x\t.parquet", 1)]
    assert "gone" not in validate("lake/a", "--baseline", "b.json").stdout


def test_rewritten_commits_keep_the_baseline_valid() -> None:
    update("b.json", "lake/a")
    write_faulty_table("lake/a", [], ["y"], [], ["x"])
    assert validate("lake/a", "--baseline", "b.json").exit_code == 0


def test_directory_with_tables_and_baseline_may_be_moved(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update("b.json", "lake/a")
    shutil.copytree(lake, lake.parent / f"{lake.name}-moved")
    monkeypatch.chdir(lake.parent / f"{lake.name}-moved" / "lake")
    assert validate("a", "--baseline", "../b.json").exit_code == 0
    assert validate(os.path.abspath("a"), "--baseline", "../b.json").exit_code == 0
    other = validate("b", "--baseline", "../b.json")
    assert other.exit_code == 1
    assert "no finding accepted (baseline ../b.json has none of this table)" in other.stdout


@pytest.mark.parametrize(
    ("root", "key"),
    [
        ("s3a://lake/orders/", "s3://lake/orders"),
        ("s3://lake//orders", "s3://lake/orders"),
        ("abfss://c@account/x", "abfs://c@account/x"),
        ("/lake/x/../orders/", "../lake/orders"),
    ],
)
def test_spellings_of_a_location_name_one_table(root: str, key: str) -> None:
    assert build_table_key(root, "/ci/b.json") == key


def test_golden_table_with_a_fault(lake: Path) -> None:
    result = run("baseline", "update", "b.json", GOLDEN)
    assert (result.exit_code, [each["rule"] for each in read_lines()]) == (0, ["FIL007"])
    assert run("validate", GOLDEN, "--baseline", "b.json").exit_code == 0
    assert run("validate", GOLDEN).exit_code == 1


def test_configuration_names_a_baseline_next_to_it(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update("b.json", "lake/*")
    Path("deltaspec.toml").write_text('baseline = "b.json"\nlevel = "log"\nselect = ["FIL"]')
    monkeypatch.chdir(lake / "lake")
    assert run("validate", "a").exit_code == 0
    result = run("validate", "a", "b")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "2 tables: 2 conform · exit 0")
    assert run("baseline", "update", "../b.json", "a").stdout == "lake/a: 2 findings, before 2\n"


def test_entries_accept_findings_with_a_reason_until_a_day() -> None:
    Path("deltaspec.toml").write_text(
        """
        [[accept]]
        rule = "FIL001"
        path = "x*"
        reason = "legacy loader"
        link = "https://x/LAKE-912"
        until = 2999-01-31

        [[accept]]
        rule = "FIL"
        reason = "too long ago"
        until = 2024-01-31

        [[tables."lake/b".accept]]
        rule = "FIL001"
        reason = "never repaired"
        """
    )
    first = validate("lake/a")
    assert first.exit_code == 1
    assert first.stdout.splitlines()[-3:] == [
        "1 finding accepted (legacy loader https://x/LAKE-912): FIL001 in x*, until 2999-01-31",
        "outdated: accept FIL (too long ago) expired after 2024-01-31",
        "VIOLATIONS  1 violation, 1 accepted · exit 1",
    ]
    second = validate("lake/b")
    assert second.exit_code == 0
    assert second.stdout.splitlines()[-4:] == [
        "1 finding accepted (never repaired): FIL001",
        "outdated: accept FIL001 in x* (legacy loader) is unused",
        "outdated: accept FIL (too long ago) expired after 2024-01-31",
        "CONFORMS  1 accepted · exit 0",
    ]
    assert validate("lake/b", "--clock", "2023-12-31T00:00:00Z").stdout.count("expired") == 0


def test_summary_of_tables_names_entries_that_no_table_uses() -> None:
    update("b.json", "lake/a")
    write_faulty_table("lake/a", ["y"])
    Path("deltaspec.toml").write_text(
        """
        accept = [
            { rule = "FIL001", path = "z*", reason = "only b" },
            { rule = "FIL001", path = "q*", reason = "nobody" },
            { rule = "FIL001", reason = "old", until = 2024-01-31 },
        ]
        """
    )
    result = run("validate", "lake/a", "lake/b", *OPTIONS, "--baseline", "b.json")
    assert (result.exit_code, result.stdout.splitlines()[3:]) == (
        0,
        [
            "2 findings of 2 tables accepted",
            "outdated: accept FIL001 in q* (nobody) is unused",
            "outdated: accept FIL001 (old) expired after 2024-01-31",
            "outdated: 1 finding of the baseline b.json is gone; run `deltaspec baseline prune`",
            "2 tables: 2 conform · exit 0",
        ],
    )
    failed = run("validate", "lake/b", "lake/none", *OPTIONS)
    assert "unused" not in failed.stdout


def test_reports_have_what_was_accepted() -> None:
    update("b.json", "lake/a")
    write_faulty_table("lake/a", ["x", "y", "w"], ["new"])
    Path("deltaspec.toml").write_text('[[accept]]\nrule = "FIL001"\npath = "w*"\nreason = "legacy loader"')
    report = read_report("lake/a", "--baseline", "b.json")
    assert report["baseline"] == {"file": "b.json", "known": 2, "new": 1, "gone": 0, "has_table": True}
    assert (report["accepted_totals"], report["totals"]) == ({"FIL001": 3}, {"FIL001": 1})
    (entry,) = report["accept"]
    assert (entry["status"], entry["count"], entry["reason"]) == ("used", 1, "legacy loader")
    sarif = json.loads(validate("lake/a", "--baseline", "b.json", "--format", "sarif").stdout)
    assert {
        each["properties"]["path"][0]: (
            each.get("baselineState"),
            [(one["status"], one["justification"]) for one in each.get("suppressions", [])],
        )
        for each in sarif["runs"][0]["results"]
    } == {
        "n": ("new", []),
        "w": (None, [("accepted", "legacy loader")]),
        "x": ("unchanged", [("accepted", "accepted by the baseline")]),
        "y": ("unchanged", [("accepted", "accepted by the baseline")]),
    }
    for name in ("junit", "github", "markdown"):
        shown = validate("lake/a", "--baseline", "b.json", "--format", name).stdout
        assert "1 finding accepted (legacy loader): FIL001 in w*" in shown, f"{name=}"
        assert "2 findings accepted (baseline b.json)" in shown, f"{name=}"


def test_show_counts_findings_by_table_and_rule() -> None:
    update("b.json", "lake/*")
    assert run("baseline", "show", "b.json").stdout.splitlines() == [
        "lake/a",
        "  FIL001 malformed-path: 2 findings, 2 different",
        "lake/b",
        "  FIL001 malformed-path: 1 finding, 1 different",
        "3 findings of 2 tables",
    ]


def test_lines_that_a_merge_doubled_count_once() -> None:
    update("b.json", "lake/a")
    text = Path("b.json").read_text()
    line = next(each for each in text.splitlines() if each.startswith("    "))
    Path("b.json").write_text(text.replace(line, f"{line}\n{line}"))
    assert validate("lake/a", "--baseline", "b.json").exit_code == 0
    update("b.json", "lake/a")
    assert Path("b.json").read_text() == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "b.json: not found; `deltaspec baseline update b.json TABLE` creates a baseline"),
        ("", "b.json: not a baseline"),
        ("[]", "b.json: not a baseline"),
        ("{" * 100_000, "b.json: not a baseline"),
        ('{"baseline_version": 1}', "b.json: not a baseline: Object missing required field `findings`"),
        ('{"baseline_version": 7, "findings": []}', "b.json: has version 7, this release reads 1"),
        (WITHOUT_COUNT, "b.json: not a baseline: Object missing required field `count` - at `$.findings[0]`"),
        (WITHOUT_COUNT.replace("}]", ', "count": 0}]'), "b.json: not a baseline: Expected `int` >= 1"),
    ],
)
def test_file_that_is_not_a_baseline_is_one_line_and_exit_2(content: str | None, message: str) -> None:
    if content is not None:
        Path("b.json").write_text(content)
    for result in (validate("lake/a", "--baseline", "b.json"), run("baseline", "show", "b.json")):
        assert result.exit_code == 2
        assert message in single_error_line(result)


def test_nothing_is_written_into_a_table_or_without_a_result() -> None:
    before = compute_fingerprint(Path("lake/a"))
    for file, table, message in (
        ("lake/a/b.json", "lake/a", "is in a table"),
        ("b.json", "lake/none", "no such file or directory"),
        ("missing/b.json", "lake/a", "cannot be written: No such file or directory"),
        ("b.json", "lake/none*", "no table matches"),
    ):
        result = run("baseline", "update", file, "lake/a", table, *OPTIONS)
        assert result.exit_code == 2, f"{file=}, {table=}"
        assert message in single_error_line(result)
        assert not Path(file).exists()
    assert compute_fingerprint(Path("lake/a")) == before
    assert sorted(each.name for each in Path.cwd().iterdir()) == ["lake"]


def test_too_many_different_findings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("baseline", "acceptance"):
        monkeypatch.setattr(f"deltaspec.validation.{module}.MAX_FINDINGS", 3)
    write_faulty_table("lake/a", [f"f{number}" for number in range(9)], ["g"])
    result = run("baseline", "update", "b.json", "lake/a", *OPTIONS)
    assert result.exit_code == 2
    assert "more than 3 different findings; accept the rules that find most of them with [[accept]]" in (
        single_error_line(result)
    )


def test_verbose_prints_all_samples_accepted_findings_and_times() -> None:
    update("b.json", "lake/b")
    write_faulty_table("lake/a", [f"f{number}" for number in range(9)])
    plain, verbose = validate("lake/a"), validate("lake/a", "-v")
    assert ("f8" in plain.stdout, "f8" in verbose.stdout) == (False, True)
    assert "Id    add.path-encoding" in verbose.stdout
    assert "commits" in verbose.stderr
    assert "ACCEPTED FIL001" in validate("lake/b", "-v", "--baseline", "b.json").stdout
    assert "cannot be combined" in single_error_line(validate("lake/a", "-v", "-q"))


def test_version_has_a_short_form() -> None:
    assert run("-V").stdout == run("--version").stdout != ""
