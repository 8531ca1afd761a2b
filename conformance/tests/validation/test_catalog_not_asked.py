"""Tables that a catalog manages, without their catalog: what is published is judged, and the rest is unchecked."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.catalog import list_unchecked
from helpers.catalog_tables import (
    CatalogTable,
    add,
    build_example,
    build_tail,
    info,
    metadata,
    protocol,
    remove,
    uuid,
)
from helpers.cli import run, single_error_line

import deltaspec
from deltaspec.protocol.log.file_names import commit_name, staged_commit_name
from deltaspec.report.report_types import CATALOG, Report
from deltaspec.validation.log.staged_files import list_unpublished
from deltaspec.validation.plan import UNPUBLISHED

NOT_KNOWN = "the latest version, and which commits the catalog ratified, are not known"


def validate(table: CatalogTable, **options: Any) -> Report:
    return deltaspec.validate(str(table.root), **{"level": "files", "history": "all", **options})


def find_reason(report: Report) -> str | None:
    """Return the reason of the ledger about the catalog."""
    reasons = [each.reason for each in report.checked.not_checked if each.rule == CATALOG]
    return reasons[0] if reasons else None


def list_unread_staged(report: Report) -> list[str]:
    """Return the staged commits that only the catalog can judge."""
    groups = [each for each in report.checked.files_not_read if "only the catalog knows" in each.reason]
    return [file.rpartition("/")[2] for each in groups for file in each.files]


@pytest.mark.parametrize("level", ["log", "files"])
@pytest.mark.parametrize("history", ["latest", "all"])
def test_published_tail(tmp_path: Path, level: str, history: str) -> None:
    report = validate(build_tail(tmp_path), level=level, history=history)
    assert (report.verdict, report.exit_code, report.version, report.totals) == ("incomplete", 3, 1, {})
    assert list_unchecked(report) == []
    assert find_reason(report) == (
        "the catalog was not asked: the highest published version is 1, and 2 staged commits of versions 2 to 3 may "
        f"be ratified; {NOT_KNOWN}"
    )
    assert [name[:20] for name in list_unread_staged(report)] == [f"{2:020}", f"{3:020}"]


def test_everything_is_published(tmp_path: Path) -> None:
    report = validate(build_tail(tmp_path, staged=0))
    assert report.verdict == "incomplete"
    assert find_reason(report) == f"the catalog was not asked: the highest published version is 1; {NOT_KNOWN}"
    assert list_unread_staged(report) == []


def test_example_of_the_protocol(tmp_path: Path) -> None:
    report = validate(build_example(tmp_path))
    assert (report.verdict, report.version, report.totals) == ("incomplete", 7, {})
    assert find_reason(report) == (
        "the catalog was not asked: the highest published version is 7, and 4 staged commits of versions 8 to 10 may "
        f"be ratified; {NOT_KNOWN}"
    )
    found = report.inventory
    assert found is not None
    assert (found.live_files, found.staged_files, found.staged_bytes) == (8, 3, 12)
    # the file of the inline commit, and that of the incomplete line
    assert found.unreferenced == ["f9.parquet", "partial.parquet"]


@pytest.mark.parametrize("given", ["catalog", "Catalog", ["catalog"], "FIL001,catalog"])
def test_owner_accepts_that_the_catalog_is_not_asked(tmp_path: Path, given: Any) -> None:
    report = validate(build_tail(tmp_path), accept_unchecked=given)
    assert (report.verdict, report.exit_code) == ("conforms", 0)
    assert [(each.rule, each.accepted) for each in report.checked.not_checked] == [(CATALOG, True)]
    assert find_reason(report) is not None


def test_accepting_rules_does_not_accept_the_catalog(tmp_path: Path) -> None:
    assert validate(build_tail(tmp_path), accept_unchecked="CAT").verdict == "incomplete"
    assert validate(build_tail(tmp_path / "other"), accept_unchecked="feature:catalogManaged").verdict == "incomplete"


def test_command_and_configuration_accept_it(tmp_path: Path) -> None:
    table = build_tail(tmp_path / "table")
    assert run("validate", table.root).exit_code == 3
    assert run("validate", table.root, "--accept-unchecked", "catalog").exit_code == 0
    (tmp_path / "deltaspec.toml").write_text('accept-unchecked = ["catalog"]\n')
    assert run("validate", table.root, "--config", tmp_path / "deltaspec.toml").exit_code == 0


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "junit", "github", "markdown", "html"])
def test_every_format_names_the_catalog(tmp_path: Path, output_format: str) -> None:
    result = run("validate", build_tail(tmp_path).root, "--format", output_format)
    assert result.exit_code == 3
    assert "the catalog was not asked" in " ".join(result.stdout.split())


def test_violations_of_published_commits_are_reported(tmp_path: Path) -> None:
    table = build_tail(tmp_path)
    table.publish(1, [info(1), add("f1.parquet", size=-1)])
    report = validate(table)
    assert report.verdict == "violations"
    assert find_reason(report) is not None


@pytest.mark.parametrize("others", [[], ["00000000000000000000.crc"], ["x.tmp"]])
@pytest.mark.parametrize("level", ["log", "rows"])
def test_nothing_is_published(tmp_path: Path, others: list[str], level: str) -> None:
    table = build_tail(tmp_path, published=0)
    for name in others:
        table.write(name, b"{}")
    report = validate(table, level=level)
    assert (report.verdict, report.exit_code, report.version, report.totals) == ("incomplete", 3, None, {})
    assert find_reason(report) == (
        "the catalog was not asked: nothing is published, and 2 staged commits of versions 0 to 1 may be ratified; "
        f"{NOT_KNOWN}"
    )
    assert {each.reason for each in list_unchecked(report)} == {UNPUBLISHED}
    assert validate(table, level=level, accept_unchecked="catalog").exit_code == 0
    if level == "rows":
        assert report.inventory is not None
        assert (report.inventory.staged_files, report.inventory.unreferenced_files) == (2, 0)


def test_staged_garbage_is_no_violation_if_nothing_is_published(tmp_path: Path) -> None:
    table = build_tail(tmp_path, published=0)
    for path in (table.log / "_staged_commits").iterdir():
        path.write_bytes(b"not json\n")
    assert (validate(table).verdict, validate(table).totals) == ("incomplete", {})


@pytest.mark.parametrize("revision", ["r1", "r2", "r3"])
def test_older_revisions_do_not_know_staged_commits(tmp_path: Path, revision: str) -> None:
    report = validate(build_tail(tmp_path, published=0), revision=revision)
    assert (report.verdict, find_reason(report)) == ("violations", None)


@pytest.mark.parametrize("at", ["0", "2026-09-21T14:13:21Z"])
def test_version_that_the_user_names(tmp_path: Path, at: str) -> None:
    report = validate(build_tail(tmp_path), at=int(at) if at.isdigit() else at)
    assert report.verdict == "incomplete"
    assert "the highest published version is 1, and 2 staged" in str(find_reason(report))


def test_staged_version_is_not_readable(tmp_path: Path) -> None:
    result = run("validate", build_tail(tmp_path).root, "--at", "2")
    assert result.exit_code == 2
    assert single_error_line(result).endswith(
        "versions 0 to 1 are; only the catalog knows whether a staged commit of version 2 is ratified"
    )


def test_versions_before_the_catalog_took_over_are_complete(tmp_path: Path) -> None:
    table = CatalogTable(tmp_path)
    table.publish(0, [info(0), protocol([], ["inCommitTimestamp"]), metadata(), add("f0.parquet")])
    table.publish(1, [info(1), protocol()])
    assert validate(table).verdict == "incomplete"
    assert validate(table, at=0).verdict == "conforms"


def test_catalog_that_no_longer_manages_the_table_is_not_asked(tmp_path: Path) -> None:
    table = CatalogTable(tmp_path)
    table.publish(0)
    table.publish(1, [info(1), protocol([], ["inCommitTimestamp"])])
    table.stage(2)
    report = validate(table)
    assert (report.verdict, find_reason(report)) == ("conforms", None)
    assert report.inventory is not None
    assert report.inventory.staged_files == 0


def test_files_of_losers_are_not_referenced(tmp_path: Path) -> None:
    table = build_tail(tmp_path)
    table.stage(1, 0x99, [info(1, "loser"), add("loser.parquet")])
    found = validate(table).inventory
    assert found is not None
    assert (found.staged_files, found.unreferenced) == (2, ["loser.parquet"])


def test_files_that_staged_actions_name(tmp_path: Path) -> None:
    table = build_tail(tmp_path, staged=0)
    vector = {"storageType": "p", "sizeInBytes": 1, "cardinality": 1, "offset": 1}
    vector["pathOrInlineDv"] = f"file://{tmp_path}/v.bin"
    cdc = {"cdc": {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 4, "dataChange": False}}
    table.stage(2, actions=[info(2), add("with%20space.parquet"), add("f0.parquet", deletionVector=vector), cdc])
    (tmp_path / "with%20space.parquet").rename(tmp_path / "with space.parquet")
    (tmp_path / "v.bin").write_bytes(b"\1")
    found = validate(table).inventory
    assert found is not None
    assert (found.live_files, found.staged_files, found.unreferenced) == (2, 2, [])


def test_file_that_a_staged_commit_removes_may_be_missing(tmp_path: Path) -> None:
    table = build_tail(tmp_path)
    (tmp_path / "f0.parquet").unlink()
    assert validate(table).verdict == "violations"
    table.stage(3, 0x99, [info(3, "vacuumed"), remove("f0.parquet")])
    report = validate(table)
    assert (report.verdict, report.totals) == ("incomplete", {})
    reasons = {each.reason for each in list_unchecked(report) if each.file == "f0.parquet"}
    assert reasons == {"f0.parquet: is missing; a later commit may have removed it"}


def test_show(tmp_path: Path) -> None:
    result = run("show", build_tail(tmp_path).root, "--format", "json")
    shown = json.loads(result.stdout)
    assert (shown["version"], shown["log"]["staged"]) == (1, [2, 3])
    assert shown["catalog"].startswith("the catalog was not asked: the highest published version is 1")
    assert "staged       ··██" in run("show", tmp_path).stdout


def test_show_of_a_table_without_a_catalog(tmp_path: Path) -> None:
    table = CatalogTable(tmp_path)
    table.publish(0, [info(0), protocol([], ["inCommitTimestamp"]), metadata()])
    table.stage(1)
    shown = json.loads(run("show", tmp_path, "--format", "json").stdout)
    assert (shown["catalog"], shown["log"]["staged"]) == (None, [])


@pytest.mark.parametrize("command", [["show"], ["validate", "--estimate"]])
def test_nothing_to_show_if_nothing_is_published(tmp_path: Path, command: list[str]) -> None:
    result = run(*command, build_tail(tmp_path, published=0).root)
    assert (result.exit_code, single_error_line(result)) == (2, f"deltaspec: {tmp_path}: {UNPUBLISHED}")


def test_estimate(tmp_path: Path) -> None:
    result = run("validate", "--estimate", build_tail(tmp_path).root)
    assert result.exit_code == 0
    assert "unknown: commits that only a catalog knows, if one manages the table" in result.stdout


def test_discover(tmp_path: Path) -> None:
    for published in (0, 1):
        build_tail(tmp_path / str(published), published=published)
    assert run("discover", tmp_path).stdout.split() == [f"{tmp_path}/0", f"{tmp_path}/1"]


def test_several_tables(tmp_path: Path) -> None:
    for published in (0, 2):
        build_tail(tmp_path / str(published), published=published)
    other = CatalogTable(tmp_path / "other")
    other.publish(0, [info(0), protocol([], ["inCommitTimestamp"]), metadata(), add("f0.parquet")])
    result = run("validate", f"{tmp_path}/**")
    assert result.exit_code == 3
    assert "3 tables: 1 conforms, 2 incomplete" in result.stdout
    assert run("validate", f"{tmp_path}/**", "--accept-unchecked", "catalog").exit_code == 0


def test_since(tmp_path: Path) -> None:
    table, report = build_tail(tmp_path / "table"), tmp_path / "report.json"
    save = ("--report", f"json:{report}")
    assert run("validate", table.root, *save).exit_code == 3
    assert run("validate", table.root, "--since", report).exit_code == 2  # it is not complete
    assert run("validate", table.root, "--accept-unchecked", "catalog", *save).exit_code == 0
    table.publish(2)
    result = run("validate", table.root, "--since", report, "--format", "json")
    assert result.exit_code == 3
    (entry,) = (each for each in json.loads(result.stdout)["checked"]["not_checked"] if not each["accepted"])
    assert "the highest published version is 2, and 1 staged commit of version 3 may be ratified" in entry["reason"]


@pytest.mark.parametrize(
    ("names", "unpublished"),
    [
        ([commit_name(0)], [2, 3]),
        ([commit_name(0), commit_name(2)], [3]),
        ([commit_name(0), commit_name(3)], [2]),
        ([commit_name(3)], []),
        ([f"{2:020d}.checkpoint.parquet"], [3]),
        ([], [2, 3]),
    ],
)
def test_versions_that_log_cleanup_deleted_were_published(names: list[str], unpublished: list[int]) -> None:
    staged = [staged_commit_name(version, uuid(version)) for version in (2, 3)]
    assert [version for _, version in list_unpublished([*names, *staged])] == unpublished
