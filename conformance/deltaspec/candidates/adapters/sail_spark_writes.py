"""Operations of `apply` on Sail."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from deltaspec.candidates.adapters.answers import refuse_operation
from deltaspec.candidates.adapters.spark_writes import Operation, SqlWriter, quote, quote_text

_KINDS = ("append", "overwrite", "delete", "update", "merge", "set-properties", "add-constraint")


class SailWriter(SqlWriter):
    """Performs operations. No command of Sail returns the version that it committed."""

    def __init__(self, session: SparkSession) -> None:
        super().__init__(session, lambda table: str(session.read.format("delta").load(table).schema.json()))
        self.operations = {"create": self.create, **{kind: self.operations[kind] for kind in _KINDS}}
        self._names: dict[str, str] = {}
        """Name in the catalog of the session by path of the table: only names can be created and altered."""

    def apply(self, table: str, operation: Operation, commit: Mapping[str, Any]) -> dict[str, Any]:
        """Perform an operation and return the fields of the answer."""
        if any(commit.get(name) for name in ("domains", "txn", "user_metadata")) or commit.get("hooks") is False:
            raise refuse_operation("Sail has no options of commits that work for every operation", "commit")
        self.perform(table, operation)
        return {"committed": True}

    def create(self, table: str, operation: Operation) -> None:
        """Create a table; its first rows are a second commit."""
        columns = [
            f"{quote(field['name'])} {field['type']}{'' if field['nullable'] else ' NOT NULL'}"
            for field in json.loads(operation["schema"])["fields"]
        ]
        clauses = [f"CREATE TABLE {self._add_name(table)} ({', '.join(columns)}) USING delta"]
        if operation.get("partition_by"):
            clauses.append(f"PARTITIONED BY ({', '.join(quote(name) for name in operation['partition_by'])})")
        clauses.append(f"LOCATION {quote_text(table)}")
        if operation.get("properties"):
            pairs = [f"{quote_text(name)} = {quote_text(text)}" for name, text in operation["properties"].items()]
            clauses.append(f"TBLPROPERTIES ({', '.join(pairs)})")
        self.run(" ".join(clauses))
        if operation.get("rows"):
            self.append(table, operation)

    def alter(self, table: str, change: str) -> None:
        """Alter a table by its name."""
        if table not in self._names:
            self.run(f"CREATE TABLE {self._add_name(table)} USING delta LOCATION {quote_text(table)}")
        self.run(f"ALTER TABLE {self._names[table]} {change}")

    def _add_name(self, table: str) -> str:
        return self._names.setdefault(table, f"deltaspec_{len(self._names)}")
