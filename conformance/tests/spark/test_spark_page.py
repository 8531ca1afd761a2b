"""The commands of SPARK.md that a session in this process can run, and its Python code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cluster.page import PAGE, find_kind, list_page_commands
from helpers.cli import run
from helpers.documented_commands import list_commands
from helpers.selection import ROOT

SOUND = ROOT / "golden-tables/log/log.append-remove/delta"


def test_every_command_has_a_kind() -> None:
    """A kind is run by a test, or by `nox -s cluster` or `nox -s connect`."""
    kinds = {find_kind(words) for words in list_commands(PAGE)}
    assert kinds == {"cluster", "connect", "local-cluster", "local", "session"}


@pytest.mark.spark
class TestOnSpark:
    @pytest.fixture(scope="class")
    @classmethod
    def places(cls, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | Path]:
        """Texts for the placeholders of the page, with a schema that has one table."""
        spark.sql("CREATE SCHEMA page")
        spark.sql("CREATE TABLE page.sales (id INT) USING delta")
        return {
            "catalog.schema": "spark_catalog.page",
            "catalog.*": "spark_catalog.page.*",
            "s3a://bucket/results": tmp_path_factory.mktemp("page") / "results",
            "s3a://bucket/table": SOUND,
            "/data/sales": SOUND,
        }

    @pytest.mark.parametrize("kind", ["local", "session"])
    def test_commands_run(self, places: dict[str, str | Path], kind: str) -> None:
        for words in list_page_commands(kind, places):
            result = run(*words)
            assert result.exit_code == 0, (words, result.stdout, result.stderr)

    def test_code_runs(self, spark: Any, places: dict[str, str | Path], capsys: pytest.CaptureFixture[str]) -> None:
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
        assert blocks
        for block in blocks:
            for old, new in places.items():
                block = block.replace(old, str(new))
            exec(compile(block, str(PAGE), "exec"), {"spark": spark})
            assert "conform" in capsys.readouterr().out.lower(), block
