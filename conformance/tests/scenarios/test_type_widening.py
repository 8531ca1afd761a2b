"""Scenario: a table whose columns are widened. Source: Type Widening (current)."""

from typing import Any

import pytest
from helpers.scenario import Scenario, add, field, metadata, protocol, remove, schema

from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Action
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Decimal, Primitive
from deltaspec.protocol.schema.schema_string import TypeChange, parse_schema
from deltaspec.views.table.type_locations import find_gap, list_type_locations

PLAIN = protocol(3, 7, ["timestampNtz"], ["timestampNtz"])
WIDENING = protocol(3, 7, ["timestampNtz", "typeWidening"], ["timestampNtz", "typeWidening"])
ENABLED = {"delta.enableTypeWidening": "true"}
INTEGER, LONG = Primitive("integer"), Primitive("long")


def column(name: str, kind: Any, *changes: tuple[str, ...]) -> dict[str, Any]:
    """Build a column and its record: types before and after, and the field path if any."""
    names = ("fromType", "toType", "fieldPath")
    record = [dict(zip(names, change, strict=False)) for change in changes]
    return field(name, kind, **({"delta__typeChanges": record} if record else {}))


def prices(element: str) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def build_metadata(*columns: dict[str, Any], configuration: dict[str, str] = ENABLED) -> Action:
    return metadata(configuration, schema(*columns))


AMOUNT = column("amount", "integer")
WIDER_AMOUNT = column("amount", "long", ("integer", "long"))
PRICES = column("prices", prices("decimal(6,2)"))
WIDER_PRICES = column("prices", prices("decimal(10,4)"), ("decimal(6,2)", "decimal(10,4)", "element"))


def record(snapshot: Snapshot, name: str) -> tuple[TypeChange, ...]:
    """Return the recorded type changes of a column in a snapshot."""
    assert snapshot.metadata is not None
    found = list_type_locations(parse_schema(snapshot.metadata.schema_string))
    assert [(place, find_gap(place)) for place in found if find_gap(place) is not None] == []
    return tuple(change for place in found if place.column == (name,) for change in place.changes)


@pytest.fixture
def orders() -> Scenario:
    """Build orders with amounts and prices that need wider types."""
    scenario = Scenario(PLAIN, metadata({}, schema(AMOUNT, PRICES)), add("a"))  # 0
    scenario.commit(WIDENING)  # 1: supported, and not enabled
    scenario.commit(metadata(ENABLED, schema(AMOUNT, PRICES)))  # 2
    scenario.commit(build_metadata(WIDER_AMOUNT, PRICES))  # 3: integer became long
    scenario.commit(add("b"))  # 4: a file with longs next to one with integers
    scenario.commit(build_metadata(WIDER_AMOUNT, WIDER_PRICES))  # 5: and elements of an array a wider decimal
    return scenario


def test_recorded_changes_of_each_version(orders: Scenario) -> None:
    amount = TypeChange(INTEGER, LONG)
    element = TypeChange(Decimal(6, 2), Decimal(10, 4), ("element",))
    assert [record(orders[version], "amount") for version in range(6)] == [(), (), (), *[(amount,)] * 3]
    assert [record(orders[version], "prices") for version in range(6)] == [*[()] * 5, (element,)]


def test_type_changes_require_enablement() -> None:
    scenario = Scenario(PLAIN, metadata({}, schema(AMOUNT)), add("a"))
    assert scenario.expect_refusal(metadata({}, schema(WIDER_AMOUNT))) == "type-widening.feature"
    scenario.commit(WIDENING)
    assert scenario.expect_refusal(metadata({}, schema(WIDER_AMOUNT))) == "type-widening.only-when-enabled"
    scenario.commit(build_metadata(WIDER_AMOUNT))  # enabling and widening may come at once


def test_only_listed_and_recorded_changes_are_accepted(orders: Scenario) -> None:
    again = ("integer", "long")
    assert (
        orders.expect_refusal(build_metadata(AMOUNT, column("prices", prices("double"))))
        == "type-widening.supported-changes"
    )
    assert (
        orders.expect_refusal(build_metadata(column("amount", "string"), WIDER_PRICES))
        == "type-widening.supported-changes"
    )
    assert (
        orders.expect_refusal(build_metadata(column("amount", "decimal(20,0)", again), WIDER_PRICES))
        == "type-widening.recorded"
    )
    orders.commit(build_metadata(column("amount", "decimal(20,0)", again, ("long", "decimal(20,0)")), WIDER_PRICES))
    assert record(orders.now, "amount") == (TypeChange(INTEGER, LONG), TypeChange(LONG, Decimal(20, 0)))


def test_record_has_a_valid_field_path(orders: Scenario) -> None:
    nowhere = column("prices", prices("decimal(10,4)"), ("decimal(6,2)", "decimal(10,4)"))
    assert orders.expect_refusal(build_metadata(WIDER_AMOUNT, nowhere)) == "type-widening.changes-name-place"
    single = field("amount", "long", delta__typeChanges={"fromType": "integer", "toType": "long"})
    assert orders.expect_refusal(build_metadata(single, WIDER_PRICES)) == "type-widening.changes-are-list"
    half = field("amount", "long", delta__typeChanges=[{"toType": "long"}])
    assert orders.expect_refusal(build_metadata(half, WIDER_PRICES)) == "type-widening.changes-name-types"


def test_restored_version_has_its_old_types(orders: Scenario) -> None:
    orders.commit(build_metadata(AMOUNT, PRICES), remove("b"))  # 6: as of version 2
    assert record(orders.now, "amount") == record(orders.now, "prices") == ()
    assert sorted(path for path, _ in orders.now.files) == ["a"]
    orders.commit(build_metadata(column("amount", "short"), PRICES), remove("a"), add("c"))  # 7: the table is rewritten


def test_feature_is_dropped_after_its_traces(orders: Scenario) -> None:
    assert orders.expect_refusal(PLAIN) == "type-widening.gone-with-feature"
    orders.commit(remove("a", data_change=False), add("c", data_change=False))  # 6: rewritten with the types of now
    orders.commit(
        build_metadata(column("amount", "long"), column("prices", prices("decimal(10,4)")), configuration={})
    )  # 7
    orders.commit(PLAIN)  # 8
    assert record(orders.now, "amount") == ()
    assert orders.now.protocol == PLAIN


def test_iceberg_supports_fewer_changes() -> None:
    readers = ["timestampNtz", "typeWidening", "columnMapping"]
    compatible = protocol(3, 7, readers, [*readers, "icebergCompatV2"])
    scenario = Scenario(compatible, metadata(ENABLED, schema(AMOUNT, column("day", "date"))), add("a"))
    scenario.commit(build_metadata(WIDER_AMOUNT, column("day", "date")))
    later = column("day", "timestamp_ntz", ("date", "timestamp_ntz"))
    assert scenario.expect_refusal(build_metadata(WIDER_AMOUNT, later)) == "type-widening.changes-for-iceberg"


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_do_not_define_it(revision: Revision) -> None:
    scenario = Scenario(protocol(1, 2), metadata({}, schema(AMOUNT)), add("a"), revision=revision)
    scenario.commit(metadata({}, schema(WIDER_AMOUNT)))
    scenario.commit(metadata({}, schema(column("amount", "string"))))
