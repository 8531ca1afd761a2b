"""Drawn operations of a writer, and the rows that a table has after each of them.

All rows have the columns `id` (unique), `part` and `value`. Every operation has one exact result, whatever an engine
does: predicates compare only `id`, and values are literals.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec.structs import asdict

Row: TypeAlias = tuple[int, str, str]
Rows: TypeAlias = Mapping[int, Row]
"""Rows by id."""

DELTA_SCHEMA = (
    '{"type":"struct","fields":['
    '{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"part","type":"string","nullable":true,"metadata":{}},'
    '{"name":"value","type":"string","nullable":true,"metadata":{}}]}'
)
COLUMNS = ("id", "part", "value")
PARTS = ("north", "south", "west")
CHANGING_KINDS = ("append", "overwrite", "delete", "update")
KINDS = (*CHANGING_KINDS, "optimize", "checkpoint")
"""Kinds of operations that trials use, as far as a candidate declares them."""
MAX_APPENDED_ROWS = 200
FIRST_NEW_ID, RECOVERY_ID = 1_000_000, 900_000_000
"""First ids of rows that trials append, and of the row that shows that a table can be written again."""
_ARROW_SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("value", pa.string())])


class Step(msgspec.Struct, frozen=True):
    """One operation, with its effect."""

    operation: dict[str, Any]
    """As in a request `apply`."""
    title: str
    change: Callable[[Rows], Rows]
    """Computes the rows after the operation."""

    @property
    def kind(self) -> str:
        return str(self.operation["kind"])


class Workload:
    """Draws operations.

    Args:
        rng: source of all choices.
        kinds: kinds of operations to use.
        directory: where the rows of appends are written.
        first_id: id of the first new row; others follow.
    """

    def __init__(self, rng: random.Random, kinds: Sequence[str], directory: Path, first_id: int) -> None:
        self.rng = rng
        self._kinds = [kind for kind in KINDS if kind in kinds]
        self._directory = directory
        self._ids = count(first_id)

    def draw_step(self, rows: Rows, own: range | None = None) -> Step:
        """Draw an operation for a table.

        Args:
            rows: rows of the table.
            own: range of ids that a predicate on ids within it must not leave.
        """
        kind = self.rng.choice(self._kinds)
        match kind:
            case "append":
                return self.build_append(self.rng.randint(1, MAX_APPENDED_ROWS))
            case "overwrite":
                return self._build_overwrite(self.rng.randint(1, MAX_APPENDED_ROWS))
            case "delete" | "update":
                low = self.rng.choice(sorted(rows) or [0])
                high = low + self.rng.choice([1, 40, 400])
                high = min(high, own.stop) if own is not None and low in own else high
                return (
                    build_delete(low, high) if kind == "delete" else build_update(low, high, self.rng.randint(1, 999))
                )
            case "checkpoint":
                return Step({"kind": kind, "form": None}, "checkpoint", _keep)
        return Step({"kind": kind}, kind, _keep)

    def build_append(self, number: int) -> Step:
        """Append new rows."""
        added = self._draw_rows(number)
        title = f"append {number} rows, ids from {min(added)}"
        return Step({"kind": "append", "rows": self.write_rows(added)}, title, lambda rows: {**rows, **added})

    def _build_overwrite(self, number: int) -> Step:
        added = self._draw_rows(number)
        title = f"overwrite with {number} rows, ids from {min(added)}"
        return Step({"kind": "overwrite", "rows": self.write_rows(added)}, title, lambda _: added)

    def _draw_rows(self, number: int) -> dict[int, Row]:
        ids = [next(self._ids) for _ in range(number)]
        return {each: (each, PARTS[each % len(PARTS)], f"value {each}") for each in ids}

    def write_rows(self, rows: Rows) -> str:
        """Write rows as an Arrow IPC file and return its path."""
        path = self._directory / f"rows-{min(rows, default=0)}-{len(rows)}.arrow"
        columns = zip(*rows.values(), strict=True)
        table = pa.table([pa.array(column, field.type) for column, field in zip(columns, _ARROW_SCHEMA, strict=True)],
                         schema=_ARROW_SCHEMA)  # fmt: skip
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
        return str(path)


def build_create(partition_by: Sequence[str], properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the operation that creates an empty table."""
    fields = {"schema": DELTA_SCHEMA, "partition_by": list(partition_by), "properties": dict(properties)}
    return {"kind": "create", **fields}


def build_delete(low: int, high: int) -> Step:
    """Delete the rows with ids from `low` to `high` - 1."""

    def delete(rows: Rows) -> Rows:
        return {key: row for key, row in rows.items() if not low <= key < high}

    return Step({"kind": "delete", "where": _build_range(low, high)}, f"delete ids {low} to {high - 1}", delete)


def build_update(low: int, high: int, number: int) -> Step:
    """Set the value of the rows with ids from `low` to `high` - 1."""

    def update(rows: Rows) -> Rows:
        return {key: (*row[:2], value) if low <= key < high else row for key, row in rows.items()}

    value = f"updated {number}"
    operation = {"kind": "update", "set": {"value": ["lit", "string", value]}, "where": _build_range(low, high)}
    return Step(operation, f"update ids {low} to {high - 1}", update)


def _keep(rows: Rows) -> Rows:
    return rows


def _build_range(low: int, high: int) -> dict[str, Any]:
    bounds = [[">=", ["col", "id"], ["lit", "long", str(low)]], ["<", ["col", "id"], ["lit", "long", str(high)]]]
    return {"sql": f"id >= {low} AND id < {high}", "tree": ["and", *bounds]}


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


def compare_rows(found: Counter[Row], expected: Rows) -> Difference:
    """Compare the rows of a table with the expected ones; false if they are equal."""
    right = set(expected.values())
    surplus = found - Counter(right)
    return Difference(
        lost=tuple(sorted({row[0] for row in right - set(found)})),
        duplicated=tuple(sorted({row[0] for row in surplus if row in right})),
        unexpected=tuple(sorted({row[0] for row in surplus if row not in right})),
    )
