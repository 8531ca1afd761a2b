"""Version checksums with counts only, as Delta wrote them before the protocol described the file (S54)."""

from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run

import deltaspec
from deltaspec_generators.table_files import write_table
from planted_tables.bases import log_only

COUNTS: dict[str, Any] = {"tableSizeBytes": 2000, "numFiles": 2, "numMetadata": 1, "numProtocol": 1}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (COUNTS, {"CRC016"}),
        ({**COUNTS, "numTransactions": 0, "histogramOpt": {}}, {"CRC016"}),
        ({**COUNTS, "protocol": None}, {"CRC016"}),
        ({**COUNTS, "numFiles": 3}, {"CRC003", "CRC016"}),
        ({**COUNTS, "tableSizeBytes": 1}, {"CRC002", "CRC016"}),
        ({**COUNTS, "numProtocol": 2}, {"CRC004", "CRC016"}),
        ({**COUNTS, "numFiles": "2"}, {"CRC001"}),
        ({**COUNTS, "numMetadata": None}, {"CRC001"}),
        ({**COUNTS, "protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"CRC001"}),
    ],
)
@pytest.mark.parametrize("history", ["latest", "all"])
def test_counts_are_compared(tmp_path: Path, content: dict[str, Any], expected: set[str], history: str) -> None:
    files = log_only.build_table()
    files.checksums[2] = content
    write_table(files, tmp_path)
    assert deltaspec.validate(str(tmp_path), level="log", history=history).totals.keys() == expected


def test_estimate_ignores_a_checksum_of_the_older_form(tmp_path: Path) -> None:
    files = log_only.build_table()
    files.checksums[2] = COUNTS
    write_table(files, tmp_path)
    result = run("validate", str(tmp_path), "--estimate")
    assert result.exit_code == 0
    assert "version checksum 2" not in result.stdout
