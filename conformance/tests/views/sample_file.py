"""Sample data file with statistics and column values, and the rules that it violates."""

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from deltaspec.protocol.schema.data_types import DataType, Field, Primitive, Struct
from deltaspec.rules import RULES
from deltaspec.views.data.column_facts import column_facts
from deltaspec.wire.data.leaf_values import LeafValues

LONG, DOUBLE, FLOAT, STRING = map(Primitive, ("long", "double", "float", "string"))
TIMESTAMP, NTZ, DATE = map(Primitive, ("timestamp", "timestamp_ntz", "date"))


@dataclass
class SampleFile:
    stats: str | None
    deletion_vector: object | None = None

    @property
    def place(self) -> dict[str, Any]:
        return {"version": 3, "file": "_delta_log/3.json", "line": 2, "path": "a.parquet"}


def build_schema(**kinds: DataType) -> Struct:
    return Struct(tuple(Field(name, kind, True) for name, kind in kinds.items()))


def find_broken_rules(rows: list[dict[str, Any]]) -> set[str]:
    """Return the rules over `column_facts` that at least one row violates."""
    frame = column_facts.frame(rows)
    rules = [rule for rule in RULES.values() if rule.view is column_facts]
    return {rule.code for rule in rules if frame.filter(rule.expression()).height}


def build_leaf_values(*values: Any, path: tuple[str, ...] = ("c",), **more: Any) -> LeafValues:
    """Build the values of a column in a file without a deletion vector."""
    present = [value for value in values if value is not None]
    numbers = [value for value in present if not isinstance(value, list) and value == value]
    nulls = len(values) - len(present)
    found = LeafValues(
        path=path,
        rows=len(values),
        valid_rows=len(values),
        nulls=nulls,
        valid_nulls=nulls,
        minimum=min(numbers, default=None),
        maximum=max(numbers, default=None),
        has_nan=any(value != value for value in present),
    )
    return replace(found, **more)
