"""Tables that delta-rs writes conform, except for known deviations."""

from pathlib import Path

import pytest
from delta_rs.corpus import TABLES
from helpers.known_deviations import check_against_known_deviations

pytest.importorskip("deltalake", reason="the Python package deltalake (extra [deltalake]) is not installed")


@pytest.mark.slow("conformance/deltaspec/rules")
@pytest.mark.parametrize("name", TABLES)
def test_table_written_by_delta_rs_conforms(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    TABLES[name](path)
    check_against_known_deviations(f"delta_rs/{name}", path)
