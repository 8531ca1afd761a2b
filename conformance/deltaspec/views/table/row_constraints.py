"""Row constraints of a table (CHECK constraints, invariants, generated columns), and when they apply."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from deltaspec.protocol.actions import MetaData, Protocol, WireStruct
from deltaspec.protocol.features import constraints
from deltaspec.protocol.features.table_features import get_current_name, strip_preview_suffix
from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Struct, iter_fields
from deltaspec.views.table.schema_columns import select_special_columns

if TYPE_CHECKING:
    from deltaspec.sql.tree import Expression

Row = dict[str, Any]
Kind = Literal["CHECK", "invariant", "generated"]
_KINDS: dict[Kind, str] = {
    "CHECK": "CHECK constraint",
    "invariant": "the invariant of",
    "generated": "the expression of",
}


class RowConstraint(msgspec.Struct, frozen=True):
    """Expression that must be true for every row, or that must give the value of a generated column."""

    kind: Kind
    name: str
    """Name of the constraint, or path of the column with dots."""
    expression: str
    column: tuple[str, ...] = ()
    """Path of the column whose metadata has the expression; empty for a CHECK constraint."""

    @property
    def title(self) -> str:
        """Name of the constraint in ledger entries."""
        return f"{_KINDS[self.kind]} {self.name[:80]}"

    @property
    def applies_to_writes_only(self) -> bool:
        """Whether only writes must satisfy the constraint; stored rows must also satisfy CHECK constraints."""
        return self.kind != "CHECK"

    @property
    def condition(self) -> Expression | str:
        """Condition that is true for every valid row, or the reason why the expression is not evaluated."""
        from deltaspec.sql.parser import (  # imported late, because few tables have expressions
            InvalidExpression,
            SupportedExpression,
            UnsupportedExpression,
            parse_expression,
        )
        from deltaspec.sql.tree import Binary, Column

        match parse_expression(self.expression):
            case SupportedExpression(tree) if self.kind == "generated":
                return Binary("<=>", Column(self.column), tree)
            case SupportedExpression(tree):
                return tree
            case UnsupportedExpression(reason) | InvalidExpression(reason):
                return reason


def collect_row_constraints(
    schema: Struct,
    configuration: Mapping[str, str],
    supported: Collection[str],
    revision: Revision = Revision.CURRENT,
) -> list[RowConstraint]:
    """Return the row constraints of a table, limited to the features that it supports.

    Args:
        schema: table schema.
        configuration: table properties.
        supported: features that the table supports.
        revision: protocol revision.
    """
    names = {get_current_name(strip_preview_suffix(name), revision) for name in supported}
    found: list[RowConstraint] = []
    if "checkConstraints" in names:
        checks = constraints.read_check_constraints(configuration)
        found += [RowConstraint("CHECK", name, text) for name, text in checks.items() if text.strip()]
    for path, member in iter_fields(select_special_columns(schema)):
        if "invariants" in names:
            invariant = _invariant_of(member.metadata)
            found += [] if invariant is None else [RowConstraint("invariant", ".".join(path), invariant, path)]
        generation = member.metadata.get(GENERATION_EXPRESSION)
        if "generatedColumns" in names and isinstance(generation, str):
            found.append(RowConstraint("generated", ".".join(path), generation, path))
    return found


def _invariant_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the expression of an invariant, or None if there is none or it is invalid (other rules report that)."""
    try:
        return constraints.read_invariant(metadata)
    except constraints.InvariantError:
        return None


class RowConstraintHistory(msgspec.Struct):
    """Row constraints that applied at every version so far."""

    revision: Revision = Revision.CURRENT
    always: frozenset[RowConstraint] = frozenset()
    """Constraints in effect since the first version, which therefore apply to every row."""
    _has_started: bool = False

    def apply(
        self,
        location: tuple[int, str],
        actions: Sequence[tuple[int, WireStruct]],
        metadata: MetaData | None,
        schema: Struct | None,
        supported: set[str] | None,
    ) -> list[Row]:
        """Apply a version and return its rows of `constraint_columns`.

        Args:
            location: version and file of a commit, or of the checkpoint that the history starts from.
            actions: actions of the file with their line numbers.
            metadata: table metadata at the version; None if unknown.
            schema: parsed schema; None if it cannot be parsed.
            supported: features that the table supports; None if unknown.
        """
        version, file = location
        lines = [line for line, action in actions if isinstance(action, MetaData | Protocol)]
        if not lines and self._has_started:
            return []
        if metadata is None or schema is None or supported is None:
            self.forget()
            return []
        current = collect_row_constraints(schema, metadata.configuration, supported, self.revision)
        is_first = version == 0 and ".checkpoint." not in file
        self.always = frozenset(current) if is_first else self.always & frozenset(current)
        new = [each for each in current if len(each.column) < 2] if lines else []
        self._has_started = True
        return [_constraint_row({"version": version, "file": file, "line": lines[0]}, each, schema) for each in new]

    def forget(self) -> None:
        """Record that a version could not be read, so that any row may be older than any constraint."""
        self.always, self._has_started = frozenset(), True


def _constraint_row(location: Row, check: RowConstraint, schema: Struct) -> Row:
    from deltaspec.sql.conditions import find_condition_error
    from deltaspec.sql.parser import InvalidExpression, find_missing_columns, parse_expression

    parsed = parse_expression(check.expression)
    tree = None if isinstance(parsed, InvalidExpression) else parsed.tree
    missing = None if tree is None else find_missing_columns(tree, schema)
    if tree is None and check.kind == "CHECK" and find_condition_error(check.expression, schema) is not None:
        missing = []  # it is no condition, which has a rule of its own
    return {
        **location,
        "kind": check.kind,
        "constraint": check.name,
        "expression": check.expression,
        "missing_columns": missing,
    }
