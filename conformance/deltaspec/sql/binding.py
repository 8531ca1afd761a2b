"""Replace the columns of expressions by numbered ones, so that the names of a table are never part of SQL.

A column or a member of a struct becomes `c0`, `c1`, and so on. Members of arrays and computed structs are named by
their position (`logical_row_reader.member_name`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from deltaspec.protocol.schema.data_types import Array, DataType, Map, Struct, get_type_name
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
_MAX_NULL_OR_EMPTY = 3
_VOID = Literal(None, "void")


def column_name(number: int) -> str:
    """Return the name of a numbered column in SQL."""
    return f"c{number}"


class ColumnNumbering(msgspec.Struct):
    """Numbers the columns that the expressions of one table use."""

    schema: Struct
    partition_columns: Sequence[str]
    names: list[tuple[str, ...]] = msgspec.field(default_factory=list)
    """Parts of the names, by number."""

    @property
    def types(self) -> list[DataType]:
        return [find_field(parts, self.schema).type for parts in self.names]

    def bind(self, tree: Expression, *, writes_only: bool) -> BoundExpression:
        """Return an expression over numbered columns. Raises `Undecided` if an engine cannot be given its values.

        Args:
            tree: over columns of the table.
            writes_only: it applies to rows only as they are written. Then a row satisfies it if it is true for null or
                for an empty string in a partition column whose log value is null.
        """
        binding = _Binding(self)
        bound, _ = binding.bind(tree)
        partitions = {name.casefold() for name in self.partition_columns}
        possibly_empty = {
            number: _EMPTY[kind]
            for number in sorted(binding.used)
            if writes_only
            and self.names[number][0].casefold() in partitions
            and (kind := get_type_name(find_field(self.names[number], self.schema).type)) in _EMPTY
        }
        return BoundExpression(bound, frozenset(binding.used), possibly_empty)

    def get_number(self, parts: tuple[str, ...]) -> int:
        """Return the number of a column, which may be new."""
        folded = [tuple(map(str.casefold, each)) for each in self.names]
        name = tuple(map(str.casefold, parts))
        if name not in folded:
            self.names.append(parts)
            return len(folded)
        return folded.index(name)


class BoundExpression(msgspec.Struct, frozen=True):
    """An expression over numbered columns."""

    tree: Expression
    columns: frozenset[int]
    """Numbers of the columns that it uses."""
    possibly_empty: dict[int, Literal]
    """Partition columns whose null in the log may mean empty, with the empty value."""

    @property
    def nodes(self) -> Iterator[Expression]:
        """Yield every distinct part that has a type, the expression itself first."""
        waiting: list[Expression] = [self.tree]
        seen: set[Expression] = set()
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                yield node
                waiting += reversed(children(node))

    @property
    def violation(self) -> Expression:
        """An expression that is true for violating rows, else false. Raises `Undecided` for too many readings."""
        possibly_empty = list(self.possibly_empty)
        if len(possibly_empty) > _MAX_NULL_OR_EMPTY:
            raise Undecided(f"{len(possibly_empty)} partition columns may have been null or empty")
        readings = [
            self._build_reading(empty)
            for size in range(len(possibly_empty) + 1)
            for empty in combinations(possibly_empty, size)
        ]
        tree = readings[0]
        for each in readings[1:]:
            tree = Binary("and", tree, each)
        return tree

    def _build_reading(self, empty: Sequence[int]) -> Expression:
        tree = _replace_null(self.tree, {(column_name(number),): self.possibly_empty[number] for number in empty})
        return Not(Binary("<=>", tree, Literal(True, "boolean")))


def _replace_null(tree: Expression, values: dict[tuple[str, ...], Literal]) -> Expression:
    """Return the expression with nulls of some columns replaced by empty values."""
    if isinstance(tree, Column):
        empty = values.get(tree.parts)
        return tree if empty is None else Case(None, ((Is(tree, None), empty),), tree)
    return with_children(tree, [_replace_null(each, values) for each in children(tree)])


class _Binding:
    def __init__(self, columns: ColumnNumbering) -> None:
        self.columns = columns
        self.used: set[int] = set()

    def bind(self, tree: Expression) -> tuple[Expression, DataType | None]:
        """Return an expression over numbered columns, and its type if it is nested and known from the schema."""
        match tree:
            case Column(parts):
                return self._bind_column(parts)
            case Unit():
                raise Undecided("it uses a unit of time")
            case Member(base, name):
                return _bind_member(*self.bind(base), name)
            case Item(base, key):
                bound, kind = self.bind(base)
                inner = kind.element if isinstance(kind, Array) else kind.value if isinstance(kind, Map) else None
                return Item(bound, self.bind(key)[0]), inner
        return with_children(tree, [self.bind(each)[0] for each in children(tree)]), None

    def _bind_column(self, parts: tuple[str, ...]) -> tuple[Expression, DataType | None]:
        length = self._count_struct_parts(parts)
        kind = find_field(parts[:length], self.columns.schema).type if not self._is_void(parts) else None
        if kind is None:
            return _VOID, None
        number = self.columns.get_number(parts[:length])
        self.used.add(number)
        bound: tuple[Expression, DataType | None] = Column((column_name(number),)), kind
        for name in parts[length:]:
            bound = _bind_member(*bound, name)
        return bound

    def _count_struct_parts(self, parts: tuple[str, ...]) -> int:
        """Return how many parts of a name lead from struct to struct."""
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


def _bind_member(base: Expression, data_type: DataType | None, name: str) -> tuple[Expression, DataType | None]:
    """Return a member of a struct, or of each struct in an array."""
    struct = data_type.element if isinstance(data_type, Array) else data_type
    if not isinstance(struct, Struct):
        raise Undecided(f"{name} is a member of a computed value or of a type without members")
    positions = [at for at, each in enumerate(struct.fields) if each.name.casefold() == name.casefold()]
    if len(positions) != 1:
        raise Undecided(f"the struct has {len(positions)} members {name}")
    found = struct.fields[positions[0]].type
    if isinstance(data_type, Array):
        found = Array(found, True)
    return Member(base, member_name(positions[0])), found
