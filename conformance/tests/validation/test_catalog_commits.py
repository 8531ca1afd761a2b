"""`--catalog-commits`: tables that a catalog manages, with the answer of their catalog."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.backends import embedded_backend, list_backend
from helpers.catalog_tables import (
    Action,
    CatalogTable,
    add,
    build_example,
    build_tail,
    commit,
    encode,
    info,
    metadata,
    protocol,
    remove,
    uuid,
)
from helpers.cli import run, single_error_line
from jsonschema import Draft202012Validator
from msgspec.structs import replace

import deltaspec
from deltaspec.commands.table_names import build_table_name
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.report.report_types import CATALOG, Report
from deltaspec.validation.catalog_commits import build_catalog_schema, render_catalog_schema
from deltaspec.validation.options import Options
from deltaspec_generators.checkpoint_writer import CheckpointFiles, encode_checkpoint

ROOT = Path(__file__).parents[3]


def staged(version: int, number: int | None = None) -> Action:
    """Return a commit of the answer with the name of a staged file."""
    return {"version": version, "staged": f"{version:020d}.{uuid(version if number is None else number)}.json"}


def inline(version: int, actions: list[Action] | None = None) -> Action:
    """Return a commit of the answer with its content."""
    return {"version": version, "content": encode(commit(version) if actions is None else actions).decode()}


def write_answer(directory: Path, latest: Any, *commits: Action) -> Path:
    """Write the answer of a catalog next to the table."""
    file = directory.parent / f"{directory.name}.catalog.json"
    file.write_text(json.dumps({"latest_version": latest, "commits": list(commits)}))
    return file


def validate(table: CatalogTable, latest: int, *commits: Action, **options: Any) -> Report:
    answer = write_answer(table.root, latest, *commits)
    given = {"level": "files", "history": "all", "catalog_commits": str(answer), **options}
    return deltaspec.validate(str(table.root), **given)


def list_reasons(report: Report) -> list[str]:
    """Return what the ledger says about the catalog."""
    return [each.reason for each in report.checked.not_checked if each.rule == CATALOG]


@pytest.fixture
def tail(tmp_path: Path) -> CatalogTable:
    """Return a table with the published versions 0 and 1, and staged commits of versions 1 to 3."""
    return build_tail(tmp_path / "table")


@pytest.mark.parametrize("history", ["latest", "1", "all"])
@pytest.mark.parametrize("level", ["log", "files"])
def test_published_tail_conforms_with_its_catalog(tail: CatalogTable, history: str, level: str) -> None:
    report = validate(tail, 3, staged(1), staged(2), staged(3), history=history, level=level)
    assert (report.verdict, report.version, report.totals, report.checked.not_checked) == ("conforms", 3, {}, [])
    if level == "files":
        assert report.inventory is not None
        assert (report.inventory.live_files, report.inventory.unreferenced_files) == (4, 0)


def test_nothing_is_published(tmp_path: Path) -> None:
    table = build_tail(tmp_path / "table", published=0)
    report = validate(table, 1, staged(0), staged(1))
    assert (report.verdict, report.version) == ("conforms", 1)


def test_everything_is_published(tmp_path: Path) -> None:
    report = validate(build_tail(tmp_path / "table", staged=0), 1)
    assert (report.verdict, report.version) == ("conforms", 1)


def test_example_of_the_protocol(tmp_path: Path) -> None:
    table = build_example(tmp_path / "table")
    report = validate(table, 9, staged(7), staged(8), inline(9))
    assert (report.verdict, report.version, report.totals) == ("conforms", 9, {})
    (leftovers,) = (each for each in report.checked.files_not_read if each.reason.startswith("leftovers"))
    assert (leftovers.count, [int(file.split("/")[2][:20]) for file in leftovers.files]) == (3, [8, 10, 10])
    assert report.inventory is not None
    assert report.inventory.unreferenced == ["late.parquet", "partial.parquet", "rejected.parquet"]


def test_commits_of_the_catalog_are_judged_as_published_ones(tail: CatalogTable) -> None:
    sizes = validate(tail, 2, inline(2, [info(2), add("f2.parquet", size=-1)]))
    assert sizes.verdict == "violations"
    assert {each.file for each in sizes.findings if each.severity == "violation"} == {"inline commit 2 of the catalog"}
    tail.stage(2, actions=[info(2), add("f2.parquet", size=-1)])
    (finding, *_) = validate(tail, 2, staged(2)).findings
    assert finding.file == f"_delta_log/_staged_commits/{staged(2)['staged']}"


@pytest.mark.parametrize(
    ("first", "rule"),
    [
        (info(2, "t-1"), "COM016"),  # the transaction of version 1
        (info(2, inCommitTimestamp=1), "COM007"),
        ({"commitInfo": {"timestamp": 1, "operation": "WRITE", "inCommitTimestamp": 1_790_000_002_000}}, "COM011"),
    ],
)
def test_transactions_and_timestamps_of_the_tail(tail: CatalogTable, first: Action, rule: str) -> None:
    report = validate(tail, 2, inline(2, [first, add("f2.parquet")]))
    assert (report.verdict, set(report.totals)) == ("violations", {rule})
    assert {each.file for each in report.findings} == {"inline commit 2 of the catalog"}


def test_catalog_decides_between_staged_commits(tail: CatalogTable) -> None:
    tail.stage(2, 0x99, [info(2), add("other.parquet")])
    report = validate(tail, 2, staged(2, 0x99))
    assert (report.verdict, report.version) == ("conforms", 2)
    assert report.inventory is not None
    assert report.inventory.unreferenced == ["f2.parquet", "f3.parquet"]


def test_leftovers_are_not_judged(tail: CatalogTable) -> None:
    (tail.log / "_staged_commits" / staged(3)["staged"]).write_bytes(b"not json\n")
    assert validate(tail, 2, staged(2)).verdict == "conforms"
    assert validate(tail, 3, staged(2), staged(3)).verdict == "violations"


def test_truncated_ratified_commit_is_a_violation(tail: CatalogTable) -> None:
    path = tail.log / "_staged_commits" / staged(2)["staged"]
    path.write_bytes(path.read_bytes()[:-20])
    assert "CAT001" in validate(tail, 2, staged(2)).totals


@pytest.mark.parametrize("kind", ["staged", "inline"])
def test_published_copy_has_other_actions(tail: CatalogTable, kind: str) -> None:
    other = [info(1, "another"), add("f1.parquet", size=5)]
    tail.publish(1, other)
    report = validate(tail, 1, staged(1) if kind == "staged" else inline(1))
    (finding,) = (each for each in report.findings if each.rule == "CAT003")
    name = f"_staged_commits/{staged(1)['staged']}" if kind == "staged" else commit_name(1)
    assert (finding.version, finding.file) == (1, f"_delta_log/{name}")
    assert report.inventory is not None
    assert report.inventory.live_files == 2


def test_published_copy_may_be_serialized_differently(tail: CatalogTable) -> None:
    first, second = commit(1)
    reordered = {"add": {**dict(reversed(second["add"].items())), "tags": None}}
    assert validate(tail, 1, inline(1, [first, reordered])).verdict == "conforms"


def test_uuid_of_two_ratified_versions(tail: CatalogTable) -> None:
    for version in (2, 3):
        tail.stage(version, 0x77)
    assert validate(tail, 3, staged(2, 0x77), staged(3, 0x77)).totals == {"CAT002": 2}


def test_commits_published_out_of_order(tail: CatalogTable) -> None:
    tail.publish(3)
    report = validate(tail, 3, staged(2), staged(3))
    (finding,) = report.findings
    assert (finding.rule, finding.version) == ("CAT005", 3)
    assert finding.requirement == "catalog-managed.published-copies-ratified"
    assert finding.evidence["unpublished_before"] == "commit 2 is ratified, but not published (3 is)"


def test_commits_published_out_of_order_without_the_catalog(tail: CatalogTable) -> None:
    """A gap before a staged version is the fault of its own rule; a commit that is nowhere is missing."""
    tail.publish(3)
    report = deltaspec.validate(str(tail.root), history="all")
    assert report.totals == {"CAT005": 1}
    assert report.findings[0].evidence["unpublished_before"] == "commit 2 is staged, but not published (3 is)"
    for file in (tail.log / "_staged_commits").iterdir():
        file.unlink()
    assert deltaspec.validate(str(tail.root), history="all").totals == {"LOG001": 1}


def test_compaction_of_ratified_commits_that_are_not_published(tail: CatalogTable) -> None:
    lines = [each for version in (1, 2) for each in commit(version)[1:]]
    tail.write(f"{1:020d}.{2:020d}.compacted.json", encode(lines))
    assert validate(tail, 2, staged(2)).totals == {"CAT004": 1}


def test_checksum_may_precede_publication(tail: CatalogTable) -> None:
    state = {"tableSizeBytes": 12, "numFiles": 3, "numMetadata": 1, "numProtocol": 1, "txnId": "t-2"}
    state |= {"metadata": metadata()["metaData"], "protocol": protocol()["protocol"]}
    state |= {"inCommitTimestampOpt": 1_790_000_002_000}
    tail.write(f"{2:020d}.crc", json.dumps(state).encode())
    report = validate(tail, 2, staged(2))
    assert (report.verdict, report.totals) == ("conforms", {})
    tail.write(f"{2:020d}.crc", json.dumps({**state, "numFiles": 9}).encode())
    assert validate(tail, 2, staged(2)).verdict == "violations"


def test_catalog_behind_the_published_log(tail: CatalogTable) -> None:
    report = validate(tail, 0)
    assert (report.verdict, report.version) == ("incomplete", 0)
    assert list_reasons(report) == [
        "the latest version of the catalog is 0, but version 1 is published; later versions were not read"
    ]


@pytest.fixture
def behind(tmp_path: Path) -> CatalogTable:
    """Return a table with the published versions 0 to 3; version 3 removes the file of version 0."""
    table = build_tail(tmp_path / "table", published=3, staged=0)
    table.publish(3, [info(3), remove("f0.parquet"), add("f3.parquet")])
    return table


def test_hint_names_a_published_checkpoint_that_is_later_than_the_catalog_knows(behind: CatalogTable) -> None:
    rows = [each for version in range(4) for each in commit(version)[1:]]
    for name, data in encode_checkpoint(CheckpointFiles(3, rows=rows), {}).items():
        behind.write(name, data)
    behind.write("_last_checkpoint", json.dumps({"version": 3, "size": len(rows)}).encode())
    report = validate(behind, 2)
    assert (report.verdict, report.version, report.totals) == ("incomplete", 2, {})
    (hint,) = report.checked.derived_files_not_compared
    assert (hint.file, hint.reason) == ("_delta_log/_last_checkpoint", "its checkpoint is later than version 2")
    behind.write("_last_checkpoint", json.dumps({"version": 9, "size": len(rows)}).encode())
    assert validate(behind, 2).totals == {"LCP004": 1}


def test_derived_files_that_are_later_than_the_catalog_knows(behind: CatalogTable) -> None:
    behind.write(f"{2:020d}.{3:020d}.compacted.json", b"not json\n")
    behind.write(f"{3:020d}.crc", b"not json")
    behind.write(f"{3:020d}.checkpoint.parquet", b"not parquet")
    report = validate(behind, 2)
    assert (report.verdict, report.version, report.totals) == ("incomplete", 2, {})


def test_published_commit_that_is_later_than_the_catalog_knows_removes_a_file(behind: CatalogTable) -> None:
    (behind.root / "f0.parquet").unlink()
    report = validate(behind, 2)
    assert (report.verdict, report.totals) == ("incomplete", {})
    reasons = {each.reason for each in report.checked.not_checked if each.file == "f0.parquet"}
    assert reasons == {"f0.parquet: is missing; a later commit removed it"}


def test_catalog_without_commits_that_are_not_published(tail: CatalogTable) -> None:
    report = validate(tail, 3)
    assert (report.verdict, report.version) == ("incomplete", 1)
    assert list_reasons(report) == [
        "the latest version of the catalog is 3, but version 2 is neither published nor among its commits"
    ]


def test_gap_between_published_and_ratified_commits(tail: CatalogTable) -> None:
    report = validate(tail, 3, staged(3))
    assert "LOG001" in report.totals


@pytest.mark.parametrize("version", [1, 3])
def test_ratified_file_that_does_not_exist(tail: CatalogTable, version: int) -> None:
    (tail.log / "_staged_commits" / staged(version)["staged"]).unlink()
    report = validate(tail, 3, staged(1), staged(2), staged(3))
    assert report.verdict == "incomplete"
    reason = f"the catalog ratified _staged_commits/{staged(version)['staged']} as version {version}"
    assert list_reasons(report)[0] == f"{reason}, but the file does not exist"


def test_table_that_no_catalog_manages(tmp_path: Path) -> None:
    table = CatalogTable(tmp_path / "table")
    table.publish(0, [info(0), protocol([], ["inCommitTimestamp"]), metadata(), add("f0.parquet")])
    report = validate(table, 1, inline(1, [info(1), remove("f0.parquet")]))
    assert (report.verdict, list_reasons(report)) == ("incomplete", ["no catalog manages the table at version 1"])


@pytest.mark.parametrize("at", [0, 2, "2026-09-21T14:13:22Z"])
def test_version_that_the_user_names(tail: CatalogTable, at: int | str) -> None:
    report = validate(tail, 3, staged(2), staged(3), at=at)
    assert (report.verdict, report.version) == ("conforms", 0 if at == 0 else 2)


def test_file_that_a_ratified_commit_removes_may_be_missing(tail: CatalogTable) -> None:
    (tail.root / "f0.parquet").unlink()
    commits = staged(2), inline(3, [info(3), remove("f0.parquet")])
    assert validate(tail, 3, *commits).verdict == "conforms"
    assert validate(tail, 3, *commits, at=2).verdict == "incomplete"
    assert validate(tail, 2, *commits[:1]).verdict == "violations"


def test_since(tail: CatalogTable, tmp_path: Path) -> None:
    answer, report = write_answer(tail.root, 2, staged(2)), tmp_path / "report.json"
    first = run("validate", tail.root, "--catalog-commits", answer, "--report", f"json:{report}")
    assert first.exit_code == 0
    tail.publish(2)
    write_answer(tail.root, 3, staged(3))
    result = run("validate", tail.root, "--catalog-commits", answer, "--since", report)
    assert result.exit_code == 0
    assert "since version 2: 3 live files not checked again" in result.stdout


def test_state_of_another_answer_is_refused(tail: CatalogTable, tmp_path: Path) -> None:
    answer = write_answer(tail.root, 2, inline(2))
    state = ("--catalog-commits", answer, "--state", tmp_path / "state")
    assert run("validate", tail.root, *state).exit_code == 0
    assert run("validate", tail.root, *state, "--resume").exit_code == 0
    write_answer(tail.root, 2, inline(2, [info(2, "t-9"), add("f2.parquet")]))
    result = run("validate", tail.root, *state, "--resume")
    assert (result.exit_code, "--catalog-commits" in single_error_line(result)) == (2, True)


def test_configuration(tail: CatalogTable, tmp_path: Path) -> None:
    answer = write_answer(tail.root, 3, staged(2), staged(3))
    (tmp_path / "deltaspec.toml").write_text(f'[tables."{tmp_path}/table"]\ncatalog-commits = "{answer}"\n')
    assert run("validate", tail.root, "--config", tmp_path / "deltaspec.toml").exit_code == 0


def test_several_tables(tail: CatalogTable, tmp_path: Path) -> None:
    answer = write_answer(tail.root, 3, staged(2), staged(3))
    build_tail(tmp_path / "other")
    tables = (tail.root, tmp_path / "other")
    assert run("validate", *tables, "--catalog-commits", answer).exit_code == 2
    answer.rename(tmp_path / f"{build_table_name(str(tail.root))}.json")
    result = run("validate", *tables, "--catalog-commits", tmp_path / "{table}.json")
    assert result.exit_code == 3
    assert "2 tables: 1 conforms, 1 incomplete" in result.stdout


def test_estimate_is_refused(tail: CatalogTable) -> None:
    answer = write_answer(tail.root, 3)
    result = run("validate", tail.root, "--catalog-commits", answer, "--estimate")
    assert single_error_line(result) == "deltaspec: --estimate cannot be combined with --catalog-commits"


BAD = {
    "no JSON": ("{", "Input data was truncated"),
    "list": ("[]", "Expected `object`, got `array`"),
    "no latest version": ("{}", "missing required field `latest_version`"),
    "negative": ('{"latest_version": -1}', "Expected `int` >= 0"),
    "text": ('{"latest_version": "3"}', "Expected `int`, got `str`"),
    "beyond 64 bits": ('{"latest_version": 9223372036854775808}', "Expected `int`"),
    "unknown field": ('{"latest_version": 3, "x": 1}', "unknown field `x`"),
    "deep": ('{"latest_version": ' + "[" * 100_000, ""),
    "not UTF-8": ('{"latest_version": 3, "commits": [{"version": 3, "content": "\ud800"}]}', ""),
}


@pytest.mark.parametrize("name", BAD)
def test_file_of_another_form(tail: CatalogTable, tmp_path: Path, name: str) -> None:
    text, message = BAD[name]
    file = tmp_path / "bad.json"
    file.write_bytes(text.encode(errors="surrogatepass"))
    result = run("validate", tail.root, "--catalog-commits", file)
    line = single_error_line(result)
    assert result.exit_code == 2
    assert line.startswith(f"deltaspec: --catalog-commits {file}: ")
    assert message in line
    assert line.endswith("; see `deltaspec schema catalog-commits`")


@pytest.mark.parametrize(
    ("latest", "commits", "message"),
    [
        (3, [staged(2), inline(4)], "version 4 follows version 2; expected 3"),
        (3, [staged(3), staged(2)], "version 2 follows version 3; expected 4"),
        (3, [staged(3), inline(3)], "version 3 follows version 3; expected 4"),
        (2, [staged(2), staged(3)], "version 3 is later than latest_version 2"),
        (2, [{"version": 2}], "version 2 needs either staged or content"),
        (2, [{**staged(2), **inline(2)}], "version 2 needs either staged or content"),
        (2, [{"version": 2, "staged": staged(3)["staged"]}], "version 2 has the staged commit of version 3"),
        *(
            (2, [{"version": 2, "staged": name}], f"version 2 has {name!r}, which is no <version>.<uuid>.json")
            for name in ("2.json", f"../{staged(2)['staged']}", f"/{staged(2)['staged']}", commit_name(2), "")
        ),
    ],
)
def test_contradictory_answer(tail: CatalogTable, latest: int, commits: list[Action], message: str) -> None:
    result = run("validate", tail.root, "--catalog-commits", write_answer(tail.root, latest, *commits))
    assert result.exit_code == 2
    assert message in single_error_line(result)


def test_file_that_cannot_be_read(tail: CatalogTable, tmp_path: Path) -> None:
    result = run("validate", tail.root, "--catalog-commits", tmp_path / "absent.json")
    assert result.exit_code == 2
    assert "absent.json: cannot be read" in single_error_line(result)
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate((256 << 20) + 1)
    result = run("validate", tail.root, "--catalog-commits", tmp_path / "huge.json")
    assert (result.exit_code, "larger than 268,435,456 bytes" in single_error_line(result)) == (2, True)


def test_published_schema() -> None:
    published = (ROOT / "reports" / "catalog-commits.schema.json").read_text("utf-8")
    assert published == render_catalog_schema() == run("schema", "catalog-commits").stdout
    schema = build_catalog_schema()
    Draft202012Validator.check_schema(schema)
    answer = {"latest_version": 3, "commits": [staged(2), inline(3)]}
    assert Draft202012Validator(schema).is_valid(answer)
    assert not Draft202012Validator(schema).is_valid({**answer, "latest": 3})


@pytest.mark.parametrize("executors_can_read", [True, False])
@pytest.mark.parametrize("answer", [None, [staged(7), staged(8), inline(9)], [inline(8, [info(8, "t-1"), {"x": 1}])]])
def test_backends_agree(tmp_path: Path, executors_can_read: bool, answer: list[Action] | None) -> None:
    table = build_example(tmp_path / "table")
    file = None if answer is None else str(write_answer(table.root, answer[-1]["version"], *answer))
    options = Options.create(level="files", history="all", catalog_commits=file)
    spark = list_backend(2, 7, executors_can_read=executors_can_read)(str(table.root), options)
    assert replace(spark, engine="embedded") == embedded_backend()(str(table.root), options)
    assert spark.version == (7 if answer is None else answer[-1]["version"])
