"""Operations of `apply` on Delta Spark."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from delta.tables import DeltaTable, DeltaTableBuilder
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from deltaspec.candidates.adapters.answers import refuse_operation
from deltaspec.candidates.adapters.spark_writes import (
    Operation,
    SqlWriter,
    name_table,
    parse_schema,
    quote,
    render_path,
)
from deltaspec.protocol.property_names import CHECKPOINT_POLICY

_DELTA = "spark.databricks.delta"
_LAST_VERSION = f"{_DELTA}.lastCommitVersionInSession"
_SETTINGS = {
    f"{_DELTA}.retentionDurationCheck.enabled": "false",
    f"{_DELTA}.optimize.minFileSize": str(2**40),
    "spark.sql.sources.partitionOverwriteMode": "static",
}
_MULTIPART_ROWS = 2
"""Maximum number of actions in a part of a multi-part checkpoint."""


class DeltaSparkWriter(SqlWriter):
    """Performs operations and returns the version that each committed."""

    def __init__(self, session: SparkSession, jvm: Any) -> None:
        super().__init__(session, self._read_schema_text)
        self._log = jvm.org.apache.spark.sql.delta.DeltaLog
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        self.operations |= {
            "create": self.create,
            "replace": self.replace,
            "convert": self.convert,
            "clone": lambda table, each: self.run(
                f"CREATE TABLE {name_table(table)} SHALLOW CLONE {name_table(each['source'])}"
            ),
            "append-with-evolution": self.append_with_evolution,
            "overwrite-partitions": self.overwrite_partitions,
            "merge-with-evolution": lambda table, each: self.merge(table, each, evolves=True),
            "set-default": self.set_default,
            "cluster-by": self.cluster_by,
            "checkpoint": self.checkpoint,
            "cleanup-log": self.clean_up_log,
        }

    def apply(self, table: str, operation: Operation, commit: Mapping[str, Any]) -> dict[str, Any]:
        """Perform an operation and return the fields of the answer."""
        if commit.get("domains"):
            raise refuse_operation("Delta Spark has no command for domain metadata", "commit")
        if commit.get("hooks") is False:
            raise refuse_operation("Delta Spark has no setting that suppresses checkpoints after commits", "commit")
        settings = {}
        if commit.get("user_metadata") is not None:
            settings[f"{_DELTA}.commitInfo.userMetadata"] = commit["user_metadata"]
        if commit.get("txn"):
            settings[f"{_DELTA}.write.txnAppId"] = commit["txn"]["app_id"]
            settings[f"{_DELTA}.write.txnVersion"] = str(commit["txn"]["version"])
        self._log.clearCache()
        self.session.conf.unset(_LAST_VERSION)
        with self._use_settings(settings):
            self.perform(table, operation)
        version = self.session.conf.get(_LAST_VERSION, None)
        return {"committed": version is not None, "version": None if version is None else int(version)}

    @contextmanager
    def _use_settings(self, settings: Mapping[str, str]) -> Iterator[None]:
        for name, value in settings.items():
            self.session.conf.set(name, value)
        try:
            yield
        finally:
            for name in settings:
                self.session.conf.unset(name)

    def create(self, table: str, operation: Operation) -> None:
        """Create a table; its first rows are a second commit."""
        self._build(DeltaTable.create(self.session), table, operation)

    def replace(self, table: str, operation: Operation) -> None:
        """Replace schema and content of a table; its first rows are a second commit."""
        self._build(DeltaTable.replace(self.session), table, operation)

    def _build(self, builder: DeltaTableBuilder, table: str, operation: Operation) -> None:
        schema = StructType.fromJson(json.loads(operation["schema"]))
        builder = builder.location(table).addColumns(schema).partitionedBy(*operation.get("partition_by") or ())
        for name, value in (operation.get("properties") or {}).items():
            builder = builder.property(name, value)
        builder.execute()
        for each in schema.fields:  # the builder drops defaults
            if "CURRENT_DEFAULT" in each.metadata:
                self.alter(table, f"ALTER COLUMN {quote(each.name)} SET DEFAULT {each.metadata['CURRENT_DEFAULT']}")
        if operation.get("rows"):
            self.append(table, operation)

    def convert(self, table: str, operation: Operation) -> None:
        """Convert the Parquet files in a directory. Delta Spark reads the schema of the other columns from them."""
        kinds = {field.name: field.dataType for field in parse_schema(operation["schema"])}
        columns = ", ".join(
            f"{quote(name)} {kinds[name].simpleString()}" for name in operation.get("partition_by") or ()
        )
        self.run(f"CONVERT TO DELTA parquet.{quote(table)}{f' PARTITIONED BY ({columns})' if columns else ''}")

    def append_with_evolution(self, table: str, operation: Operation) -> None:
        """Append rows and the columns that only they have."""
        rows = self.load_table_rows(table, operation)
        rows.write.format("delta").mode("append").option("mergeSchema", "true").save(table)

    def overwrite_partitions(self, table: str, operation: Operation) -> None:
        """Replace the partitions that the new rows have."""
        rows = self.load_table_rows(table, operation)
        rows.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(table)

    def set_default(self, table: str, operation: Operation) -> None:
        """Set or remove the default of a column."""
        text = operation.get("sql")
        change = "DROP DEFAULT" if text is None else f"SET DEFAULT {text}"
        self.alter(table, f"ALTER COLUMN {render_path(operation['name'])} {change}")

    def cluster_by(self, table: str, operation: Operation) -> None:
        """Change the clustering columns."""
        columns = ", ".join(map(render_path, operation.get("columns") or ()))
        self.alter(table, f"CLUSTER BY ({columns})" if columns else "CLUSTER BY NONE")

    def checkpoint(self, table: str, operation: Operation) -> None:
        """Write a checkpoint of the newest version; the property `delta.checkpointPolicy` decides between v1 and v2."""
        log, snapshot = self._open(table)
        configuration = json.loads(snapshot.metadata().json())["metaData"].get("configuration", {})
        forms = ("v2-sidecars",) if configuration.get(CHECKPOINT_POLICY) == "v2" else ("v1", "multipart")
        form = operation.get("form")
        if form is not None and form not in forms:
            raise refuse_operation(f"the policy of the table does not allow a checkpoint of the form {form}", "commit")
        name = f"{_DELTA}.checkpoint.partSize"
        with self._use_settings({name: str(_MULTIPART_ROWS)} if form == "multipart" else {}):
            log.checkpoint(snapshot, self._log_default(log, "checkpoint", 2))

    def clean_up_log(self, table: str, _: Operation) -> None:
        """Delete expired files of the log."""
        log, snapshot = self._open(table)
        log.cleanUpExpiredLogs(
            snapshot, *(self._log_default(log, "cleanUpExpiredLogs", number) for number in (2, 3, 4))
        )

    @staticmethod
    def _log_default(log: Any, method: str, number: int) -> Any:
        return getattr(log, f"{method}$default${number}")()

    def _open(self, table: str) -> tuple[Any, Any]:
        self._log.clearCache()
        opened = self._log.forTableWithSnapshot(self.session._jsparkSession, table)
        return opened._1(), opened._2()

    def _read_schema_text(self, table: str) -> str:
        metadata = json.loads(self._open(table)[1].metadata().json())["metaData"]
        return str(metadata["schemaString"])
