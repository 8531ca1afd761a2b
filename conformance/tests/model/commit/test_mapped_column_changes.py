"""Decisions of `check_commit` about mapped columns that earlier versions had."""

from typing import Any

import pytest
from helpers.scenario import Scenario, field, metadata, protocol, schema

from deltaspec.protocol.actions import MetaData
from deltaspec.protocol.revisions import Revision

MAPPED = protocol(2, 5)


def mapped(*columns: tuple[int, str], highest: str = "9", mode: str = "name") -> MetaData:
    fields = [
        field(f"c{number}", delta__columnMapping__id=number, delta__columnMapping__physicalName=name)
        for number, name in columns
    ]
    settings = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": highest}
    return metadata(settings, schema(*fields))


@pytest.mark.parametrize(
    ("revision", "requirement"),
    [
        (Revision.CURRENT, "column-mapping.new-columns-have-new-paths"),
        (Revision.R3, "column-mapping.new-columns-named-anew"),
    ],
)
def test_dropped_columns_are_remembered(revision: Revision, requirement: str) -> None:
    scenario = Scenario(MAPPED, mapped((1, "col-1"), (2, "col-2")), revision=revision)
    scenario.commit(mapped((1, "col-1")))
    assert scenario.expect_refusal(mapped((1, "col-1"), (3, "col-2"))) == requirement
    assert scenario.expect_refusal(mapped((1, "col-1"), (2, "col-3"))) == "column-mapping.physical-name-stays"
    scenario.commit(mapped((1, "col-1"), (2, "col-2")))


def test_highest_id_of_any_version_counts() -> None:
    scenario = Scenario(MAPPED, mapped((1, "col-1"), highest="7"))
    scenario.commit(mapped((1, "col-1"), highest="8"))
    assert scenario.expect_refusal(mapped((1, "col-1"), highest="7")) == "column-mapping.max-id-never-falls"
    assert scenario.expect_refusal(mapped((4, "col-4"), highest="3")) == "column-mapping.max-column-id"


def test_columns_start_over_after_the_mapping_was_off() -> None:
    plain: dict[str, Any] = {"configuration": {}, "schema": schema(field("c1"))}
    scenario = Scenario(MAPPED, mapped((1, "col-1")))
    scenario.commit(metadata(**plain))
    scenario.commit(mapped((1, "c1"), highest="1"))
