"""Tables that use proposals: sound ones have no finding, although some proposals are not checked completely."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.protocol.features.table_features import FEATURES
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action, write_table
from planted_tables.bases import proposed_types as bases
from planted_tables.bases.log_only import build_table
from planted_tables.bases.proposals import build_materialized_table

SOUND: dict[str, Callable[[], TableFiles]] = {
    "partition of nanoseconds": lambda: bases.build_partitioned_table(bases.NANOS, "1970-01-01T00:00:00.123456789Z"),
    "partition without zone": lambda: bases.build_partitioned_table(bases.LOCAL_NANOS, "1970-01-01T00:00:00.123456789"),
    "bounding box": lambda: bases.build_typed_table(
        bases.GEOMETRY, {"minValues": {"x": "POINT(-122.419 37.774)"}, "maxValues": {"x": "POINT Z (1 2 3)"}}
    ),
    "geography": lambda: bases.build_typed_table(bases.GEOGRAPHY),
    "collations": lambda: bases.build_collated_table(
        {"ICU.de_DE.72.1": {"minValues": {"x": "a"}, "maxValues": {"x": "b"}}, "spark.UTF8_LCASE.75.1": {}}
    ),
    "versions": lambda: bases.build_versioned_table('{"writeVersions":{"ICU.de_DE":["72","73"]}}'),
    "adaptive metadata": bases.build_adaptive_table,
}


UNCHECKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "decFloat": ("decfloat(34)", ()),
    "float16": ("float16", ()),
    "unsignedIntegerTypes": ("uint64", ()),
    "timestampPrecision": ("timestamp(9)", ()),
    "parquetEncryption": ("long", ()),
    "clusteringExpressions": ("long", ("domainMetadata",)),
    "recordLevelIndex": ("long", ("domainMetadata",)),
    "tableBranching": ("long", ("domainMetadata",)),
    "multiTableTransaction": ("long", ()),
}
"""Feature of a proposal that is not checked, a type of its tables, and further features."""


@pytest.mark.parametrize("feature", UNCHECKED)
def test_listed_proposal_is_reported_as_unchecked(feature: str, tmp_path: Path) -> None:
    kind, others = UNCHECKED[feature]
    reader = [feature] if FEATURES[feature].kind == "reader-writer" else []
    files = build_table(
        protocol=protocol_action(3, 7, reader, [feature, *others]), fields=[("id", "long"), ("x", kind)]
    )
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert report.verdict == "incomplete"
    assert set(report.totals) <= {"FEA008"}
    assert [each.rule for each in report.checked.not_checked if not each.is_rule] == [f"feature:{feature}"]


@pytest.mark.parametrize("name", SOUND)
def test_sound_table_is_only_incomplete(name: str, tmp_path: Path) -> None:
    write_table(SOUND[name](), tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert (report.verdict, report.totals) == ("incomplete", {})


@pytest.mark.parametrize(
    ("kind", "stored", "expected"),
    [
        (bases.MONTHS, pa.int32(), {}),
        (bases.SECONDS, pa.int64(), {}),
        (bases.NANOS, pa.timestamp("ns", "UTC"), {}),
        (bases.LOCAL_NANOS, pa.timestamp("ns"), {}),
        (bases.GEOMETRY, pa.binary(), {}),
        (bases.VECTOR, pa.string(), {"PRP001": 1}),
        (bases.MONTHS, pa.int64(), {"PRP030": 1}),
    ],
)
def test_stored_types_of_proposals(kind: object, stored: pa.DataType, expected: dict[str, int], tmp_path: Path) -> None:
    write_table(bases.build_stored_table(kind, pa.nulls(10, stored)), tmp_path)
    report = deltaspec.validate(str(tmp_path), level="rows", history="all")
    assert report.totals == expected


def test_interval_types_before_the_proposal_stay_undefined(tmp_path: Path) -> None:
    write_table(build_table(fields=[("id", "long"), ("x", bases.MONTHS)]), tmp_path)
    assert deltaspec.validate(str(tmp_path), level="log", revision="r3").totals == {"MET003": 1}
    assert deltaspec.validate(str(tmp_path), level="log").totals == {"PRP001": 1}


def test_property_decides_only_without_a_feature_that_does(tmp_path: Path) -> None:
    files = build_materialized_table()
    get_action(files, 0, "metaData")["configuration"] = {"delta.writePartitionColumnsToParquet": "false"}
    write_table(files, tmp_path)
    assert deltaspec.validate(str(tmp_path), level="footers", history="all").totals == {}
