"""Drawn operations of a writer on tables with the columns `id` (unique), `part` and `value`.

The plain table of histories computes the rows after each operation. Every operation has one exact result, whatever an
engine does: predicates compare only `id`, and values are literals.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TypeAlias

import msgspec
from msgspec.structs import asdict

from deltaspec_generators.histories import conditions
from deltaspec_generators.histories.drawing import Operation, Step
from deltaspec_generators.histories.plain_table import ID, Column, Effect, PlainTable, perform

Row: TypeAlias = tuple[int, str, str]

TABLE = PlainTable((Column(ID, "long"), Column("part", "string"), Column("value", "string")))
"""An empty table; the table of a trial may also have partition columns and properties."""
COLUMNS = tuple(each.name for each in TABLE.columns)
PARTS = ("north", "south", "west")
CHANGING_KINDS = ("append", "overwrite", "delete", "update")
KINDS = (*CHANGING_KINDS, "optimize", "checkpoint")
"""Kinds of operations that trials use, as far as a candidate declares them."""
MAX_APPENDED_ROWS = 200
FIRST_NEW_ID, RECOVERY_ID = 1_000_000, 900_000_000
"""First ids of rows that trials append, and of the row that shows that a table can be written again."""


class Workload:
    """Draws operations.

    Args:
        rng: source of all choices.
        kinds: kinds of operations to use.
        first_id: id of the first new row; others follow.
    """

    def __init__(self, rng: random.Random, kinds: Sequence[str], first_id: int) -> None:
        self.rng = rng
        self._kinds = [kind for kind in KINDS if kind in kinds]
        self._ids = count(first_id)

    def draw_step(self, table: PlainTable, own: range | None = None) -> Step:
        """Draw an operation for a table.

        Args:
            table: the table.
            own: range of ids that a predicate on ids within it must not leave.
        """
        kind = self.rng.choice(self._kinds)
        match kind:
            case "append" | "overwrite":
                return self._build_write(kind, self.rng.randint(1, MAX_APPENDED_ROWS))
            case "delete" | "update":
                low = self.rng.choice(sorted(row[ID] for row in table.rows) or [0])
                high = low + self.rng.choice([1, 40, 400])
                high = min(high, own.stop) if own is not None and low in own else high
                return (
                    build_delete(low, high) if kind == "delete" else build_update(low, high, self.rng.randint(1, 999))
                )
            case "checkpoint":
                return Step({"kind": kind, "form": None})
        return Step({"kind": kind})

    def build_append(self, number: int) -> Step:
        """Append new rows."""
        return self._build_write("append", number)

    def _build_write(self, kind: str, number: int) -> Step:
        ids = [next(self._ids) for _ in range(number)]
        rows = [{ID: each, "part": PARTS[each % len(PARTS)], "value": f"value {each}"} for each in ids]
        return Step({"kind": kind, "rows": rows})


def build_create(partition_by: Sequence[str], properties: Mapping[str, str]) -> Step:
    """Return the operation that creates an empty table."""
    fields = {"schema": TABLE.render_schema(), "partition_by": list(partition_by), "properties": dict(properties)}
    return Step({"kind": "create", **fields})


def build_delete(low: int, high: int) -> Step:
    """Delete the rows with ids from `low` to `high` - 1."""
    return Step({"kind": "delete", "where": _build_range(low, high)})


def build_update(low: int, high: int, number: int) -> Step:
    """Set the value of the rows with ids from `low` to `high` - 1."""
    value = ["lit", "string", f"updated {number}"]
    return Step({"kind": "update", "set": {"value": value}, "where": _build_range(low, high)})


def _build_range(low: int, high: int) -> Operation:
    tree = ["and", conditions.compare(ID, ">=", "long", low), conditions.compare(ID, "<", "long", high)]
    return {"sql": conditions.render_sql(tree), "tree": tree}


def apply_step(table: PlainTable | None, step: Step) -> PlainTable:
    """Return the table after an operation that the protocol allows; None is a table that does not exist yet."""
    effect = perform(table, step.operation)
    assert isinstance(effect, Effect)
    return effect.table


def list_rows(table: PlainTable) -> set[Row]:
    """Return the rows of a table."""
    return {(row[ID], row["part"], row["value"]) for row in table.rows}


def get_title(step: Step) -> str:
    """Return an operation in a few words, with the first id of new rows, which messages about rows name."""
    rows = step.operation.get("rows")
    return f"{step.title}, ids from {rows[0][ID]}" if rows else step.title


class Difference(msgspec.Struct, frozen=True):
    """How the rows of a table differ from the expected ones, as ids."""

    lost: tuple[int, ...]
    duplicated: tuple[int, ...]
    unexpected: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.lost or self.duplicated or self.unexpected)

    def __str__(self) -> str:
        parts = []
        for text, ids in asdict(self).items():
            shown = ", ".join(map(str, ids[:5])) + (", …" if len(ids) > 5 else "")
            parts += [f"{len(ids):,} rows {text} (ids {shown})"] if ids else []
        return "; ".join(parts)


def compare_rows(found: Counter[Row], expected: PlainTable) -> Difference:
    """Compare the rows of a table with the expected ones; false if they are equal."""
    right = list_rows(expected)
    surplus = found - Counter(right)
    return Difference(
        lost=tuple(sorted({row[0] for row in right - set(found)})),
        duplicated=tuple(sorted({row[0] for row in surplus if row in right})),
        unexpected=tuple(sorted({row[0] for row in surplus if row not in right})),
    )
