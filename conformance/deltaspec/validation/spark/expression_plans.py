"""How each expression of a table is handed to Spark, or why it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaspec.model.schema.data_types import Array, DataType, Map, Struct, get_type_name
from deltaspec.sql.binding import BoundExpression, ColumnNumbering, column_name
from deltaspec.sql.logical_row_reader import arrow_type, member_name
from deltaspec.sql.resource_bounds import ResourceBounds, compute_resource_bounds
from deltaspec.sql.session_independence import check_session_independence
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Call, Expression, render
from deltaspec.validation.spark.constraint_session import (
    ANSI_MODES,
    ansi_mode,
    get_error_condition,
    is_builtin_function,
)
from deltaspec.validation.spark.constraint_tasks import ConstraintContext, Name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_PARTS = 2_000
_MOST_CHARACTERS = 1 << 18
"""Of the SQL by which Spark is asked for the types of all parts of expressions."""
_OURS = ("count", "min", "bit_xor", "xxhash64", "collect_set", "struct")
"""Functions that the counting of rows calls."""
_SQL_NAMES = {"byte": "tinyint", "short": "smallint", "long": "bigint", "timestamp": "timestamp_ltz"}
_FIXED = [("file", pa.int32()), ("row", pa.int64()), ("of", pa.int32()), ("fault", pa.string())]


@dataclass(frozen=True)
class ExpressionPlan:
    """An expression as Spark is handed it."""

    columns: frozenset[int]
    """Numbers of the columns that it asks for."""
    broken: Expression
    """True of rows that break it, false of others; over columns called by `column_name`."""
    bounds: ResourceBounds


class ExpressionPlanner:
    """The expressions of a table, planned as they are asked for: what the kit evaluates itself, Spark never sees."""

    def __init__(self, spark: SparkSession, knowledge: ConstraintContext) -> None:
        self._spark, self._knowledge = spark, knowledge
        table = knowledge.table
        self._columns = ColumnNumbering(table.schema, table.partition_columns)
        self._known: dict[int, ExpressionPlan | str] = {}
        self._built_in: dict[str, bool] = {}
        self._types: dict[str, dict[Expression, str]] = {ansi: {} for ansi in ANSI_MODES}

    @property
    def names(self) -> list[Name]:
        """The columns of all plans so far, by number."""
        return self._columns.names

    @property
    def arrow_schema(self) -> pa.Schema:
        """Of the rows that Spark is handed."""
        kinds = map(arrow_type, self._columns.types)
        return pa.schema([*_FIXED, *((column_name(number), kind) for number, kind in enumerate(kinds))])

    @property
    def spark_schema(self) -> str:
        """The same in Spark's words."""
        kinds = [f"{column_name(number)} {_spelled(kind)}" for number, kind in enumerate(self._columns.types)]
        return ", ".join(["file int", "row bigint", "of int", "fault string", *kinds])

    def list_column_names(self, place: int) -> list[Name]:
        """The columns that an expression asks for."""
        plan = self.of(place)
        return [] if isinstance(plan, str) else [self.names[number] for number in sorted(plan.columns)]

    def of(self, place: int) -> ExpressionPlan | str:
        """The plan of an expression, by its place among the conditions; or why it is not handed to Spark."""
        if place not in self._known:
            try:
                self._known[place] = self._plan(place)
            except Undecided as fault:
                self._known[place] = str(fault)
        return self._known[place]

    def prepare(self, places: Sequence[int]) -> None:
        """Plan several expressions: Spark is asked for the types of as many at once as it takes."""
        parts: dict[Expression, None] = {}
        for place in places:
            try:
                parts.update(dict.fromkeys(self._bound(place).nodes) if place not in self._known else {})
            except Undecided:
                continue  # it is told by `of`
        try:
            for ansi in ANSI_MODES:
                self._learn(ansi, list(parts))
        except Undecided:
            half = len(places) // 2
            if half:  # else `of` finds out why
                self.prepare(places[:half])
                self.prepare(places[half:])

    def _bound(self, place: int) -> BoundExpression:
        condition, tree = self._knowledge.constraints[place]
        return self._columns.bind(tree, as_written=condition.applies_to_writes_only)

    def _plan(self, place: int) -> ExpressionPlan:
        bound = self._bound(place)
        bounds = compute_resource_bounds(bound.tree)
        nodes = list(bound.nodes)
        for node in nodes:
            if isinstance(node, Call):
                self._check(node.name)
        for ansi in ANSI_MODES:
            self._learn(ansi, nodes)
            types = self._types[ansi]
            if types[bound.tree] not in ("boolean", "void"):
                raise Undecided("it is no condition")
            check_session_independence(bound.tree, types.__getitem__)
        return ExpressionPlan(bound.columns, bound.broken, bounds)

    def _learn(self, ansi: str, nodes: list[Expression]) -> None:
        """Ask Spark for the types of parts of expressions. Raises `Undecided`."""
        known = self._types[ansi]
        asked = [node for node in nodes if node not in known]
        if not asked:
            return
        texts = [f"{render(node)} AS t{number}" for number, node in enumerate(asked)]
        if len(texts) > _MOST_PARTS or sum(map(len, texts)) > _MOST_CHARACTERS:
            raise Undecided("it has too many parts")
        try:
            with ansi_mode(self._spark, ansi):
                schema = self._spark.createDataFrame([], self.spark_schema).selectExpr(*texts).schema
        except Exception as fault:
            state = "on" if ansi == "true" else "off"
            raise Undecided(
                f"Spark does not take it: {get_error_condition(fault)} while ANSI mode is {state}"
            ) from fault
        known.update((node, each.dataType.simpleString()) for node, each in zip(asked, schema.fields, strict=True))

    def _check(self, name: str) -> None:
        for each in (name, *_OURS):
            if each not in self._built_in:
                self._built_in[each] = is_builtin_function(self._spark, each)
            if not self._built_in[each]:
                raise Undecided(f"the function {each} of this session is not that of Spark")


def _spelled(kind: DataType) -> str:
    """A type in SQL; names of a table are not in it."""
    match kind:
        case Array(element):
            return f"array<{_spelled(element)}>"
        case Map(key, value):
            return f"map<{_spelled(key)},{_spelled(value)}>"
        case Struct(fields):
            members = (f"{member_name(place)}:{_spelled(each.type)}" for place, each in enumerate(fields))
            return f"struct<{','.join(members)}>"
    return _SQL_NAMES.get(get_type_name(kind), get_type_name(kind))
