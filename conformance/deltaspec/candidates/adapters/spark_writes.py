"""Operations of `apply` through SQL and data frames of Spark, shared by Delta Spark and Sail."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from deltaspec.candidates.adapters.answers import refuse_operation
from deltaspec.candidates.adapters.spark_frames import SPARK_SQL

Operation: TypeAlias = Mapping[str, Any]
Perform: TypeAlias = Callable[[str, Operation], object]
"""Performs an operation on the table at a path."""

_ROWS_VIEW = "deltaspec_rows"


class SqlWriter:
    """Performs operations in a session.

    Args:
        session: The session.
        read_schema: Returns the schema of a table as JSON text.
    """

    def __init__(self, session: SparkSession, read_schema: Callable[[str], str]) -> None:
        self.session = session
        self._read_schema = read_schema
        self.operations: dict[str, Perform] = {
            "append": self.append,
            "overwrite": self.overwrite,
            "delete": self.delete,
            "update": self.update,
            "merge": self.merge,
            "optimize": self.optimize,
            "purge": lambda table, _: self.run(f"REORG TABLE {name_table(table)} APPLY (PURGE)"),
            "restore": lambda table, each: self.run(
                f"RESTORE TABLE {name_table(table)} TO VERSION AS OF {each['version']}"
            ),
            "vacuum": lambda table, each: self.run(
                f"VACUUM {name_table(table)} RETAIN {each['retention_hours']} HOURS"
            ),
            "set-properties": self.set_properties,
            "add-column": self.add_column,
            "rename-column": lambda table, each: self.alter(
                table, f"RENAME COLUMN {render_path(each['from'])} TO {SPARK_SQL.quote_name(get_last(each['to']))}"
            ),
            "drop-column": lambda table, each: self.alter(table, f"DROP COLUMN {render_path(each['name'])}"),
            "widen-column": lambda table, each: self.alter(
                table, f"ALTER COLUMN {render_path(each['name'])} TYPE {each['type']}"
            ),
            "add-feature": lambda table, each: self.alter(
                table, f"SET TBLPROPERTIES ('delta.feature.{each['feature']}' = 'supported')"
            ),
            "drop-feature": lambda table, each: self.alter(table, f"DROP FEATURE {quote(each['feature'])}"),
            "add-constraint": lambda table, each: self.alter(
                table, f"ADD CONSTRAINT {quote(each['name'])} CHECK ({each['sql']})"
            ),
            "drop-constraint": lambda table, each: self.alter(table, f"DROP CONSTRAINT {quote(each['name'])}"),
        }

    def perform(self, table: str, operation: Operation) -> None:
        """Perform an operation. Raises `EngineError` if its kind is unknown."""
        perform = self.operations.get(operation["kind"])
        if perform is None:
            raise refuse_operation(f"the kind {operation['kind']} is not offered", "commit")
        perform(table, operation)

    def run(self, statement: str) -> list[Any]:
        """Run a statement to its end."""
        return self.session.sql(statement).collect()

    def alter(self, table: str, change: str) -> None:
        """Alter a table."""
        self.run(f"ALTER TABLE {name_table(table)} {change}")

    def load_rows(self, path: str, schema: StructType) -> DataFrame:
        """Load the rows of an Arrow IPC file with the types of a table's schema, and other columns with their own."""
        rows = pa.ipc.open_file(path).read_all()
        types = {field.name.lower(): field.dataType for field in schema.fields}
        fields = [(each.name, types.get(each.name.lower()) or from_arrow_type(each.type)) for each in rows.schema]
        found = StructType([StructField(name, kind, True) for name, kind in fields])
        return self.session.createDataFrame(rows, found)

    def load_table_rows(self, table: str, operation: Operation) -> DataFrame:
        """Load the rows of an operation on an existing table."""
        return self.load_rows(operation["rows"], parse_schema(self._read_schema(table)))

    def append(self, table: str, operation: Operation) -> None:
        """Append rows."""
        self.load_table_rows(table, operation).write.format("delta").mode("append").save(table)

    def overwrite(self, table: str, operation: Operation) -> None:
        """Replace all rows, or those that match a condition."""
        writer = self.load_table_rows(table, operation).write.format("delta").mode("overwrite")
        if operation.get("where"):
            writer = writer.option("replaceWhere", render_where(operation["where"]))
        writer.save(table)

    def delete(self, table: str, operation: Operation) -> None:
        """Delete rows."""
        self.run(f"DELETE FROM {name_table(table)}{_render_clause(operation)}")

    def update(self, table: str, operation: Operation) -> None:
        """Set columns to literals."""
        values = ", ".join(
            f"{quote(name)} = {SPARK_SQL.render_literal(*literal[1:])}" for name, literal in operation["set"].items()
        )
        self.run(f"UPDATE {name_table(table)} SET {values}{_render_clause(operation)}")

    def merge(self, table: str, operation: Operation, *, evolves: bool = False) -> None:
        """Merge rows; columns that they do not have, such as generated ones, are not named, unless the table evolves.

        Args:
            table: directory of the table.
            operation: the operation.
            evolves: whether the table gets the columns that only the rows have.
        """
        rows = self.load_table_rows(table, operation)
        rows.createOrReplaceTempView(_ROWS_VIEW)
        names = [quote(name) for name in rows.columns]
        update, insert = ", ".join(f"t.{name} = s.{name}" for name in names), ", ".join(names)
        values = ", ".join(f"s.{name}" for name in names)
        update, insert = ("*", "*") if evolves else (update, f"({insert}) VALUES ({values})")
        clauses = {"update": f"UPDATE SET {update}", "delete": "DELETE"}
        condition = " AND ".join(f"t.{quote(name)} = s.{quote(name)}" for name in operation["on"])
        evolution = "WITH SCHEMA EVOLUTION " * evolves
        statement = f"MERGE {evolution}INTO {name_table(table)} AS t USING {_ROWS_VIEW} AS s ON {condition}"
        if operation.get("matched"):
            statement += f" WHEN MATCHED THEN {clauses[operation['matched']]}"
        if operation.get("not_matched"):
            statement += f" WHEN NOT MATCHED THEN INSERT {insert}"
        self.run(statement)

    def optimize(self, table: str, _: Operation) -> None:
        """Compact small files."""
        self.run(f"OPTIMIZE {name_table(table)}")

    def set_properties(self, table: str, operation: Operation) -> None:
        """Set properties, and remove those without a value."""
        pairs = [(quote_text(name), text) for name, text in operation["properties"].items()]
        values = ", ".join(f"{name} = {quote_text(text)}" for name, text in pairs if text is not None)
        removed = ", ".join(name for name, text in pairs if text is None)
        if values and removed:
            raise refuse_operation("one statement cannot set and remove properties", "commit")
        self.alter(table, f"SET TBLPROPERTIES ({values})" if values else f"UNSET TBLPROPERTIES IF EXISTS ({removed})")

    def add_column(self, table: str, operation: Operation) -> None:
        """Add a column or a nested field."""
        if not operation.get("nullable", True):
            raise refuse_operation("ADD COLUMNS adds only nullable columns", "commit")
        after = f" AFTER {quote(get_last(operation['after']))}" if operation.get("after") else ""
        self.alter(table, f"ADD COLUMNS ({render_path(operation['name'])} {operation['type']}{after})")


def parse_schema(text: str) -> StructType:
    """Parse the schema of a table; char, varchar and other metadata of columns are left out."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: {} if name == "metadata" else clean(each) for name, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list) else value

    return StructType.fromJson(clean(json.loads(text)))


def name_table(table: str) -> str:
    """Return the name of the table at a path."""
    return f"delta.{quote(table)}"


def quote(name: str) -> str:
    """Return a name as an identifier."""
    return SPARK_SQL.quote_name(name)


def quote_text(text: str) -> str:
    """Return a string literal."""
    return SPARK_SQL.quote_text(text)


def render_path(path: str | list[str]) -> str:
    """Return the path of a column or nested field."""
    return ".".join(quote(name) for name in ([path] if isinstance(path, str) else path))


def get_last(path: str | list[str]) -> str:
    """Return the last name of a path."""
    return path if isinstance(path, str) else path[-1]


def render_where(where: Mapping[str, Any]) -> str:
    """Return a condition."""
    tree = where.get("tree")
    return SPARK_SQL.render_predicate(tree) if tree is not None else str(where["sql"])


def _render_clause(operation: Operation) -> str:
    return f" WHERE {render_where(operation['where'])}" if operation.get("where") else ""
