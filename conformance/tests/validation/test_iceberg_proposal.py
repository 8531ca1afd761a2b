"""Iceberg compatibility V3 is a proposal: what it requires is checked, and every finding is a divergence."""

from pathlib import Path

import deltaspec
from deltaspec_generators.table_files import get_action, protocol_action, write_table
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.iceberg import build_configuration


def test_findings_of_the_proposal_are_divergences(tmp_path: Path) -> None:
    """The table has deletion vectors, a void column and a file without statistics, but no row tracking."""
    features = ["columnMapping", "deletionVectors"]
    files = log_only.build_table(
        protocol=protocol_action(3, 7, features, [*features, "icebergCompatV3"]),
        configuration={**build_configuration("V3"), "delta.enableDeletionVectors": "true"},
        fields=[build_mapped_field("id", 1), build_mapped_field("nothing", 3, "void")],
    )
    del get_action(files, 2, "add")["stats"]
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert report.totals == {"ICE031": 1, "ICE033": 1, "ICE037": 1}
    assert {finding.severity for finding in report.findings} == {"divergence"}
    assert report.checked.not_checked == []
    assert deltaspec.validate(str(tmp_path), level="log", revision="r3").verdict == "refused"
