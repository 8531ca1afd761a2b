"""Delta Spark in one local session that serves all requests."""

import json
import os
from collections.abc import Iterator, Sequence
from importlib.metadata import version as get_version
from typing import Any

import delta
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from deltaspec.candidates.adapters.answers import ErrorTable, translate_errors
from deltaspec.candidates.adapters.delta_spark_writes import DeltaSparkWriter
from deltaspec.candidates.adapters.spark_frames import load_table, read_frame
from deltaspec.candidates.adapters.sql_text import Path
from deltaspec.candidates.serve import EngineError

ERRORS: ErrorTable = (
    (r"Unsupported encoding: |Codec was not found", "unsupported"),
    (r"\[DELTA_UNSUPPORTED_FEATURES_FOR_READ.*?Delta Lake[^:]*: (?P<features>[\w, -]+)", "unsupported"),
    (r"\[DELTA_(UNSUPPORTED|INVALID_PROTOCOL_VERSION|FEATURES_PROTOCOL_METADATA_MISMATCH)", "unsupported"),
    (
        r"\[DELTA_(PATH_DOES_NOT_EXIST|MISSING_DELTA_TABLE|TABLE_NOT_FOUND|VERSION_NOT_FOUND|TIMESTAMP_|CDC_START_)",
        "not-found",
    ),
    (r"\[PATH_NOT_FOUND|Trying to load a non-existent version", "not-found"),
    (r"No such struct field `row_id`", "invalid-request"),
    (r"\[DELTA_(MISSING_CHANGE_DATA|INVALID_CDC_RANGE|CDC_NOT_ALLOWED)", "invalid-request"),
    (r"\[(DELTA_|FAILED_READ_FILE)|FileNotFoundException|JsonParseException|is not a Parquet file", "corrupt"),
)
WRITE_ERRORS: ErrorTable = (
    (r"\[DELTA_(CONCURRENT_|METADATA_CHANGED|PROTOCOL_CHANGED|MAX_COMMIT_RETRIES)|Concurrent\w+Exception", "conflict"),
    (r"Permission denied|No space left|File too large|Disk quota|Failed to create|IOException|UncheckedIO", "io"),
    (r"\[DELTA_UNKNOWN_CONFIGURATION", "unsupported"),
    (r"\[DELTA_IDENTITY_COLUMNS_|\[ARITHMETIC_OVERFLOW|long overflow", "constraint"),
    (
        r"\[DELTA_(NOT_NULL_|VIOLATE_CONSTRAINT|GENERATED_COLUMNS_|NEW_CHECK_CONSTRAINT|CANNOT_MODIFY_)",
        "constraint",
    ),
    *ERRORS,
)
ROW_IDS = ("_metadata.row_id AS __row_id", "_metadata.row_commit_version AS __row_commit_version")
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Duser.timezone=UTC"
"""Options for many small queries. With one compiler Java reserves 48 MB for compiled code, which Spark fills: it then
compiles code and drops it again, which takes as much CPU time as the queries."""
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Drawn tables have commits of 2023, older than `delta.deletedFileRetentionDuration`.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    # Tables are small and each has another schema: interpreting is several times as fast as compiling code.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
}


class Engine:
    """Delta Spark.

    Args:
        session: a session with the settings of Delta Spark and the time zone UTC; None starts one.
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = _start_session() if session is None else session
        jvm: Any = self._session.sparkContext._jvm
        self._jvm, self._log = jvm, jvm.org.apache.spark.sql.delta.DeltaLog
        self._writer = DeltaSparkWriter(self._session, jvm)
        self._seen: object = None

    def hello(self) -> dict[str, Any]:
        """Return the capabilities."""
        return {
            "name": "delta_spark",
            "version": f"{get_version('delta-spark')} on Spark {pyspark.__version__}",
            "language": "Scala",
            "want": ["files", "transactions", "domains"],
            "at": ["version", "timestamp_ms"],
            "row_ids": True,
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            "reader_features": [
                "columnMapping",
                "deletionVectors",
                "geospatial",
                "timestampNtz",
                "typeWidening",
                "typeWidening-preview",
                "v2Checkpoint",
                "vacuumProtocolCheck",
                "variantShredding",
                "variantShredding-preview",
                "variantType",
                "variantType-preview",
            ],
            "kinds": list(self._writer.operations),
            "writer_features": [
                "allowColumnDefaults",
                "appendOnly",
                "changeDataFeed",
                "checkConstraints",
                "checkpointProtection",
                "clustering",
                "columnMapping",
                "deletionVectors",
                "domainMetadata",
                "generatedColumns",
                "icebergCompatV1",
                "icebergCompatV2",
                "identityColumns",
                "inCommitTimestamp",
                "invariants",
                "rowTracking",
                "timestampNtz",
                "typeWidening",
                "typeWidening-preview",
                "v2Checkpoint",
                "vacuumProtocolCheck",
                "variantType",
                "variantType-preview",
            ],
        }

    def snapshot(
        self, table: str, *, at: dict[str, int] | None, want: Sequence[str], app_ids: Sequence[str]
    ) -> dict[str, Any]:
        """Return everything that the class `Snapshot` of Delta Spark shows."""
        with translate_errors(ERRORS, "snapshot"):
            found = self._open_snapshot(table, at)
            answer: dict[str, Any] = {
                "version": found.version(),
                "timestamp_ms": found.timestamp(),
                "protocol": json.loads(found.protocol().json())["protocol"],
                "metadata": json.loads(found.metadata().json())["metaData"],
            }
            if "files" in want:
                rows = found.allFiles().toJSON().collectAsList()
                answer["files"] = [_describe_file(json.loads(each)) for each in rows]
            if "transactions" in want:
                answer["transactions"] = {each.appId(): each.version() for each in _iterate(found.setTransactions())}
            if "domains" in want:
                answer["domains"] = {each.domain(): each.configuration() for each in _iterate(found.domainMetadata())}
            return answer

    def scan(
        self,
        table: str,
        *,
        at: dict[str, int] | None,
        columns: Sequence[Path] | None,
        predicate: str | None,
        predicate_tree: Sequence[Any] | None,
        row_ids: bool,
    ) -> pa.Table | dict[str, Any]:
        """Return the rows of a data frame."""
        with translate_errors(ERRORS, "snapshot"):
            self._forget_other_tables(table)
            frame = load_table(self._session, table, at)
        with translate_errors(ERRORS, "scan"):
            return read_frame(
                frame, columns, predicate, predicate_tree, ROW_IDS if row_ids else (), collect=_collect_rows
            )

    def changes(
        self,
        table: str,
        *,
        start: int,
        end: int | None,
        columns: Sequence[Path] | None,
        predicate: str | None,
        predicate_tree: Sequence[Any] | None,
    ) -> pa.Table | dict[str, Any]:
        """Return the rows of a data frame of the change data feed."""
        options = {"readChangeFeed": "true", "startingVersion": str(start)}
        if end is not None:
            options["endingVersion"] = str(end)
        with translate_errors(ERRORS, "changes"):
            self._forget_other_tables(table)
            frame = load_table(self._session, table, None, **options)
            names = ("_change_type", "_commit_version", "_commit_timestamp") if columns is not None else ()
            return read_frame(frame, columns, predicate, predicate_tree, names, collect=_collect_rows)

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        """Perform an operation."""
        with translate_errors(WRITE_ERRORS, "commit"):
            return self._writer.apply(table, operation, commit or {})

    def _forget_other_tables(self, table: str) -> None:
        """Clear the cache of Delta Spark unless the last request was about the same files of the same log."""
        seen = (table, _list_log(table))
        if seen != self._seen:
            self._log.clearCache()
            self._seen = seen

    def _open_snapshot(self, table: str, at: dict[str, int] | None) -> Any:
        self._forget_other_tables(table)
        opened = self._log.forTableWithSnapshot(self._session._jsparkSession, table)
        log, newest = opened._1(), opened._2()
        if newest.version() < 0:
            raise EngineError("not-found", f"DeltaLog shows no version of {table}", phase="snapshot")
        if not at:
            return newest
        version = at.get("version")
        if version is None:
            time, nothing = self._jvm.java.sql.Timestamp(at["timestamp_ms"]), self._jvm.scala.Option.empty()
            version = log.history().getActiveCommitAtTime(time, nothing, False, True, False).version()
        defaults = (getattr(log, f"getSnapshotAt$default${number}")() for number in (2, 3, 4))
        return log.getSnapshotAt(version, *defaults)


def _start_session() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").appName("deltaspec candidate")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = delta.configure_spark_with_delta_pip(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _list_log(table: str) -> list[tuple[str, int, int]]:
    """Return name, size and modification time of the files of a log."""
    found = []
    for folder, _, names in os.walk(os.path.join(table, "_delta_log")):
        status = [(path, os.stat(path)) for path in (os.path.join(folder, name) for name in sorted(names))]
        found += [(path, each.st_size, each.st_mtime_ns) for path, each in status]
    return found


def _collect_rows(frame: Any) -> pa.Table:
    """Return all rows.

    `toArrow` does the same and then casts to a schema in which fields of null structs and parts of null variants are
    not nullable, which pyarrow refuses.
    """
    return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))


def _iterate(sequence: Any) -> Iterator[Any]:
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _describe_file(add: dict[str, Any]) -> dict[str, Any]:
    file = {"path": add["path"], "size": add["size"]}
    if vector := add.get("deletionVector"):
        offset = f"@{vector['offset']}" if "offset" in vector else ""
        file["deletion_vector_id"] = vector["storageType"] + vector["pathOrInlineDv"] + offset
    return file
