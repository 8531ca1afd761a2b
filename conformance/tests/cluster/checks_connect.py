"""Validate tables through Spark Connect; run by `nox -s connect`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import tables
from cluster.commands import start, validate, wait_for
from cluster.page import list_page_commands
from cluster.processes import connect_server


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory for the tables and the server."""
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def faulty(directory: Path) -> Path:
    return tables.write_faulty_copy(tables.write_valid_table(directory / "valid"), directory / "faulty")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[str]:
    """A server whose Hadoop has a file system `viewfs://kit/`, which the kit's own storage cannot read."""
    view = {"spark.hadoop.fs.viewfs.mounttable.kit.link./tables": directory.as_uri()}
    with connect_server(directory, sys.executable, view) as found:
        yield found


@pytest.mark.parametrize("level", ["log", "files", "footers", "rows"])
def test_report_equals_that_of_the_embedded_backend(server: str, faulty: Path, level: str) -> None:
    expected = validate(faulty, "--level", level)
    found = validate(faulty, "--level", level, "--backend", f"spark={server}")
    assert expected.code == (0 if level == "log" else 1)
    assert (found.code, found.report) == (expected.code, expected.report), found.errors


def test_commands_of_the_page_run(server: str, faulty: Path) -> None:
    replacements = {"sc://host:15002": server, "s3a://bucket/table": faulty}
    for words in list_page_commands("connect", replacements):
        found = wait_for(start(words))
        assert found.code == (0 if words[0] == "doctor" else 1), (words, found)


def test_relative_path_is_read_by_executors(server: str, directory: Path, faulty: Path) -> None:
    words = ["validate", faulty.name, "--format", "json", "--backend", f"spark={server}"]
    found = wait_for(start(words, directory))
    report = json.loads(found.output)
    assert (report["table"], report["access"]) == (
        faulty.name,
        {"log": "executors", "files": "executors", "reason": None},
    ), found.errors


def test_many_tables_have_the_reports_of_the_embedded_backend(server: str, directory: Path, faulty: Path) -> None:
    found = {}
    for name, backend in (("spark", f"spark={server}"), ("embedded", "embedded")):
        options = ("--report", f"json:{directory / name}/", "--backend", backend, "--jobs", "2", "--format", "json")
        done = wait_for(start(["validate", "faulty", "valid", "gone", *options], directory))
        found[name] = {
            file.name: {**json.loads(file.read_bytes()), "engine": "", "access": None}
            for file in (directory / name).iterdir()
        }
        assert done.code == 2, done.errors
        assert [each["verdict"] for each in json.loads(done.output)["tables"]] == [
            *("violations", "conforms", "unreadable")
        ], name
    assert found["spark"] == found["embedded"]


def test_table_that_only_spark_can_read(server: str, faulty: Path) -> None:
    expected = validate(faulty, "--level", "log")
    found = validate("viewfs://kit/tables/faulty", "--level", "log", "--backend", f"spark={server}")
    assert (found.code, found.report["verdict"]) == (3, "incomplete"), found.errors  # Spark hides _last_checkpoint
    assert found.report["totals"] == expected.report["totals"]
    unchecked = {each["rule"] for each in found.report["checked"]["not_checked"]}
    assert {rule for rule in expected.report["checked"]["run"] if rule.startswith("LCP")} <= unchecked
    assert found.report["version"] == expected.report["version"]


def test_executors_without_deltaspec(directory: Path, faulty: Path) -> None:
    (folder := directory / "bare").mkdir()
    binaries = str(Path(sys.executable).parent)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {binaries}/python -S "$@"\n')
    python.chmod(0o755)
    with connect_server(folder, python, {}) as url:
        found = validate(faulty, "--backend", f"spark={url}")
    assert (found.code, found.output, found.errors.count("\n")) == (2, "", 1), found.errors
