"""Scenario: a clustered table. Source: Clustered Table."""

import json
from typing import Any

import pytest
from helpers.scenario import Scenario, add, domain, field, metadata, protocol, remove, schema

from deltaspec.protocol.actions import Action, Add, DomainMetadata
from deltaspec.protocol.features.clustering import DOMAIN, read_clustering_columns
from deltaspec.protocol.revisions import Revision
from deltaspec.views.table.clustering_columns import find_columns_without_statistics

OLD = protocol(1, 2)
CLUSTERED = protocol(1, 7, None, ["appendOnly", "invariants", "domainMetadata", "clustering"])
EVENTS = metadata(schema=schema(field("id"), field("day", "date"), field("user", "string")))


def clustered_by(*columns: Any, removed: bool = False) -> DomainMetadata:
    """Build the domain as engines write it: each column is the list of its parts."""
    return domain(DOMAIN, {"clusteringColumns": [[each] for each in columns]}, removed)


def file(path: str, *columns: str, by: str | None = None) -> Add:
    """Build a file of ten events with statistics of these columns and this clustering provider."""
    counts = {"numRecords": 10, "nullCount": dict.fromkeys(columns, 0)}
    return add(path, stats=json.dumps(counts), clustering_provider=by)


@pytest.fixture
def events() -> Scenario:
    """Build events that are clustered by day, then by day and user, then not at all."""
    scenario = Scenario(OLD, EVENTS)  # 0: no clustering
    scenario.commit(file("a", "day"), file("b", "day"))  # 1
    scenario.commit(CLUSTERED)  # 2: clustering is supported, without columns yet
    scenario.commit(clustered_by("day"))  # 3
    scenario.commit(file("c", "day"))  # 4: a file may wait
    scenario.commit(*map(remove, "ab"), file("d", "day", by="liquid"))  # 5: two files become one that is clustered
    scenario.commit(remove("c"), remove("d"), file("e", "day", "user", by="liquid"))  # 6: statistics of users as well
    scenario.commit(clustered_by("day", "user"))  # 7
    scenario.commit(file("f", "day", "user"))  # 8
    scenario.commit(clustered_by(removed=True))  # 9: the feature stays, the columns are gone
    scenario.commit(file("g"))  # 10
    return scenario


COLUMNS = {0: "", 1: "", 2: "", 3: "day", 4: "day", 5: "day", 6: "day", 7: "day user", 8: "day user", 9: "", 10: ""}
PROVIDERS = {
    1: {"a": None, "b": None},
    4: {"a": None, "b": None, "c": None},
    5: {"c": None, "d": "liquid"},
    6: {"e": "liquid"},
    10: {"e": "liquid", "f": None, "g": None},
}


@pytest.mark.parametrize(("version", "columns"), COLUMNS.items())
def test_columns_come_from_the_latest_domain(events: Scenario, version: int, columns: str) -> None:
    found = read_clustering_columns(events[version].domains.get(DOMAIN))
    assert found == tuple((each,) for each in columns.split())


@pytest.mark.parametrize("version", range(11))
def test_live_files_have_statistics_of_every_clustering_column(events: Scenario, version: int) -> None:
    columns = read_clustering_columns(events[version].domains.get(DOMAIN))
    live = {key: find_columns_without_statistics(each.stats, columns) for key, each in events[version].files.items()}
    assert live == {key: [] for key in live}


@pytest.mark.parametrize(("version", "providers"), PROVIDERS.items())
def test_files_name_their_clustering_provider(events: Scenario, version: int, providers: dict[str, str | None]) -> None:
    assert {each.path: each.clustering_provider for each in events[version].files.values()} == providers


BY_DAY = metadata(schema=schema(field("id"), field("day", "date")), partitioned_by=["day"])


@pytest.mark.parametrize(
    ("turn", "actions", "requirement"),
    [
        (0, [clustered_by("day")], "domain.needs-feature"),
        (0, [protocol(1, 7, None, ["appendOnly", "invariants", "clustering"])], "table-features.required-features"),
        (2, [clustered_by("day", "user")], "clustering.statistics-of-new-columns"),
        (3, [file("x")], "clustering.statistics"),
        (3, [clustered_by("hour")], "clustering.columns-by-physical-name"),
        (3, [BY_DAY], "clustering.not-partitioned"),
        (5, [file("x", "day", by="")], "clustering.provider"),
        (9, [clustered_by("id")], "clustering.statistics-of-new-columns"),
    ],
)
def test_illegal_commits_are_refused(events: Scenario, turn: int, actions: list[Action], requirement: str) -> None:
    """`turn` is the version that the commit would follow."""
    scenario = Scenario(*events.commits[0])
    for version in range(1, turn + 1):
        scenario.commit(*events.commits[version])
    found = scenario.expect_refusal(*actions)
    assert found == requirement


MAPPED = protocol(2, 7, None, ["columnMapping", "domainMetadata", "clustering"])
NAMES = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}


def mapped(*names: str) -> Action:
    """Build columns with these names; their physical names are `col-1`, `col-2`."""
    described = [
        field(name, "long", delta__columnMapping__id=number, delta__columnMapping__physicalName=f"col-{number}")
        for number, name in enumerate(names, 1)
    ]
    return metadata(NAMES, schema(*described))


def test_mapped_columns_use_physical_names_after_a_rename() -> None:
    scenario = Scenario(MAPPED, mapped("id", "day"), clustered_by("col-2"))
    scenario.commit(file("a", "col-2"))
    assert scenario.expect_refusal(file("b", "day")) == "clustering.statistics"
    scenario.commit(mapped("id", "date"))
    scenario.commit(file("b", "col-2"))
    assert scenario.expect_refusal(clustered_by("date")) == "clustering.columns-by-physical-name"


def test_logical_names_were_only_discouraged_in_r3() -> None:
    """[Changed in current] The SHOULD became a MUST."""
    scenario = Scenario(MAPPED, mapped("id", "day"), revision=Revision.R3)
    scenario.commit(clustered_by("day"))
    assert scenario.expect_refusal(clustered_by("hour")) == "clustering.columns-by-physical-name"
    assert (
        Scenario(MAPPED, mapped("id", "day")).expect_refusal(clustered_by("day"))
        == "clustering.columns-by-physical-name"
    )
