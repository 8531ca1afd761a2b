"""Files with one column `a` and its statistics, for tests of data skipping."""

import json
from typing import Any

from deltaspec.model.rows.predicates import Compare, Operator
from deltaspec.protocol.actions import Add, DeletionVectorDescriptor
from deltaspec.protocol.schema.data_types import DataType, Field, Primitive, Struct

A = ("a",)
NAN = float("nan")
SECOND = 10**6
DAY = 86_400 * SECOND
Y2020 = 18_262 * DAY
"""2020-01-01 in microseconds since the epoch."""


def schema(kind: DataType | str, metadata: dict[str, Any] | None = None) -> Struct:
    kind = Primitive(kind) if isinstance(kind, str) else kind
    return Struct((Field("a", kind, True, metadata or {}),))


def file(
    stats: dict[str, Any] | str | None = None, *, deleted: int | None = None, **partition_values: str | None
) -> Add:
    vector = DeletionVectorDescriptor(storage_type="i", path_or_inline_dv="", size_in_bytes=1, cardinality=deleted or 0)
    return Add(
        path="a",
        partition_values=partition_values,
        size=1,
        modification_time=0,
        data_change=True,
        stats=json.dumps(stats) if isinstance(stats, dict) else stats,
        deletion_vector=None if deleted is None else vector,
    )


def file_with_bounds(low: Any, high: Any, nulls: int | None = 0, records: int | None = 10) -> Add:
    """Build a file with bounds; statistics are text, so that numbers keep their digits."""
    parts = [f'"numRecords":{records}'] if records is not None else []
    parts += [f'"minValues":{{"a":{low}}}'] if low is not None else []
    parts += [f'"maxValues":{{"a":{high}}}'] if high is not None else []
    parts += [f'"nullCount":{{"a":{nulls}}}'] if nulls is not None else []
    return file("{" + ",".join(parts) + "}")


def comparison(operator: str, literal: Any) -> Compare:
    return Compare(A, Operator(operator), literal)
