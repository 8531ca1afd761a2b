"""Iceberg compatibility V3 is a proposal: what it would ask of a table is asked of none."""

from pathlib import Path

from deltaspec.validate import validate_table
from deltaspec_generators import bases
from deltaspec_generators.bases import action
from deltaspec_generators.builder import protocol_action, write_table
from deltaspec_generators.iceberg_bases import settings
from deltaspec_generators.mapped_bases import mapped_field


def test_third_compatibility_forbids_nothing(tmp_path: Path) -> None:
    """It stands beside deletion vectors, a void column and a file that nobody counted, without row tracking."""
    features = ["columnMapping", "deletionVectors"]
    files = bases.plain(
        protocol=protocol_action(3, 7, features, [*features, "icebergCompatV3", "icebergWriterCompatV1"]),
        configuration={**settings("V3"), "delta.enableDeletionVectors": "true"},
        fields=[mapped_field("id", 1), mapped_field("nothing", 3, "void")],
    )
    del action(files, 2, "add")["stats"]
    write_table(files, tmp_path)
    report = validate_table(str(tmp_path), level="log", history="all")
    assert (report.verdict, report.totals) == ("conforms", {})
    assert validate_table(str(tmp_path), level="log", revision="r3").verdict == "refused"
