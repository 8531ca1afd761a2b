"""How each expression of a table is handed to Spark, or why it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaspec.model.data_types import Array, DataType, Decimal, Map, Struct, name_of
from deltaspec.validate.spark.constraint_session import MODES, condition_of, is_built_in, mode
from deltaspec.validate.spark.constraint_tasks import Knowledge, Name
from deltaspec.wire.logical_rows import arrow_type, member_name
from deltaspec.wire.sql_binding import Columns, column_name
from deltaspec.wire.sql_settings import settle
from deltaspec.wire.sql_terms import Undecided
from deltaspec.wire.sql_tree import Call, Expression, render

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_MOST_PARTS = 400
_MOST_CHARACTERS = 1 << 18
"""Of the SQL by which Spark is asked for the types of all parts of an expression."""
_OURS = ("count", "min", "bit_xor", "xxhash64", "collect_set", "struct")
"""Functions that the counting of rows calls."""
_FIXED = [("file", pa.int32()), ("row", pa.int64()), ("of", pa.int32()), ("fault", pa.string())]


@dataclass(frozen=True)
class Plan:
    """An expression as Spark is handed it."""

    columns: frozenset[int]
    """Numbers of the columns that it asks for."""
    broken: Expression
    """True of rows that break it, false of others; over columns called by `column_name`."""


class Plans:
    """The expressions of a table, planned as they are asked for: what the kit evaluates itself, Spark never sees."""

    def __init__(self, spark: SparkSession, knowledge: Knowledge) -> None:
        self._spark, self._knowledge = spark, knowledge
        table = knowledge.table
        self._columns = Columns(table.schema, table.partition_columns)
        self._known: dict[int, Plan | str] = {}
        self._built_in: dict[str, bool] = {}

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
    def spark_schema(self) -> StructType:
        """The same in Spark's words."""
        from pyspark.sql.types import StructType

        fixed = StructType().add("file", "integer").add("row", "long").add("of", "integer").add("fault", "string")
        for number, kind in enumerate(self._columns.types):
            fixed = fixed.add(column_name(number), _spark_type(kind))
        return fixed

    def names_of(self, place: int) -> list[Name]:
        """The columns that an expression asks for."""
        plan = self.of(place)
        return [] if isinstance(plan, str) else [self.names[number] for number in sorted(plan.columns)]

    def of(self, place: int) -> Plan | str:
        """The plan of an expression, by its place among the conditions; or why it is not handed to Spark."""
        if place not in self._known:
            try:
                self._known[place] = self._plan(place)
            except Undecided as fault:
                self._known[place] = str(fault)
        return self._known[place]

    def _plan(self, place: int) -> Plan:
        condition, tree = self._knowledge.conditions[place]
        bound = self._columns.bind(tree, as_written=condition.binds_writes)
        nodes = list(bound.nodes)
        for node in nodes:
            if isinstance(node, Call):
                self._check(node.name)
        texts = [render(node) for node in nodes]
        if len(nodes) > _MOST_PARTS or sum(map(len, texts)) > _MOST_CHARACTERS:
            raise Undecided("it has too many parts")
        for ansi in MODES:
            with mode(self._spark, ansi):
                types = self._types(nodes, texts, ansi)
            if types[bound.tree] not in ("boolean", "void"):
                raise Undecided("it is no condition")
            settle(bound.tree, types.__getitem__)
        return Plan(bound.columns, bound.broken)

    def _types(self, nodes: list[Expression], texts: list[str], ansi: str) -> Mapping[Expression, str]:
        """The type that Spark gives to each part of an expression."""
        named = [f"{text} AS t{number}" for number, text in enumerate(texts)]
        try:
            schema = self._spark.createDataFrame([], self.spark_schema).selectExpr(*named).schema
        except Exception as fault:
            state = "on" if ansi == "true" else "off"
            raise Undecided(f"Spark does not take it: {condition_of(fault)} while ANSI mode is {state}") from fault
        return {node: each.dataType.simpleString() for node, each in zip(nodes, schema.fields, strict=True)}

    def _check(self, name: str) -> None:
        for each in (name, *_OURS):
            if each not in self._built_in:
                self._built_in[each] = is_built_in(self._spark, each)
            if not self._built_in[each]:
                raise Undecided(f"the function {each} of this session is not that of Spark")


def _spark_type(kind: DataType) -> Any:
    from pyspark.sql import types

    match kind:
        case Decimal(precision, scale):
            return types.DecimalType(precision, scale)
        case Array(element):
            return types.ArrayType(_spark_type(element))
        case Map(key, value):
            return types.MapType(_spark_type(key), _spark_type(value))
        case Struct(fields):
            members = [(member_name(place), each.type) for place, each in enumerate(fields)]
            return types.StructType([types.StructField(name, _spark_type(each)) for name, each in members])
    return name_of(kind)
