"""Which typed columns of a checkpoint are not compared with their text, and why."""

from typing import Any

import pyarrow as pa
import pytest

from deltaspec.protocol.schema.data_types import Primitive
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.views.files.typed_copies import MergedCopies, merge_typed_columns
from deltaspec.wire.log.file_action_rows import FILE_ACTION_SCHEMA
from deltaspec.wire.log.stats_parsed import TypedColumns

STATISTICS, PARTITION_VALUES = "stats_parsed", "partitionValues_parsed"
UNKNOWN = "the schema of the table is not known"
LIST = "add.partitionValues_parsed.p has the type list<item: int64>, whose values cannot be compared"
TYPED = pa.array([{"numRecords": 1}])


def merge(typed: TypedColumns, *, is_known: bool = True, **action: Any) -> MergedCopies:
    """Merge the typed columns of one add into it; `is_known`: whether the schema of the table is known."""
    row = {"line": 1, "kind": "add", "path": "a.parquet", "partition_values": [("p", "1")], **action}
    context = FileContext(
        partition_columns={"p": Primitive("long")} if is_known else None,
        deletion_vectors_supported=False,
        leaf_columns=() if is_known else None,
    )
    return merge_typed_columns(pa.Table.from_pylist([row], FILE_ACTION_SCHEMA), typed, context)


def get_reasons(merged: MergedCopies) -> dict[str, set[str]]:
    return {name: reasons for name, reasons in merged.unread.items() if reasons}


@pytest.mark.parametrize(
    ("text", "is_known", "reasons"),
    [
        ('{"numRecords":1}', False, {}),
        ('{"numRecords":2}', False, {STATISTICS: {UNKNOWN}}),
        ('{"numRecords":2}', True, {}),
        ('{"numRecords":', True, {STATISTICS: {"statistics in JSON cannot be decoded"}}),
        (None, False, {}),
    ],
)
def test_statistics_are_compared_if_the_schema_is_known(
    text: str | None, is_known: bool, reasons: dict[str, set[str]]
) -> None:
    merged = merge(TypedColumns(statistics=TYPED), is_known=is_known, stats=text)
    assert get_reasons(merged) == reasons
    assert len(merged.rows) == (text == '{"numRecords":2}' and is_known)
    assert merged.needs_typed_statistics == (text is None)


@pytest.mark.parametrize(
    ("stored", "is_known", "reasons"),
    [
        ({"p": 1}, True, {}),
        ({"p": 1}, False, {PARTITION_VALUES: {UNKNOWN}}),
        ({"p": [1]}, True, {PARTITION_VALUES: {LIST}}),
    ],
)
def test_partition_values_are_compared_if_their_type_is_known(
    stored: dict[str, Any], is_known: bool, reasons: dict[str, set[str]]
) -> None:
    assert get_reasons(merge(TypedColumns(partition_values=pa.array([stored])), is_known=is_known)) == reasons


@pytest.mark.parametrize(
    ("statistics", "name", "is_lost"),
    [(None, STATISTICS, True), (TYPED, STATISTICS, False), (None, PARTITION_VALUES, False)],
)
def test_statistics_are_lost_if_their_column_cannot_be_decoded(
    statistics: pa.StructArray | None, name: str, is_lost: bool
) -> None:
    merged = merge(TypedColumns(statistics=statistics, unread=((name, "a reason"),)), stats='{"numRecords":1}')
    assert get_reasons(merged) == {name: {"a reason"}}
    assert merged.lost_statistics == is_lost
