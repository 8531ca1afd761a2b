"""Default and stable row ids, and their high-water mark. Vector V20: a file with base row id 4071."""

import msgspec
import pytest

from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, apply_action
from deltaspec.model.rows.row_ids import (
    compute_default_row_ids,
    compute_stable_row_commit_versions,
    compute_stable_row_ids,
    find_repeated_row_ids,
    read_high_water_mark,
)
from deltaspec.protocol.actions import Add, DomainMetadata, Format, MetaData, Protocol
from deltaspec.protocol.features.row_tracking import DOMAIN, assigns_row_ids, find_conflicting_column, is_enabled
from deltaspec.protocol.schema.data_types import Field, Primitive, Struct


def _add(base_row_id: int | None) -> Add:
    return Add(path="a", partition_values={}, size=1, modification_time=1, data_change=True, base_row_id=base_row_id)


def test_row_ids_count_from_the_base_row_id() -> None:
    ids = compute_default_row_ids(_add(4071), 3)
    assert list(ids) == [4071, 4072, 4073]


def test_mark_of_the_printed_example_is_below_its_file() -> None:
    """E19: the protocol's mark of 1432 and base row id of 4071 belong to different tables."""
    snapshot = apply_action(
        EMPTY_SNAPSHOT, DomainMetadata(domain=DOMAIN, configuration='{"rowIdHighWaterMark":1432}', removed=False)
    )
    assert read_high_water_mark(snapshot) == 1432
    assert max(compute_default_row_ids(_add(4071), 3)) == 4073


@pytest.mark.parametrize(
    ("configuration", "mark"),
    [
        ('{"rowIdHighWaterMark":9223372036854775807}', 2**63 - 1),
        ('{"rowIdHighWaterMark":9223372036854775808}', None),
        ('{"highWaterMark":7}', 7),
        ('{"rowIdHighWaterMark":"7"}', None),
        ("x", None),
        ("[]", None),
        ("{}", None),
    ],
)
def test_mark_is_read_from_either_key(configuration: str, mark: int | None) -> None:
    snapshot = apply_action(EMPTY_SNAPSHOT, DomainMetadata(domain=DOMAIN, configuration=configuration, removed=False))
    assert read_high_water_mark(snapshot) == mark


def test_table_without_the_domain_has_no_mark() -> None:
    assert read_high_water_mark(EMPTY_SNAPSHOT) is None


def test_file_without_a_base_row_id_has_no_ids() -> None:
    with pytest.raises(ValueError, match="baseRowId"):
        compute_default_row_ids(_add(None), 1)


def test_row_keeps_its_materialized_id() -> None:
    assert compute_stable_row_ids(_add(10), [3, None, 11]) == [3, 11, 11]


def test_row_keeps_its_materialized_commit_version() -> None:
    add = msgspec.structs.replace(_add(0), default_row_commit_version=7)
    assert compute_stable_row_commit_versions(add, [None, 2]) == [7, 2]


@pytest.mark.parametrize(
    ("first", "second", "repeated"),
    [
        ([None, None], [None, None], set()),
        ([None, None], [5, 6], set()),
        ([None, None], [1, None], {1}),
        ([3, 3], [None, None], {3}),
        ([11, None], [9, None], {11}),  # the default id of the second row of the second file
        ([10, None], [9, None], {10}),  # the fresh id of a row that has another stable one
    ],
)
def test_repeated_stable_ids_are_found(first: list[int | None], second: list[int | None], repeated: set[int]) -> None:
    assert find_repeated_row_ids([(_add(0), first, ()), (_add(10), second, ())]) == repeated


def test_deleted_rows_have_no_ids() -> None:
    assert find_repeated_row_ids([(_add(0), [None, None], {1}), (_add(10), [1], ())]) == set()


@pytest.mark.parametrize(
    ("configuration", "features", "enabled", "assigned"),
    [
        ({"delta.enableRowTracking": "true"}, ["rowTracking"], True, True),
        ({}, ["rowTracking"], False, True),
        ({"delta.rowTrackingSuspended": "true"}, ["rowTracking"], False, False),
        ({"delta.enableRowTracking": "true"}, [], False, False),
    ],
)
def test_row_tracking_is_supported_enabled_or_suspended(
    configuration: dict[str, str], features: list[str], enabled: bool, assigned: bool
) -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=features)
    metadata = MetaData(
        id="1",
        format=Format(provider="parquet", options={}),
        schema_string="",
        partition_columns=[],
        configuration=configuration,
    )
    assert is_enabled(protocol, metadata) is enabled
    assert assigns_row_ids(protocol, metadata) is assigned


@pytest.mark.parametrize(
    ("name", "mapping", "taken"),
    [("id", None, "id"), ("col-1", "name", "id"), ("col-1", None, None), ("_row-id", "id", None), ("x", None, None)],
)
def test_hidden_column_needs_an_unused_name(name: str, mapping: str | None, taken: str | None) -> None:
    inner = Struct((Field("x", Primitive("long"), True),))
    field = Field("id", Primitive("long"), True, {"delta.columnMapping.physicalName": "col-1"})
    assert find_conflicting_column(name, Struct((field, Field("s", inner, True))), mapping) == taken
