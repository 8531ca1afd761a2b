"""`uc://catalog.schema.table` on Spark: the driver asks the catalog, and executors read what it ratified."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.backends import find_differences, report_to_builtins
from helpers.catalog_client import CatalogClient
from helpers.cli import run

import deltaspec
from deltaspec.catalog_server import Catalog, CatalogServer, serve
from deltaspec.spark import validate, validate_many
from deltaspec.wire.catalog.http import TOKEN_VARIABLE

pytestmark = pytest.mark.spark

SOUND = "uc://main.default.sound"
DAMAGED = "uc://main.default.damaged"
MISSING = "uc://main.default.missing"
PATTERN = "uc://main.default.*"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CatalogServer]:
    """Start a catalog with two tables whose versions 2 and 3 are ratified and not published, and a leftover."""
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    with serve(Catalog((tmp_path / "warehouse").as_uri()), token="secret") as server:
        for name in ("sound", "damaged"):
            client = CatalogClient(server.url, name, "secret")
            table = client.create()
            for version in (1, 2, 3):
                client.append(table, version)
            client.publish(table, 1)
            table.stage(4)
            if name == "damaged":
                table.stage(3, actions=[{"add": {"path": "f3.parquet"}}])
        yield server


@pytest.mark.parametrize(("name", "verdict"), [(SOUND, "conforms"), (DAMAGED, "violations")])
def test_report_equals_the_embedded_one(spark: Any, server: CatalogServer, name: str, verdict: str) -> None:
    options: Any = {"catalog": server.url, "history": "all", "level": "files"}
    report = validate(spark, name, **options).report
    assert (report.engine, report.table, report.version, report.verdict) == ("spark", name, 3, verdict)
    expected = report_to_builtins(deltaspec.validate(name, **options))
    assert find_differences(report_to_builtins(report), expected) == []


def test_several_tables(spark: Any, server: CatalogServer) -> None:
    """Small tables are runs on Spark too, because executors do not have the token."""
    found = validate_many(spark, [PATTERN, MISSING], catalog=server.url, level="files", jobs=2)
    assert {each.table: each.verdict for each in found.tables} == {
        SOUND: "conforms",
        DAMAGED: "violations",
        MISSING: "unreadable",
    }
    options = ("--level", "files", "--backend", "spark", "--jobs", "2", "--format", "json")
    result = run("validate", PATTERN, "--catalog", server.url, *options)
    verdicts = {each["table"]: each["verdict"] for each in json.loads(result.stdout)["tables"]}
    assert (result.exit_code, verdicts) == (1, {SOUND: "conforms", DAMAGED: "violations"})
