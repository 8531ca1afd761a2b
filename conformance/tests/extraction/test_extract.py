"""`deltaspec extract`: the smallest table with a finding, from tables that Delta Spark wrote."""

import hashlib
import json
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from helpers.cli import run, single_error_line
from helpers.faulty_s3 import environment, run_faulty_s3
from spark.recorded import ARCHIVE

import deltaspec
from deltaspec.extraction import draft
from deltaspec.golden.case_format import CaseDocument

TABLES = ("partitioned", "checkpoint_classic", "deletion_vectors", "check_constraints")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recorded")
    with tarfile.open(ARCHIVE) as archive:
        members = (each for each in archive if each.name.removeprefix("./").partition("/")[0] in TABLES)
        archive.extractall(directory, members, filter="data")
    return directory


def edit_adds(table: Path, version: int, edit: Callable[[dict[str, Any]], object]) -> None:
    path = table / "_delta_log" / f"{version:020d}.json"
    actions = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for action in actions:
        if "add" in action:
            edit(action["add"])
    path.write_text("".join(json.dumps(action) + "\n" for action in actions), "utf-8")


def damage_partition_values(table: Path) -> None:
    edit_adds(table, 1, lambda add: add["partitionValues"].popitem())


def damage_statistics(table: Path) -> None:
    def lower_maximum(add: dict[str, Any]) -> None:
        stats = json.loads(add["stats"])
        stats["maxValues"]["id"] -= 100
        add["stats"] = json.dumps(stats)

    edit_adds(table, 1, lower_maximum)


def damage_checkpoint(table: Path) -> None:
    path = max((table / "_delta_log").glob("*.checkpoint.parquet"))
    rows = pq.read_table(path)
    first = next(index for index, add in enumerate(rows["add"].to_pylist()) if add is not None)
    pq.write_table(rows.filter([index != first for index in range(rows.num_rows)]), path)


def damage_vectors(table: Path) -> None:
    for path in table.rglob("deletion_vector*.bin"):
        data = bytearray(path.read_bytes())
        data[-2] ^= 0xFF
        path.write_bytes(data)


def damage_constraint(table: Path) -> None:
    for path in (table / "_delta_log").iterdir():
        is_later = path.name.startswith(".") or path.name[:20] >= f"{4:020d}" or path.suffix == ".crc"
        if path.is_file() and is_later:
            path.unlink()
    path = table / "_delta_log" / f"{2:020d}.json"
    path.write_text(path.read_text("utf-8").replace("id > 0 AND", "id > 5 AND"), "utf-8")


def hash_files(table: Path) -> dict[str, str]:
    return {
        str(path.relative_to(table)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in table.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow("conformance/deltaspec/extraction")
@pytest.mark.parametrize(
    ("name", "damage", "rule", "originals"),
    [
        ("partitioned", damage_partition_values, "FIL007", ["part-0", "Apache"]),
        ("checkpoint_classic", damage_checkpoint, "CKP030", ["part-0", "Apache"]),
        ("deletion_vectors", damage_vectors, "DVX013", ["part-0", "Apache"]),
        ("partitioned", damage_statistics, "STA002", ["part-0", "Apache"]),
        ("check_constraints", damage_constraint, "ROW040", ["part-0", "positive", "Positive"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_extracted_table_shows_the_finding_without_original_strings(
    recorded: Path, tmp_path: Path, name: str, damage: Callable[[Path], None], rule: str, originals: list[str]
) -> None:
    table, output = tmp_path / "table", tmp_path / "case"
    shutil.copytree(recorded / name, table)
    damage(table)
    before = hash_files(table)
    result = run("extract", table, rule, "--output", output, "--redact", "--validations", 25)
    assert result.exit_code == 0, result.stderr
    assert hash_files(table) == before
    level = "rows" if rule in ("STA002", "ROW040") else "files" if rule == "DVX013" else "log"
    report = deltaspec.validate(str(output / "delta"), level=level)
    assert {finding.rule for finding in report.findings} == {rule}
    assert sum(path.stat().st_size for path in (output / "delta").rglob("*")) < sum(
        path.stat().st_size for path in table.rglob("*")
    )
    for path in output.rglob("*"):
        assert [each for each in originals if each in str(path.relative_to(output))] == []
        content = b"" if path.is_dir() else path.read_bytes()
        assert [each for each in originals if each.encode() in content] == [], path


def write_table(tmp_path: Path) -> Path:
    """Write a table without the values of its partition column in commit 3, with many commits."""
    schema = {
        "type": "struct",
        "fields": [
            {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("customer", "country")
        ],
    }
    metadata = {
        "id": "11111111-2222-4333-8444-555555555555",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": ["country"],
        "configuration": {"owner": "finance"},
    }
    commits: list[list[dict[str, Any]]] = [
        [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    ]
    for version in range(1, 6):
        values = {} if version == 3 else {"country": "Norway"}
        path = f"country=Norway/{version}.parquet"
        add = {"path": path, "partitionValues": values, "size": 9, "modificationTime": 1, "dataChange": True}
        commits.append([{"commitInfo": {"userName": "someone"}}, {"add": add}])
    table = tmp_path / "table"
    (table / "_delta_log").mkdir(parents=True)
    for version, actions in enumerate(commits):
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (table / "_delta_log" / f"{version:020d}.json").write_text(lines, "utf-8")
    return table


def test_smallest_table_has_one_commit_with_three_actions(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    result = run("extract", table, "FIL007", "--output", tmp_path / "case")
    assert "1 log file and 0 data files" in result.stdout
    assert "nothing more can be dropped" in result.stderr
    lines = (tmp_path / "case/delta/_delta_log/00000000000000000000.json").read_text("utf-8").splitlines()
    actions = {name: body for line in lines for name, body in json.loads(line).items()}
    assert list(actions) == ["protocol", "metaData", "add"]
    assert actions["add"]["path"] == "country=Norway/3.parquet"
    assert actions["metaData"]["configuration"] == {}
    assert "customer" not in actions["metaData"]["schemaString"]


def test_case_has_the_format_of_golden_tables(tmp_path: Path) -> None:
    run("extract", write_table(tmp_path), "FIL007", "--output", tmp_path / "case")
    case = msgspec.json.decode((tmp_path / "case" / "case.json").read_bytes(), type=CaseDocument)
    assert (case.id, case.expect.kind) == ("extracted.partition-column-missing", "violation")
    assert case.expect.requirement == "add.partition-values"
    assert json.loads((tmp_path / "case" / "test_case_info.json").read_bytes())["name"] == case.id


def test_finding_is_named_by_fingerprint(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    (finding,) = deltaspec.validate(str(table), level="log").findings
    result = run("extract", table, finding.fingerprint[:8], "--output", tmp_path / "a", "--level", "log")
    assert result.stdout.startswith("FIL007 partition-column-missing: ")
    assert run("extract", table, "partition-column-missing", "--output", tmp_path / "b").exit_code == 0


def test_limit_of_validations_is_reported(tmp_path: Path) -> None:
    result = run("extract", write_table(tmp_path), "FIL007", "--output", tmp_path / "case", "--validations", 3)
    assert result.exit_code == 0
    assert "stopped early" in result.stderr


def test_directory_without_permission_is_reported_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_table(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode == os.W_OK and path == tmp_path))
    result = run("extract", table, "FIL001", "--output", tmp_path / "new" / "case")
    assert result.exit_code == 2
    assert single_error_line(result) == f"deltaspec: {tmp_path}/new/case: cannot be written: Permission denied"


@pytest.mark.parametrize(
    ("finding", "place", "message"),
    [
        ("FIL007", "table/case", "is in a table, where deltaspec does not write"),
        ("FIL007", "used", "exists; name a new or empty directory"),
        ("FIL001", "case", "no finding 'FIL001' at level log"),
        ("abcdef", "case", "no finding 'abcdef' at level rows; found: "),
    ],
)
def test_wrong_usage_is_one_line_and_writes_nothing(tmp_path: Path, finding: str, place: str, message: str) -> None:
    table = write_table(tmp_path)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    result = run("extract", table, finding, "--output", tmp_path / place)
    assert result.exit_code == 2
    assert message in single_error_line(result)
    assert sorted(tmp_path.rglob("*")) == before


def test_missing_table_is_wrong_usage(tmp_path: Path) -> None:
    result = run("extract", tmp_path / "gone", "FIL007", "--output", tmp_path / "case")
    assert (result.exit_code, "no such file or directory" in single_error_line(result)) == (2, True)


@pytest.mark.slow("conformance/deltaspec/extraction")
def test_options_come_from_the_configuration_and_the_command_line_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_table(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deltaspec.toml").write_text(
        'level = "log"\nignore = ["FIL"]\n[tables."*/table"]\nhistory = "all"', "utf-8"
    )
    result = run("extract", table, "FIL007", "--output", "a")
    assert result.stdout.endswith("Next  deltaspec validate a/delta --level log --history all\n")
    result = run("extract", table, "FIL007", "--output", "b", "--history", "latest")
    assert result.stdout.endswith("--history latest\n")
    (finding,) = deltaspec.validate(str(table), level="log", history="all").findings
    assert run("extract", table, finding.fingerprint, "--output", "c").exit_code == 0
    error = single_error_line(run("extract", table, "abcdef", "--output", "d"))
    assert "no finding 'abcdef' at level log; found: FIL007" in error
    (tmp_path / "deltaspec.toml").write_text('hystory = "all"\n', "utf-8")
    assert "history" in single_error_line(run("extract", table, "FIL007", "--output", "d"))


@pytest.mark.slow("conformance/deltaspec/extraction")
def test_settings_of_storage_clients_come_from_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with run_faulty_s3() as s3:
        table = s3.upload(write_table(tmp_path), "sales")
        settings = environment(s3)
        for name in [each for each in os.environ if each.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            monkeypatch.setenv(f"LAKE_{name}", settings[name])
            settings[name] = f"${{env:LAKE_{name}}}"
        lines = [f'{name} = "{value}"' for name, value in settings.items()]
        (tmp_path / "lake.toml").write_text("\n".join(["[storage-options]", *lines]), "utf-8")
        result = run("extract", table, "FIL007", "--output", "case", "--config", "lake.toml")
    assert (result.exit_code, result.stdout[:7]) == (0, "FIL007 ")


def test_limits_are_named_with_their_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_table(tmp_path)
    monkeypatch.setattr(draft, "MAX_LOG_BYTES", 1024)
    error = single_error_line(run("extract", table, "FIL007", "--output", tmp_path / "case"))
    assert re.search(r"the log has 1\.\d KiB; extract reads at most 1\.0 KiB", error)
