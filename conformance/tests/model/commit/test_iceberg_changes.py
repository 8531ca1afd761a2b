"""Iceberg compatibility: decisions of `check_commit`."""

import json
from typing import Any

import pytest
from helpers.scenario import Scenario, add, field, metadata, protocol, schema
from msgspec.structs import replace

from deltaspec.model.commit.validation import collect_refusals
from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Primitive

LONG, TEXT = Primitive("long"), Primitive("string")
V1, V2 = {"delta.enableIcebergCompatV1": "true"}, {"delta.enableIcebergCompatV2": "TRUE"}


# commits

ARRAY = {"type": "array", "elementType": "long", "containsNull": True}
COUNTED = json.dumps({"numRecords": 1})


def compatible(version: str, *columns: dict[str, Any], **settings: str) -> MetaData:
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "30",
        f"delta.enableIcebergCompat{version}": "true",
        **{f"delta.{key}": value for key, value in settings.items()},
    }
    return metadata(properties, schema(*columns))


def column(name: str, number: int, kind: Any = "long", **more: Any) -> dict[str, Any]:
    return field(
        name, kind, delta__columnMapping__id=number, delta__columnMapping__physicalName=f"col-{number}", **more
    )


def build_protocol(version: str, *features: str) -> Protocol:
    return protocol(3, 7, ["columnMapping", *features], ["columnMapping", f"icebergCompat{version}", *features])


@pytest.mark.parametrize("version", ["V1", "V2"])
@pytest.mark.parametrize("revision", [Revision.R3, Revision.CURRENT])
def test_commits_that_break_compatibility_are_refused(version: str, revision: Revision) -> None:
    chapter = f"iceberg-{version.lower()}"
    scenario = Scenario(build_protocol(version), compatible(version, column("id", 1)), revision=revision)
    unmapped = metadata({f"delta.enableIcebergCompat{version}": "true"}, schema(column("id", 1)))
    assert scenario.expect_refusal(unmapped) == f"{chapter}.mapped"
    assert scenario.expect_refusal(add()) == f"{chapter}.numbers-of-records"
    with_vectors = compatible(version, column("id", 1), enableDeletionVectors="true")
    assert (
        scenario.expect_refusal(build_protocol(version, "deletionVectors"), with_vectors)
        == f"{chapter}.no-deletion-vectors"
    )
    assert scenario.expect_refusal(compatible(version, column("id", 1), column("v", 2, "void"))) == f"{chapter}.types"
    scenario.commit(add(stats=COUNTED))


def test_v1_and_v2_are_not_enabled_together() -> None:
    scenario = Scenario(build_protocol("V1", "icebergCompatV2"), compatible("V1", column("id", 1)))
    assert (
        scenario.expect_refusal(compatible("V1", column("id", 1), enableIcebergCompatV2="true"))
        == "iceberg-v2.not-with-first"
    )
    scenario.commit(compatible("V2", column("id", 1), enableIcebergCompatV1="false"))


def test_protocol_without_mapping_for_readers_is_refused() -> None:
    features = ["columnMapping", "icebergCompatV2"]
    scenario = Scenario(protocol(1, 7, None, []), metadata())
    answers = collect_refusals(scenario.now, 1, [protocol(1, 7, None, features)])
    assert "iceberg-v2.readers" in [each.requirement for each in answers]
    scenario.commit(protocol(2, 7, None, features))


@pytest.mark.parametrize(
    ("revision", "key"),
    [(Revision.R3, "iceberg-v2.nested-ids-key-by-name"), (Revision.CURRENT, "iceberg-v2.nested-ids-key")],
)
def test_schema_with_invalid_nested_ids_is_refused(revision: Revision, key: str) -> None:
    scenario = Scenario(build_protocol("V2"), compatible("V2", column("id", 1)), revision=revision)
    new = {"delta__columnMapping__nested__ids": {"col-2.element": 9}}
    old = {"parquet__field__nested__ids": {"l.element": 9}}
    right, wrong = (old, new) if revision is Revision.R3 else (new, old)
    assert scenario.expect_refusal(compatible("V2", column("id", 1), column("l", 2, ARRAY))) == "iceberg-v2.nested-ids"
    assert scenario.expect_refusal(compatible("V2", column("id", 1), column("l", 2, ARRAY, **wrong))) == key
    scenario.commit(compatible("V2", column("id", 1), column("l", 2, ARRAY, **right)))


def test_partition_columns_of_a_compatible_table_keep_their_names() -> None:
    def by(name: str, *columns: dict[str, Any]) -> MetaData:
        return replace(compatible("V1", *columns), partition_columns=[name])

    scenario = Scenario(build_protocol("V1"), by("part_a", column("id", 1), column("part_a", 2)))
    assert (
        scenario.expect_refusal(by("part_b", column("id", 3), column("part_b", 4)))
        == "iceberg-v1.partitions-keep-names"
    )
    scenario.commit(by("part_a", column("id", 3), column("part_a", 4, "string")))
    scenario.commit(by("renamed", column("id", 3), column("renamed", 4, "string")))
