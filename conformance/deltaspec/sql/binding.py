"""Expressions over columns of our own: what a table calls its columns is never read as SQL again.

A column becomes `c0`, `c1`, ..., each with the values of one column of the table, or of a member of a struct. Members
that an expression asks for below that are called by their places (`logical_rows.member_name`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from deltaspec.model.schema.data_types import Array, DataType, Map, Struct, get_type_name
from deltaspec.sql.logical_row_reader import find_field, member_name
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import (
    Binary,
    Case,
    Column,
    Expression,
    Is,
    Item,
    Literal,
    Member,
    Not,
    Unit,
    children,
    with_children,
)

_EMPTY: dict[str, Literal] = {"string": Literal("", "string"), "binary": Literal(b"", "binary")}
_MOST_NULL_OR_EMPTY = 3
_VOID = Literal(None, "void")


def column_name(number: int) -> str:
    """What a column is called in SQL."""
    return f"c{number}"


@dataclass
class ColumnNumbering:
    """The columns that expressions over the rows of one table ask for, numbered."""

    schema: Struct
    partition_columns: Sequence[str]
    names: list[tuple[str, ...]] = field(default_factory=list)
    """As `logical_rows.find_field` takes them, by number."""

    @property
    def types(self) -> list[DataType]:
        return [find_field(parts, self.schema).type for parts in self.names]

    def bind(self, tree: Expression, *, as_written: bool) -> BoundExpression:
        """An expression over numbered columns. Raises `Undecided` where it speaks of what no engine is handed.

        Args:
            tree: over columns of the table.
            as_written: it binds rows as they are written alone; such a row is kept where it is true of null or of an
                empty string, in a partition column for which the log has null.
        """
        binding = _Binding(self)
        bound, _ = binding.of(tree)
        partitions = {name.casefold() for name in self.partition_columns}
        possibly_empty = {
            number: _EMPTY[kind]
            for number in sorted(binding.used)
            if as_written
            and self.names[number][0].casefold() in partitions
            and (kind := get_type_name(find_field(self.names[number], self.schema).type)) in _EMPTY
        }
        return BoundExpression(bound, frozenset(binding.used), possibly_empty)

    def number(self, parts: tuple[str, ...]) -> int:
        folded = [tuple(map(str.casefold, each)) for each in self.names]
        spelled = tuple(map(str.casefold, parts))
        if spelled not in folded:
            self.names.append(parts)
            return len(folded)
        return folded.index(spelled)


@dataclass(frozen=True)
class BoundExpression:
    """An expression over numbered columns."""

    tree: Expression
    columns: frozenset[int]
    """Those that it asks for."""
    possibly_empty: dict[int, Literal]
    """Partition columns of which the log has one spelling for null and for what is empty, with the empty value."""

    @property
    def nodes(self) -> Iterator[Expression]:
        """Every part that has a type, each once, the expression itself first."""
        waiting: list[Expression] = [self.tree]
        seen: set[Expression] = set()
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                yield node
                waiting += reversed(children(node))

    @property
    def broken(self) -> Expression:
        """True of a row that breaks it, false of all others. Raises `Undecided` where it has too many readings."""
        possibly_empty = list(self.possibly_empty)
        if len(possibly_empty) > _MOST_NULL_OR_EMPTY:
            raise Undecided(f"{len(possibly_empty)} partition columns may have been null or empty")
        readings = [
            self._reading(emptied)
            for number in range(len(possibly_empty) + 1)
            for emptied in combinations(possibly_empty, number)
        ]
        tree = readings[0]
        for each in readings[1:]:
            tree = Binary("and", tree, each)
        return tree

    def _reading(self, emptied: Sequence[int]) -> Expression:
        tree = _emptied(self.tree, {(column_name(number),): self.possibly_empty[number] for number in emptied})
        return Not(Binary("<=>", tree, Literal(True, "boolean")))


def _emptied(tree: Expression, values: dict[tuple[str, ...], Literal]) -> Expression:
    """The expression with nulls of some columns taken for empty values."""
    if isinstance(tree, Column):
        empty = values.get(tree.parts)
        return tree if empty is None else Case(None, ((Is(tree, None), empty),), tree)
    return with_children(tree, [_emptied(each, values) for each in children(tree)])


class _Binding:
    def __init__(self, columns: ColumnNumbering) -> None:
        self.columns = columns
        self.used: set[int] = set()

    def of(self, tree: Expression) -> tuple[Expression, DataType | None]:
        """An expression over numbered columns, and its type where that is a nested one whose members may be named."""
        match tree:
            case Column(parts):
                return self._column(parts)
            case Unit():
                raise Undecided("a unit of time is not handed to an engine")
            case Member(base, name):
                return _member(*self.of(base), name)
            case Item(base, key):
                bound, kind = self.of(base)
                inner = {Array: "element", Map: "value"}.get(type(kind))
                return Item(bound, self.of(key)[0]), None if inner is None else getattr(kind, inner)
        return with_children(tree, [self.of(each)[0] for each in children(tree)]), None

    def _column(self, parts: tuple[str, ...]) -> tuple[Expression, DataType | None]:
        length = self._plain_length(parts)
        kind = find_field(parts[:length], self.columns.schema).type if not self._is_void(parts) else None
        if kind is None:
            return _VOID, None
        number = self.columns.number(parts[:length])
        self.used.add(number)
        bound: tuple[Expression, DataType | None] = Column((column_name(number),)), kind
        for name in parts[length:]:
            bound = _member(*bound, name)
        return bound

    def _plain_length(self, parts: tuple[str, ...]) -> int:
        """How many parts lead from struct to struct."""
        kind: DataType = self.columns.schema
        for length, name in enumerate(parts):
            if not isinstance(kind, Struct):
                return length
            found = [each.type for each in kind.fields if each.name.casefold() == name.casefold()]
            if len(found) != 1:
                raise Undecided(f"the schema has {len(found)} columns {'.'.join(parts)}")
            kind = found[0]
        return len(parts)

    def _is_void(self, parts: tuple[str, ...]) -> bool:
        kind: DataType = self.columns.schema
        for name in parts:
            if not isinstance(kind, Struct):
                return False
            kind = next(each.type for each in kind.fields if each.name.casefold() == name.casefold())
        return get_type_name(kind) == "void"


def _member(base: Expression, kind: DataType | None, name: str) -> tuple[Expression, DataType | None]:
    """A member of a struct, or of each struct of an array."""
    struct = kind.element if isinstance(kind, Array) else kind
    if not isinstance(struct, Struct):
        raise Undecided(f"{name} is a member of what has none, or of a computed value")
    places = [place for place, each in enumerate(struct.fields) if each.name.casefold() == name.casefold()]
    if len(places) != 1:
        raise Undecided(f"{len(places)} members are called {name}")
    found = struct.fields[places[0]].type
    if isinstance(kind, Array):
        found = Array(found, True)
    return Member(base, member_name(places[0])), found
