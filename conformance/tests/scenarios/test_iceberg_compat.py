"""Scenario: a table with Iceberg compatibility. Source: Iceberg Compatibility V1, Iceberg Compatibility V2."""

import json
from itertools import pairwise
from typing import Any

import pytest
from helpers.scenario import Scenario, add, field, metadata, protocol, remove, schema

from deltaspec.model.commit.validation import collect_refusals
from deltaspec.protocol.actions import Action, Add, MetaData, Protocol
from deltaspec.protocol.features.iceberg_compat import get_enabled_compatibilities
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.revisions import Revision

BOTH = [Revision.R3, Revision.CURRENT]
NESTED_IDS = {Revision.R3: "parquet__field__nested__ids", Revision.CURRENT: "delta__columnMapping__nested__ids"}
"""[Changed in current] Key of nested ids; before, names of parts began with the logical name."""


def build_protocol(*features: str) -> Protocol:
    """Build a protocol with column mapping and more features, listed for readers where required."""
    readers = [each for each in ("columnMapping", "deletionVectors", "typeWidening") if each in features]
    return protocol(3, 7, readers, features)


def column(name: str, number: int, kind: Any = "long", **more: Any) -> dict[str, Any]:
    described = {"delta__columnMapping__id": number, "delta__columnMapping__physicalName": f"col-{number}"}
    return field(name, kind, **described, **more)


def tags(revision: Revision, **parts: int) -> dict[str, Any]:
    """Build an array of strings as column 3 with these ids for its parts."""
    root = "tags" if revision is Revision.R3 else "col-3"
    ids = {NESTED_IDS[revision]: {f"{root}.{part}": number for part, number in parts.items()}} if parts else {}
    return column("tags", 3, {"type": "array", "elementType": "string", "containsNull": True}, **ids)


def build_metadata(columns: list[dict[str, Any]], *partitioned_by: str, **settings: str) -> MetaData:
    """Build metadata with mapped columns; other properties are named without `delta.`."""
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "20"}
    properties = {**mapping, **{f"delta.{name}": value for name, value in settings.items()}}
    return metadata(properties, schema(*columns), partitioned_by)


def file(path: str, day: str, rows: int | None = None, partition: str = "col-2") -> Add:
    stats = None if rows is None else json.dumps({"numRecords": rows})
    return add(path, stats=stats, partition_values={partition: day})


ID, DAY = column("id", 1), column("day", 2, "date")
FIRST, SECOND, BESIDE = {"enableIcebergCompatV1": "true"}, {"enableIcebergCompatV2": "true"}, "enableDeletionVectors"


def visits(revision: Revision) -> Scenario:
    """Build visits by day: first without Iceberg compatibility, then V1, then V2, then without it again."""
    nested = tags(revision, element=10)
    scenario = Scenario(build_protocol("columnMapping"), build_metadata([ID, DAY], "day"), revision=revision)  # 0
    scenario.commit(file("a", "2024-01-01", rows=2))  # 1: V1 requires the record counts of all files
    scenario.commit(build_protocol("columnMapping", "icebergCompatV1"))  # 2: supported, and not enabled
    scenario.commit(build_metadata([ID, DAY], "day", **FIRST))  # 3: the file that is there stays as it is
    scenario.commit(file("b", "2024-01-02", rows=3))  # 4
    scenario.commit(  # 5: V2 takes the place of V1
        build_protocol("columnMapping", "icebergCompatV1", "icebergCompatV2"),
        build_metadata([ID, DAY], "day", **SECOND),
    )
    scenario.commit(build_metadata([ID, DAY, nested], "day", **SECOND))  # 6: an array, with an id for its element
    scenario.commit(file("c", "2024-01-03", rows=5))  # 7
    scenario.commit(
        build_metadata([ID, column("date", 2, "date"), nested], "date", **SECOND)
    )  # 8: a rename is no other partitioning
    scenario.commit(  # 9: vectors may be supported, while they are not made
        build_protocol("columnMapping", "icebergCompatV1", "icebergCompatV2", "deletionVectors")
    )
    scenario.commit(
        build_metadata([ID, column("date", 2, "date"), nested], "date", **{BESIDE: "true"})
    )  # 10: V2 is off, vectors are on
    scenario.commit(remove("a"), file("d", "2024-01-04"))  # 11
    return scenario


COMPATIBLE = {0: "", 1: "", 2: "", 3: "V1", 4: "V1", 5: "V2", 6: "V2", 7: "V2", 8: "V2", 9: "V2", 10: "", 11: ""}


@pytest.mark.parametrize("revision", BOTH)
def test_compatibility_of_each_version(revision: Revision) -> None:
    scenario, found = visits(revision), {}
    for version in COMPATIBLE:
        snapshot = scenario[version]
        assert snapshot.protocol is not None, f"{version=}"
        assert snapshot.metadata is not None, f"{version=}"
        features = get_supported_features(snapshot.protocol)
        found[version] = " ".join(get_enabled_compatibilities(features, snapshot.metadata.configuration, revision))
    assert found == COMPATIBLE


@pytest.mark.parametrize("revision", BOTH)
def test_first_compatibility_requires_record_counts_of_live_files(revision: Revision) -> None:
    scenario = Scenario(
        build_protocol("columnMapping", "icebergCompatV1", "icebergCompatV2"),
        build_metadata([ID, DAY], "day"),
        file("a", "2024-01-01"),
        revision=revision,
    )
    assert scenario.expect_refusal(build_metadata([ID, DAY], "day", **FIRST)) == "iceberg-v1.numbers-of-records"
    scenario.commit(build_metadata([ID, DAY], "day", **SECOND))  # which requires them of new files only


def build_visits_until(version: int, revision: Revision) -> Scenario:
    """Build the scenario up to a version."""
    whole = visits(revision)
    scenario = Scenario(*whole.commits[0], revision=revision)
    for number in range(1, version + 1):
        scenario.commit(*whole.commits[number])
    return scenario


VOID = column("nothing", 4, "void")
NEW_DAY = column("month", 9, "date")

REFUSED: list[tuple[int, list[Action], str]] = [
    (1, [protocol(1, 7, None, ["columnMapping", "icebergCompatV1"])], "iceberg-v1.readers"),
    (2, [metadata({"delta.enableIcebergCompatV1": "true"}, schema(ID, DAY), ["day"])], "iceberg-v1.mapped"),
    (3, [file("x", "2024-01-02")], "iceberg-v1.numbers-of-records"),
    (3, [build_metadata([ID, DAY, tags(Revision.CURRENT)], "day", **FIRST)], "iceberg-v1.types"),
    (3, [build_metadata([ID, DAY, VOID], "day", **FIRST)], "iceberg-v1.types"),
    (4, [build_protocol("columnMapping", "icebergCompatV1", "deletionVectors")], "iceberg-v1.no-deletion-vectors"),
    (5, [build_metadata([ID, DAY], "day", **FIRST, **SECOND)], "iceberg-v2.not-with-first"),
    (5, [build_metadata([ID, DAY, tags(Revision.CURRENT)], "day", **SECOND)], "iceberg-v2.nested-ids"),
    (5, [build_metadata([ID, DAY, VOID], "day", **SECOND)], "iceberg-v2.types"),
    (7, [file("x", "2024-01-02")], "iceberg-v2.numbers-of-records"),
    (9, [build_metadata([ID, DAY], "day", **SECOND, **{BESIDE: "true"})], "iceberg-v2.no-deletion-vectors"),
]


@pytest.mark.parametrize("revision", BOTH)
@pytest.mark.parametrize(("turn", "actions", "requirement"), REFUSED)
def test_illegal_commits_are_refused(revision: Revision, turn: int, actions: list[Action], requirement: str) -> None:
    """`turn` is the version that the commit would follow."""
    scenario = build_visits_until(turn, revision)
    answers = collect_refusals(scenario.now, turn + 1, actions, revision)
    assert requirement in [each.requirement for each in answers]


@pytest.mark.parametrize("revision", BOTH)
@pytest.mark.parametrize(
    ("ids", "requirement"),
    [
        ({}, "iceberg-v2.nested-ids"),
        ({"element": 1}, "iceberg-v2.nested-ids"),
        ({"element": 2**31}, "iceberg-v2.nested-ids"),
        ({"list.element": 10}, "iceberg-v2.nested-ids-path"),
    ],
)
def test_illegal_element_ids_are_refused(revision: Revision, ids: dict[str, int], requirement: str) -> None:
    assert (
        build_visits_until(5, revision).expect_refusal(
            build_metadata([ID, DAY, tags(revision, **ids)], "day", **SECOND)
        )
        == requirement
    )


def test_each_revision_has_its_own_key() -> None:
    new, old = tags(Revision.CURRENT, element=10), tags(Revision.R3, element=10)
    scenario = build_visits_until(5, Revision.CURRENT)
    assert scenario.expect_refusal(build_metadata([ID, DAY, old], "day", **SECOND)) == "iceberg-v2.nested-ids-key"
    scenario = build_visits_until(5, Revision.R3)
    assert (
        scenario.expect_refusal(build_metadata([ID, DAY, new], "day", **SECOND)) == "iceberg-v2.nested-ids-key-by-name"
    )


@pytest.mark.parametrize("revision", BOTH)
def test_replaced_table_keeps_the_names_of_its_partition_columns(revision: Revision) -> None:
    """The type of the column may change, and its physical name changes."""
    files = list(map(remove, "abc"))
    columns = [column("id", 8), NEW_DAY]
    assert (
        build_visits_until(8, revision).expect_refusal(*files, build_metadata(columns, "month", **SECOND))
        == "iceberg-v2.partitions-keep-names"
    )
    columns = [column("id", 8), column("date", 9, "string")]
    build_visits_until(8, revision).commit(
        *files, build_metadata(columns, "date", **SECOND), file("x", "May", rows=1, partition="col-9")
    )


def test_types_are_widened_as_iceberg_supports_it() -> None:
    """[Changed in current] Before, types did not change."""
    features = ("columnMapping", "icebergCompatV1", "icebergCompatV2", "typeWidening")
    settings = {**SECOND, "enableTypeWidening": "true"}

    def widened(name: str, *steps: str, **properties: str) -> MetaData:
        changes = [{"fromType": old, "toType": new} for old, new in pairwise(steps)]
        record = {"delta__typeChanges": changes} if changes else {}
        return build_metadata([ID, DAY, column(name, 11, steps[-1], **record)], "day", **properties)

    scenario = build_visits_until(5, Revision.CURRENT)
    scenario.commit(build_protocol(*features), widened("amount", "short", **settings))
    scenario.commit(widened("amount", "short", "integer", **settings))
    scenario.commit(widened("amount", "short", "integer", "long", **settings))
    scenario.commit(widened("renamed", "short", "integer", "long", **settings))


def test_earlier_type_changes_must_be_supported_by_iceberg() -> None:
    """[Changed in current] Before, types did not change."""
    price = column("price", 4, "double", delta__typeChanges=[{"fromType": "integer", "toType": "double"}])
    widening = {"enableTypeWidening": "true"}
    scenario = Scenario(
        build_protocol("columnMapping", "typeWidening"), build_metadata([ID, DAY, price], "day", **widening)
    )
    scenario.commit(build_protocol("columnMapping", "typeWidening", "icebergCompatV2"))
    assert (
        scenario.expect_refusal(build_metadata([ID, DAY, price], "day", **widening, **SECOND))
        == "iceberg-v2.type-changes"
    )
    scenario.commit(build_metadata([ID, DAY], "day", **widening, **SECOND))
