"""Plan how Spark evaluates each expression of a table, or state why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from deltaspec.protocol.schema.data_types import Array, DataType, Map, Struct, get_type_name
from deltaspec.sql.binding import BoundExpression, ColumnNumbering, column_name
from deltaspec.sql.logical_row_reader import arrow_type, member_name
from deltaspec.sql.resource_bounds import ResourceBounds, compute_resource_bounds
from deltaspec.sql.session_independence import ZoneDependent, check_session_independence
from deltaspec.sql.spark_needs import ZONE_OPTION
from deltaspec.sql.terms import Undecided
from deltaspec.sql.tree import Call, Expression, render
from deltaspec.validation.spark.constraint_session import (
    ANSI_MODES,
    get_error_condition,
    is_builtin_function,
    set_ansi_mode,
)
from deltaspec.validation.spark.constraint_tasks import ConstraintContext, Name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_NODES = 2_000
_MAX_SQL_CHARACTERS = 1 << 18
"""Limits of one query that asks Spark for the types of expression nodes."""
_COUNTING_FUNCTIONS = ("count", "min", "bit_xor", "xxhash64", "collect_set", "struct")
"""Functions that the kit calls to count violating rows."""
_SQL_NAMES = {"byte": "tinyint", "short": "smallint", "long": "bigint", "timestamp": "timestamp_ltz"}
_FIXED = [("file", pa.int32()), ("row", pa.int64()), ("of", pa.int32()), ("fault", pa.string())]


class ExpressionPlan(msgspec.Struct, frozen=True):
    """An expression that Spark evaluates."""

    columns: frozenset[int]
    """Numbers of the columns it uses."""
    broken: Expression
    """True for violating rows, otherwise false; columns are named by `column_name`."""
    bounds: ResourceBounds


class ExpressionPlanner:
    """Plans the expressions of a table on demand. Spark never sees expressions that the kit evaluates itself."""

    def __init__(self, isolated: SparkSession | None, context: ConstraintContext) -> None:
        """Start without plans.

        Args:
            isolated: an isolated session, whose settings change; None if Spark cannot create one.
            context: the expressions and the table.
        """
        self._isolated, self._context = isolated, context
        table = context.table
        self._columns = ColumnNumbering(table.schema, table.partition_columns)
        self._plans: dict[int, ExpressionPlan | str] = {}
        self._is_builtin: dict[str, bool] = {}
        self._types: dict[str, dict[Expression, str]] = {ansi: {} for ansi in ANSI_MODES}

    @property
    def _session(self) -> SparkSession:
        if self._isolated is None:
            raise Undecided("Spark Connect before 4.1 has no isolated sessions to evaluate it in")
        return self._isolated

    @property
    def names(self) -> list[Name]:
        """Columns of all plans so far; a column's index is its number."""
        return self._columns.names

    @property
    def arrow_schema(self) -> pa.Schema:
        """Schema of the rows that Spark receives."""
        kinds = map(arrow_type, self._columns.types)
        return pa.schema([*_FIXED, *((column_name(number), kind) for number, kind in enumerate(kinds))])

    @property
    def spark_schema(self) -> str:
        """The same schema as a Spark DDL string."""
        kinds = [f"{column_name(number)} {_to_sql_type(kind)}" for number, kind in enumerate(self._columns.types)]
        return ", ".join(["file int", "row bigint", "of int", "fault string", *kinds])

    def list_column_names(self, index: int) -> list[Name]:
        """Return the columns that an expression uses; none if it has no plan."""
        plan = self.get_plan(index)
        return [] if isinstance(plan, str) else [self.names[number] for number in sorted(plan.columns)]

    def get_plan(self, index: int) -> ExpressionPlan | str:
        """Return the plan of the constraint at an index, or why Spark cannot evaluate it."""
        if index not in self._plans:
            try:
                self._plans[index] = self._build_plan(index)
            except Undecided as fault:
                self._plans[index] = str(fault)
        return self._plans[index]

    def prepare(self, indexes: Sequence[int]) -> None:
        """Look up the types of several expressions in as few Spark queries as possible."""
        nodes: dict[Expression, None] = {}
        for index in indexes:
            try:
                nodes.update(dict.fromkeys(self._bind(index).nodes) if index not in self._plans else {})
            except Undecided:
                continue  # `get_plan` reports why
        try:
            for ansi in ANSI_MODES:
                self._load_types(ansi, list(nodes))
        except Undecided:
            half = len(indexes) // 2
            if half:  # for a single expression, `get_plan` reports why
                self.prepare(indexes[:half])
                self.prepare(indexes[half:])

    def _bind(self, index: int) -> BoundExpression:
        constraint, tree = self._context.constraints[index]
        return self._columns.bind(tree, writes_only=constraint.applies_to_writes_only)

    def _build_plan(self, index: int) -> ExpressionPlan:
        bound = self._bind(index)
        bounds = compute_resource_bounds(bound.tree)
        nodes = list(bound.nodes)
        for node in nodes:
            if isinstance(node, Call):
                self._check_functions(node.name)
        for ansi in ANSI_MODES:
            self._load_types(ansi, nodes)
            types = self._types[ansi]
            if types[bound.tree] not in ("boolean", "void"):
                raise Undecided(f"its type is {types[bound.tree]}; expected boolean")
            try:
                zone_is_known = self._context.writer_time_zone is not None
                check_session_independence(bound.tree, types.__getitem__, zone_is_known=zone_is_known)
            except ZoneDependent as fault:
                raise Undecided(f"{fault}; {ZONE_OPTION} names it") from fault
        return ExpressionPlan(bound.columns, bound.violation, bounds)

    def _load_types(self, ansi: str, nodes: list[Expression]) -> None:
        """Ask Spark for the types of expression nodes. Raises `Undecided`."""
        known = self._types[ansi]
        unknown = [node for node in nodes if node not in known]
        if not unknown:
            return
        columns = [f"{render(node)} AS t{number}" for number, node in enumerate(unknown)]
        if len(columns) > _MAX_NODES or sum(map(len, columns)) > _MAX_SQL_CHARACTERS:
            raise Undecided("it is too large for Spark to analyze")
        try:
            set_ansi_mode(self._session, ansi)
            schema = self._session.createDataFrame([], self.spark_schema).selectExpr(*columns).schema
        except Exception as fault:
            state = "on" if ansi == "true" else "off"
            raise Undecided(f"Spark rejects it: {get_error_condition(fault)} with ANSI mode {state}") from fault
        known.update((node, each.dataType.simpleString()) for node, each in zip(unknown, schema.fields, strict=True))

    def _check_functions(self, name: str) -> None:
        """Raise `Undecided` if the session redefines this function or one that the kit calls."""
        for each in (name, *_COUNTING_FUNCTIONS):
            if each not in self._is_builtin:
                self._is_builtin[each] = is_builtin_function(self._session, each)
            if not self._is_builtin[each]:
                raise Undecided(f"this session redefines the built-in function {each}")


def _to_sql_type(data_type: DataType) -> str:
    """Render a type in SQL, without field names of the table."""
    match data_type:
        case Array(element):
            return f"array<{_to_sql_type(element)}>"
        case Map(key, value):
            return f"map<{_to_sql_type(key)},{_to_sql_type(value)}>"
        case Struct(fields):
            members = (f"{member_name(index)}:{_to_sql_type(each.type)}" for index, each in enumerate(fields))
            return f"struct<{','.join(members)}>"
    return _SQL_NAMES.get(get_type_name(data_type), get_type_name(data_type))
