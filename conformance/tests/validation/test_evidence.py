"""Evidence of findings: the columns that the rule reads, and those that its view adds."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from planted_faults.caught_by import CAUGHT_BY

import deltaspec
from deltaspec.report.report_types import Finding
from deltaspec_generators.table_files import TableFiles, write_table
from planted_tables.bases.single_file import build_single_file_table, build_string_array
from planted_tables.faults.all_faults import PLANTED_FAULTS


def find_first(files: TableFiles, path: Path, level: str) -> Finding:
    write_table(files, path / "table")
    return deltaspec.validate(str(path / "table"), level=level).findings[0]


def test_finding_over_rows_names_the_first_row_and_its_value(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "s": build_string_array(b"a", b"b", b"\xff")})
    finding = find_first(build_single_file_table(table, [("id", "long"), ("s", "string")]), tmp_path, "rows")
    assert finding.evidence == {"check": "UTF-8", "violating_rows": 1, "first_row": 2, "found": r"b'\xff'"}


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        ("file_changed_in_checkpoint", {"difference", "field", "recorded"}),
        ("tombstone_changed", {"difference", "field", "recorded", "replayed"}),
        ("vector_file_missing", {"vector_file", "file_exists", "removed_since"}),
        ("domain_of_reserved_name", {"domain"}),
    ],
)
def test_evidence_shows_what_differs(tmp_path_factory: pytest.TempPathFactory, fault: str, names: set[str]) -> None:
    @settings(
        max_examples=3,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(PLANTED_FAULTS[fault].tables())
    def run(files: TableFiles) -> None:
        finding = find_first(files, tmp_path_factory.mktemp("table"), PLANTED_FAULTS[fault].level)
        assert finding.rule == CAUGHT_BY[fault]
        assert {name for name, value in finding.evidence.items() if value is not None} >= names

    run()
