"""What the metadata of a table holds its rows to, as columns of views, and since when it does."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from deltaspec.model.actions import MetaData, Protocol, WireStruct
from deltaspec.model.features import constraints
from deltaspec.model.features.table_features import strip_preview_suffix
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.data_types import Struct, iter_fields
from deltaspec.sql.parser import (
    InvalidExpression,
    SupportedExpression,
    UnsupportedExpression,
    find_missing_columns,
    parse_expression,
)
from deltaspec.sql.tree import Binary, Column, Expression

Row = dict[str, Any]
Kind = Literal["CHECK", "invariant", "generated"]
_KINDS: dict[Kind, str] = {
    "CHECK": "CHECK constraint",
    "invariant": "the invariant of",
    "generated": "the expression of",
}


@dataclass(frozen=True)
class RowConstraint:
    """An expression that is to be true of every row, or, of a generated column, to give its value."""

    kind: Kind
    name: str
    """Of the constraint, or of the column with dots."""
    expression: str
    column: tuple[str, ...] = ()
    """The column that has it in its metadata; empty for a CHECK constraint."""

    @property
    def title(self) -> str:
        """How the ledger speaks of it."""
        return f"{_KINDS[self.kind]} {self.name[:80]}"

    @property
    def applies_to_writes_only(self) -> bool:
        """It is held to by who writes a row, and nothing is said of what the table holds: as of a CHECK constraint."""
        return self.kind != "CHECK"

    @property
    def condition(self) -> Expression | str:
        """What is true of every row that keeps it; a text that says why it is not evaluated, where it is not."""
        match parse_expression(self.expression):
            case SupportedExpression(tree) if self.kind == "generated":
                return Binary("<=>", Column(self.column), tree)
            case SupportedExpression(tree):
                return tree
            case UnsupportedExpression(why) | InvalidExpression(why):
                return why


def collect_row_constraints(
    schema: Struct,
    configuration: Mapping[str, str],
    supported: Collection[str],
    revision: Revision = Revision.CURRENT,
) -> list[RowConstraint]:
    """Everything that a table holds its rows to: of features that it supports alone.

    Args:
        schema: of the table.
        configuration: of the table.
        supported: features that the table supports.
        revision: of the text.
    """
    names = {strip_preview_suffix(name) for name in supported}
    if not revision.since(Revision.R3) and "columnInvariants" in names:
        names.add("invariants")  # [Changed in r3] the chapter had another name for it than the appendix (E21)
    found: list[RowConstraint] = []
    if "checkConstraints" in names:
        checks = constraints.read_check_constraints(configuration)
        found += [RowConstraint("CHECK", name, text) for name, text in checks.items() if text.strip()]
    for path, member in iter_fields(schema):
        if "invariants" in names:
            invariant = _invariant_of(member.metadata)
            found += [] if invariant is None else [RowConstraint("invariant", ".".join(path), invariant, path)]
        generation = member.metadata.get(constraints.GENERATION)
        if "generatedColumns" in names and isinstance(generation, str):
            found.append(RowConstraint("generated", ".".join(path), generation, path))
    return found


def _invariant_of(metadata: Mapping[str, Any]) -> str | None:
    """The expression of an invariant; None where there is none that can be read: what it is worth, the log shows."""
    try:
        return constraints.read_invariant(metadata)
    except constraints.InvariantError:
        return None


@dataclass
class RowConstraintHistory:
    """Which expressions the rows of a table were held to at every version so far."""

    revision: Revision = Revision.CURRENT
    always: frozenset[RowConstraint] = frozenset()
    """Those in force since the first version: no row is older than they are."""
    _begun: bool = False

    def take(
        self,
        place: tuple[int, str],
        actions: Sequence[tuple[int, WireStruct]],
        metadata: MetaData | None,
        schema: Struct | None,
        supported: set[str] | None,
    ) -> list[Row]:
        """Step to a version; gives its rows of the view `constraint_columns`.

        Args:
            place: version and file of a commit, or of a checkpoint that the history starts from.
            actions: its actions with their lines.
            metadata: of the table at the version; None where it is not known.
            schema: what its schema string describes; None where that cannot be read.
            supported: features that the table supports; None where that is not known.
        """
        version, file = place
        lines = [line for line, action in actions if isinstance(action, MetaData | Protocol)]
        if not lines and self._begun:
            return []
        if metadata is None or schema is None or supported is None:
            self.forget()
            return []
        now = collect_row_constraints(schema, metadata.configuration, supported, self.revision)
        is_first = version == 0 and ".checkpoint." not in file
        self.always = frozenset(now) if is_first else self.always & frozenset(now)
        new = [each for each in now if each.kind == "CHECK"] if lines else []
        self._begun = True
        return [_constraint_row({"version": version, "file": file, "line": lines[0]}, each, schema) for each in new]

    def forget(self) -> None:
        """Note that a version could not be read: rows may be older than any expression."""
        self.always, self._begun = frozenset(), True


def _constraint_row(place: Row, check: RowConstraint, schema: Struct) -> Row:
    answer = parse_expression(check.expression)
    tree = None if isinstance(answer, InvalidExpression) else answer.tree
    return {
        **place,
        "constraint": check.name,
        "expression": check.expression,
        "missing_columns": None if tree is None else find_missing_columns(tree, schema),
    }
