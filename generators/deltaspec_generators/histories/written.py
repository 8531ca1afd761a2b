"""Histories for faults of writers that drawn histories rarely show."""

from collections.abc import Callable, Mapping
from typing import Any

from deltaspec.protocol.features.identity_columns import Identity
from deltaspec.protocol.property_names import (
    APPEND_ONLY,
    CHANGE_DATA_FEED,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    FILE_RETENTION,
    IN_COMMIT_TIMESTAMPS,
    LOG_RETENTION,
    MAX_COLUMN_ID,
    PARQUET_CODEC,
    ROW_TRACKING,
)
from deltaspec_generators.histories import conditions
from deltaspec_generators.histories.drawing import FEATURE_PROPERTIES, Step, describe_new_table
from deltaspec_generators.histories.kinds import (
    AGE_LOG,
    CLUSTERED_BY_OTHERS,
    DROP_UNKNOWN_FEATURE,
    FAST_CLOCK,
    UNKNOWN_FEATURE,
    UNREFERENCED_SIDECAR,
)
from deltaspec_generators.histories.plain_table import (
    ID,
    Column,
    PlainTable,
    Row,
    render_type,
)

_VECTORS = {DELETION_VECTORS: "true"}
_CHANGES = {CHANGE_DATA_FEED: "true"}


def _create(*columns: Column, partition_by: tuple[str, ...] = (), properties: Mapping[str, str] | None = None) -> Step:
    table = PlainTable((Column(ID, "long"), *columns))
    return Step({"kind": "create", "schema": table.render_schema(), "partition_by": list(partition_by),
                 "properties": dict(properties or {})})  # fmt: skip


def _append(*rows: Row, **commit: Any) -> Step:
    return Step({"kind": "append", "rows": list(rows)}, commit)


def _delete(number: int) -> Step:
    return Step({"kind": "delete", "where": _where(number)})


def _where(number: int) -> dict[str, Any]:
    return _compare(ID, "=", number)


def _compare(name: str, sign: str, number: int) -> dict[str, Any]:
    """Return the condition that a column compares to a number, in both forms."""
    tree = conditions.compare(name, sign, "long", number)
    return {"sql": conditions.render_sql(tree), "tree": tree}


def build_null_in_constraint() -> tuple[Step, ...]:
    """Append a null that a CHECK constraint compares (SQL accepts it), and add a constraint that a row violates."""
    return (
        _create(Column("size", "long")),
        Step({"kind": "add-constraint", "name": "positive", **_compare("size", ">=", 0)}),
        _append({ID: 0, "size": 1}),
        _append({ID: 1, "size": None}),
        Step({"kind": "add-constraint", "name": "small", **_compare("size", "<", 1)}),
    )


def build_null_in_required_partition() -> tuple[Step, ...]:
    """Append a null into a partition column that is not nullable."""
    return (
        _create(
            Column("part", "string", nullable=False),
            Column("size", "long"),
            Column("flag", "boolean"),
            partition_by=("part", "flag"),
            properties=_VECTORS,
        ),
        _append({ID: 0, "part": "a", "size": 1, "flag": True}),
        _append({ID: 1, "part": None, "size": 2, "flag": False}),
    )


def build_vacuum_of_everything_old() -> tuple[Step, ...]:
    """Vacuum without retention: live files and their deletion vectors stay."""
    return (
        _create(Column("size", "long"), properties=_VECTORS),
        _append(*({ID: number, "size": number} for number in range(4))),
        _delete(1),
        _append({ID: 4, "size": 4}),
        Step({"kind": "vacuum", "retention_hours": 0}),
        _delete(2),
        Step({"kind": "checkpoint", "form": None}),
    )


def build_restore_of_deleted_rows() -> tuple[Step, ...]:
    """Restore a version whose file had no deletion vector, then one whose file had another."""
    return (
        _create(Column("size", "long"), properties=_VECTORS),
        _append(*({ID: number, "size": number} for number in range(6))),
        _delete(1),
        _delete(2),
        Step({"kind": "restore", "step": 1}),
        _delete(3),
        Step({"kind": "restore", "step": 2}),
    )


def build_restore_after_vacuum() -> tuple[Step, ...]:
    """Restore a version after a vacuum that must keep the files of young tombstones."""
    return (
        _create(Column("size", "long")),
        _append({ID: 0, "size": 0}, {ID: 1, "size": 1}),
        _delete(1),
        Step({"kind": "vacuum", "retention_hours": 200}),
        Step({"kind": "restore", "step": 1}),
    )


def build_changes_of_null_partition() -> tuple[Step, ...]:
    """Delete, merge, and move rows into the partition of null while changes are recorded; other rows stay."""
    source = [{ID: 2, "part": "a", "size": 9}, {ID: 7, "part": None, "size": 7}]
    return (
        _create(Column("part", "string"), Column("size", "long"), partition_by=("part",), properties=_CHANGES),
        _append(*({ID: number, "part": "a", "size": number} for number in range(4)),
                {ID: 4, "part": "a b%", "size": None}),
        Step({"kind": "update", "set": {"part": ["lit", "string", None]}, "where": _where(0)}),
        Step({"kind": "merge", "rows": source, "on": [ID], "matched": "update", "not_matched": "insert"}),
        _delete(1),
    )  # fmt: skip


def build_conditions() -> tuple[Step, ...]:
    """Overwrite, delete and update rows by conditions on a column with nulls; try to change columns without mapping."""
    return (
        _create(Column("size", "long")),
        _append(*({ID: number, "size": number or None} for number in range(6))),
        Step({"kind": "overwrite", "rows": [{ID: 5, "size": 50}], "where": _compare(ID, ">=", 5)}),
        Step({"kind": "delete", "where": _compare("size", "<", 2)}),
        Step({"kind": "update", "set": {"size": ["lit", "long", "0"]}, "where": _compare("size", ">=", 4)}),
        Step({"kind": "overwrite", "rows": [{ID: 6, "size": 6}]}),
        Step({"kind": "drop-column", "name": ["size"]}),
        Step({"kind": "rename-column", "from": ["size"], "to": ["length"]}),
    )


def build_append_only() -> tuple[Step, ...]:
    """Compact a table that accepts only appends, then try to delete and to update."""
    return (
        _create(Column("size", "long"), properties={APPEND_ONLY: "true"}),
        _append({ID: 0, "size": 0}),
        _append({ID: 1, "size": 1}),
        Step({"kind": "optimize"}),
        Step({"kind": "update", "set": {"size": ["lit", "long", "7"]}, "where": _where(0)}),
        _delete(1),
    )


def build_checkpoints_of_domains_and_transactions() -> tuple[Step, ...]:
    """Write checkpoints and a compaction of transactions, of domains, and of one that was removed."""
    properties = {"delta.feature.domainMetadata": "supported", **_VECTORS}
    return (
        _create(Column("size", "long"), Column("day", "date"), properties=properties),
        _append({ID: 0, "size": 0, "day": 18_000}, {ID: 1, "size": 1, "day": None}, txn={"app_id": "app", "version": 1},
                domains={"kit.a": "1", "kit.b": "2"}),
        Step({"kind": "checkpoint", "form": None}),
        _append({ID: 2, "size": 2, "day": None}, txn={"app_id": "app", "version": 2}, domains={"kit.a": None}),
        _delete(1),
        Step({"kind": "optimize"}),
        Step({"kind": "checkpoint", "form": None}),
        Step({"kind": "compact-log", "start_step": 1, "end_step": 5}),
        Step({"kind": "checksum"}),
    )  # fmt: skip


def build_mapped_columns() -> tuple[Step, ...]:
    """Rename, drop and add columns of a partitioned table, compact it, and write a checkpoint between."""
    return (
        _create(Column("part", "date"), Column("size", "long"), Column("name", "string"),
                Column("flag", "boolean"), partition_by=("part",), properties={COLUMN_MAPPING_MODE: "name"}),
        _append({ID: 0, "part": 18_000, "size": 1, "name": "ab", "flag": True}),
        _append({ID: 1, "part": 18_000, "size": 2, "name": "ac", "flag": None}),
        Step({"kind": "rename-column", "from": ["name"], "to": ["title"]}),
        Step({"kind": "checkpoint", "form": None}),
        Step({"kind": "drop-column", "name": ["flag"]}),
        Step({"kind": "add-column", "name": ["flag"], "type": "long"}),
        _append({ID: 2, "part": None, "size": 3, "title": "ad", "flag": 7}),
        Step({"kind": "optimize"}),
        Step({"kind": "checkpoint", "form": None}),
        Step({"kind": "set-properties", "properties": _VECTORS}),
        _delete(0),
    )  # fmt: skip


def build_columns_mapped_by_id() -> tuple[Step, ...]:
    """Rename a column of a table that maps columns by id, and append."""
    return (
        _create(Column("size", "long"), Column("name", "string"), properties={COLUMN_MAPPING_MODE: "id"}),
        _append({ID: 0, "size": 1, "name": "a"}),
        Step({"kind": "rename-column", "from": ["name"], "to": ["title"]}),
        _append({ID: 1, "size": 2, "title": "b"}),
    )


def build_properties() -> tuple[Step, ...]:
    """Enable and disable deletion vectors and the property that forbids deletes."""
    append_only = APPEND_ONLY
    return (
        _create(Column("size", "long"), properties=_VECTORS),
        _append(*({ID: number, "size": number} for number in range(5))),
        Step({"kind": "set-properties", "properties": {DELETION_VECTORS: "false"}}),
        _delete(1),
        Step({"kind": "set-properties", "properties": {append_only: "true"}}),
        _delete(2),
        Step({"kind": "set-properties", "properties": {append_only: "false"}}),
        _delete(3),
    )


def build_row_ids() -> tuple[Step, ...]:
    """Delete, update, compact and append with row tracking, with and without deletion vectors."""
    return (
        _create(Column("size", "long"), properties={ROW_TRACKING: "true"}),
        _append(*({ID: number, "size": number} for number in range(4))),
        _delete(1),
        Step({"kind": "update", "set": {"size": ["lit", "long", "9"]}, "where": _where(3)}),
        _append({ID: 4, "size": 4}),
        Step({"kind": "optimize"}),
        Step({"kind": "checkpoint", "form": None}),
        Step({"kind": "set-properties", "properties": _VECTORS}),
        _delete(2),
        _append({ID: 5, "size": 5}),
    )


def build_widened_columns() -> tuple[Step, ...]:
    """Widen columns of a table with rows, write wider values, and rewrite files of both types."""
    properties = FEATURE_PROPERTIES["typeWidening"]
    return (
        _create(Column("size", "integer"), Column("part", "integer"), partition_by=("part",), properties=properties),
        _append(*({ID: number, "size": number, "part": 1} for number in range(3))),
        Step({"kind": "widen-column", "name": ["size"], "type": "long"}),
        _append({ID: 3, "size": 2**40, "part": 1}),
        Step({"kind": "checkpoint", "form": None}),
        Step({"kind": "update", "set": {"size": ["lit", "long", str(2**41)]}, "where": _where(0)}),
        Step({"kind": "widen-column", "name": ["part"], "type": "long"}),
        _append({ID: 4, "size": None, "part": 2**33}),
        _delete(1),
        Step({"kind": "optimize"}),
    )


def build_widened_types() -> tuple[Step, ...]:
    """Change the types of columns with rows in every way that the protocol lists."""
    changes = {
        "b": ("byte", "short"),
        "s": ("short", "integer"),
        "i": ("integer", "long"),
        "l": ("byte", "long"),
        "f": ("float", "double"),
        "w": ("integer", "double"),
        "n": ("decimal(10,2)", "decimal(12,4)"),
        "m": ("integer", "decimal(10,0)"),
        "k": ("long", "decimal(21,1)"),
        "d": ("date", "timestamp_ntz"),
    }
    small = {"b": 1, "s": 2, "i": 3, "l": 4, "f": 0.5, "w": 6, "n": "7.25", "m": 8, "k": 9, "d": 18_000}
    large = {"b": 2**14, "s": 2**30, "i": 2**40, "l": 2**50, "f": 1e300, "w": 0.1, "n": "12345678.1234",
             "m": "9999999999", "k": "12345678901234567890.5", "d": 1_600_000_000_000_001}  # fmt: skip
    properties = {**FEATURE_PROPERTIES["typeWidening"], **FEATURE_PROPERTIES["timestampNtz"]}
    return (
        _create(*(Column(name, old) for name, (old, _) in changes.items()), properties=properties),
        _append({ID: 0, **small}, {ID: 1, **dict.fromkeys(small)}),
        *(Step({"kind": "widen-column", "name": [name], "type": new}) for name, (_, new) in changes.items()),
        _append({ID: 2, **large}),
        _checkpoint(),
        Step({"kind": "optimize"}),
        _delete(1),
    )


def build_widened_nested_types() -> tuple[Step, ...]:
    """Change the types of a field, an element, a key and a value of columns with rows."""
    point = {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True, "metadata": {}}]}
    items = {"type": "array", "elementType": "integer", "containsNull": True}
    pairs = {"type": "map", "keyType": "integer", "valueType": "integer", "valueContainsNull": True}
    columns = {"point": point, "items": items, "pairs": pairs}
    paths = (("point", "x"), ("items", "element"), ("pairs", "key"), ("pairs", "value"))
    properties = FEATURE_PROPERTIES["typeWidening"]
    return (
        _create(*(Column(name, render_type(kind)) for name, kind in columns.items()), properties=properties),
        _append({ID: 0, "point": {"x": 1}, "items": [2, None], "pairs": [(3, 4)]},
                {ID: 1, "point": None, "items": [], "pairs": None}),
        *(Step({"kind": "widen-column", "name": list(path), "type": "long"}) for path in paths),
        _append({ID: 2, "point": {"x": 2**40}, "items": [2**41], "pairs": [(2**42, 2**43)]}),
        Step({"kind": "optimize"}),
        _delete(1),
    )  # fmt: skip


_SHORT_LOG = {
    LOG_RETENTION: "interval 2 days",
    FILE_RETENTION: "interval 0 hours",
    "delta.enableExpiredLogCleanup": "false",
}
"""Commits expire after two days, and only the operation deletes them. Delta Spark does not let files outlive them."""


def _age(days: int, past_midnight_ms: int = 0) -> Step:
    """Move the log back in time: the newest commit to the midnight (UTC) `days` days ago, others by the same time."""
    return Step({"kind": AGE_LOG, "days": days, "past_midnight_ms": past_midnight_ms})


def _checkpoint(form: str | None = None) -> Step:
    return Step({"kind": "checkpoint", "form": form})


def build_cleaned_log() -> tuple[Step, ...]:
    """Clean up a log with expired commits and checkpoints, write, and clean it up again."""
    return (
        _create(Column("size", "long"), properties=_SHORT_LOG),
        _append({ID: 0, "size": 0}),
        _checkpoint(),
        *(_append({ID: number, "size": number}) for number in range(1, 3)),
        _checkpoint(),
        _delete(1),
        _age(5),
        _append({ID: 3, "size": 3}),
        Step({"kind": "cleanup-log"}),
        _append({ID: 4, "size": 4}, txn={"app_id": "app", "version": 1}),
        _checkpoint(),
        _age(3),
        Step({"kind": "cleanup-log"}),
        _delete(2),
    )


def build_log_without_old_checkpoint() -> tuple[Step, ...]:
    """Clean up a log with expired commits whose only checkpoint is young: nothing may be deleted."""
    return (
        _create(Column("size", "long"), properties=_SHORT_LOG),
        _append({ID: 0, "size": 0}),
        _append({ID: 1, "size": 1}),
        _age(6),
        _append({ID: 2, "size": 2}),
        Step({"kind": "cleanup-log"}),
        _checkpoint(),
        Step({"kind": "cleanup-log"}),
        _append({ID: 3, "size": 3}),
    )


def build_cleanup_at_midnight() -> tuple[Step, ...]:
    """Clean up a log whose newest old commit is older than two days, but not older than the midnight before that."""
    return (
        _create(Column("size", "long"), properties=_SHORT_LOG),
        _append({ID: 0, "size": 0}),
        _checkpoint(),
        _age(5),
        _append({ID: 1, "size": 1}),
        _checkpoint(),
        _age(2, past_midnight_ms=1000),
        _append({ID: 2, "size": 2}),
        Step({"kind": "cleanup-log"}),
        _append({ID: 3, "size": 3}),
    )


def build_cleanup_of_sidecars() -> tuple[Step, ...]:
    """Clean up a log with sidecars of an old and of a kept checkpoint, and with an old and a young one of none."""
    return (
        _create(Column("size", "long"), properties={**_SHORT_LOG, **FEATURE_PROPERTIES["v2Checkpoint"]}),
        _append({ID: 0, "size": 0}),
        _checkpoint("v2-sidecars"),
        _append({ID: 1, "size": 1}),
        _checkpoint("v2-sidecars"),
        Step({"kind": UNREFERENCED_SIDECAR}),
        _age(4),
        _append({ID: 2, "size": 2}),
        Step({"kind": UNREFERENCED_SIDECAR}),
        Step({"kind": "cleanup-log"}),
        _delete(1),
    )


def build_cleanup_before_protected_checkpoints() -> tuple[Step, ...]:
    """Clean up a log up to a version between checkpoints that are protected, because a feature was dropped after it."""
    return (
        _create(Column("size", "long"), properties={**_SHORT_LOG, **FEATURE_PROPERTIES["checkpointProtection"]}),
        _append({ID: 0, "size": 0}),
        _checkpoint(),
        _append({ID: 1, "size": 1}),
        _checkpoint(),
        Step({"kind": UNKNOWN_FEATURE}),
        _age(5),
        Step({"kind": DROP_UNKNOWN_FEATURE}),
        _checkpoint(),
        _append({ID: 2, "size": 2}),
        Step({"kind": "cleanup-log"}),
        _delete(1),
    )


def build_fast_clock() -> tuple[Step, ...]:
    """Write after a commit whose in-commit timestamp is ahead of the clock: the next one is a millisecond later."""
    return (
        _create(Column("size", "long"), properties={IN_COMMIT_TIMESTAMPS: "true"}),
        _append({ID: 0, "size": 0}, {ID: 1, "size": 1}),
        Step({"kind": FAST_CLOCK}),
        _append({ID: 2, "size": 2}),
        _delete(1),
    )


def build_vacuum_of_unknown_feature() -> tuple[Step, ...]:
    """Vacuum a table with deleted rows and a writer feature that nobody knows: no file is deleted."""
    return (
        _create(Column("size", "long"), properties=FEATURE_PROPERTIES["vacuumProtocolCheck"]),
        _append({ID: 0, "size": 0}, {ID: 1, "size": 1}),
        _delete(0),
        Step({"kind": UNKNOWN_FEATURE}),
        Step({"kind": "vacuum", "retention_hours": 0}),
        _append({ID: 2, "size": 2}),
    )


def build_column_id_of_user() -> tuple[Step, ...]:
    """Try to set the largest column id, which writers maintain, then add a column."""
    return (
        _create(Column("size", "long"), properties=FEATURE_PROPERTIES["columnMapping"]),
        _append({ID: 0, "size": 0}),
        Step({"kind": "set-properties", "properties": {MAX_COLUMN_ID: "99"}}),
        Step({"kind": "add-column", "name": ["extra"], "type": "long"}),
        _append({ID: 1, "size": 1, "extra": 1}),
    )


def build_identity_columns() -> tuple[Step, ...]:
    """Append rows with generated values, delete and compact them, and try to append a value that is not allowed."""
    identity = Identity(start=10, step=5, explicit=False)
    return (
        _create(Column("number", "long", identity=identity), Column("size", "long"),
                properties=FEATURE_PROPERTIES["identityColumns"]),
        _append(*({ID: number, "size": number} for number in range(3))),
        _append({ID: 3, "size": None}, {ID: 4, "size": 4}),
        _delete(1),
        Step({"kind": "optimize"}),
        _append({ID: 5, "size": 5, "number": 7}),
        _checkpoint(),
        _append({ID: 6, "size": 6}),
    )  # fmt: skip


def build_explicit_identity_values() -> tuple[Step, ...]:
    """Append generated and explicit values to a column that allows both and counts down."""
    identity = Identity(start=0, step=-2, explicit=True)
    return (
        _create(Column("number", "long", identity=identity), properties=FEATURE_PROPERTIES["identityColumns"]),
        _append({ID: 0}, {ID: 1}),
        _append({ID: 2, "number": 1001}),
        _append({ID: 3}),
    )


def build_identity_overflow() -> tuple[Step, ...]:
    """Append more rows than a column has values left, then a row with an explicit value."""
    identity = Identity(start=2**63 - 3, step=4, explicit=True)
    return (
        _create(Column("number", "long", identity=identity), properties=FEATURE_PROPERTIES["identityColumns"]),
        _append({ID: 0}, {ID: 1}, {ID: 2}),
        _append({ID: 3, "number": 5}),
    )


def build_column_defaults() -> tuple[Step, ...]:
    """Append and merge rows without a value, with one, and with null into a column that has a default."""
    return (
        _create(Column("size", "long", default=7), Column("name", "string"),
                properties=FEATURE_PROPERTIES["allowColumnDefaults"]),
        _append({ID: 0}, {ID: 1}),
        _append({ID: 2, "size": None, "name": "a"}, {ID: 3, "size": 1, "name": None}),
        _checkpoint(),
        Step({"kind": "merge", "rows": [{ID: 4, "name": "b"}], "on": [ID], "matched": None, "not_matched": "insert"}),
        _delete(1),
    )  # fmt: skip


def build_unknown_codec() -> tuple[Step, ...]:
    """Append with a known codec and with one that no writer supports: it fails, or another one is used."""
    return (
        _create(Column("size", "long")),
        Step({"kind": "set-properties", "properties": {PARQUET_CODEC: "gzip"}}),
        _append({ID: 0, "size": 0}, {ID: 1, "size": 1}),
        Step({"kind": "set-properties", "properties": {PARQUET_CODEC: "deltaspec"}}),
        _append({ID: 2, "size": 2}),
        Step({"kind": "set-properties", "properties": {PARQUET_CODEC: "snappy"}}),
        _append({ID: 3, "size": 3}),
        _delete(1),
    )


def build_files_clustered_by_others() -> tuple[Step, ...]:
    """Compact a clustered table whose files another implementation has clustered, and newer ones none."""
    return (
        _create(Column("size", "long")),
        _append({ID: 0, "size": 0}, {ID: 1, "size": 1}),
        _append({ID: 2, "size": 2}, {ID: 3, "size": 3}),
        Step({"kind": CLUSTERED_BY_OTHERS}),
        _append({ID: 4, "size": 4}),
        _append({ID: 5, "size": 5}),
        Step({"kind": "optimize"}),
        _delete(1),
    )


def build_constraint_dropped() -> tuple[Step, ...]:
    """Drop a constraint, append rows that it forbade, drop the feature, and add another constraint."""
    return (
        _create(Column("size", "long")),
        Step({"kind": "add-constraint", "name": "positive", **_compare("size", ">=", 0)}),
        Step({"kind": "add-constraint", "name": "small", **_compare("size", "<", 100)}),
        _append({ID: 0, "size": 1}),
        _append({ID: 1, "size": -1}),
        Step({"kind": "drop-constraint", "name": "positive"}),
        _append({ID: 2, "size": -2}),
        _append({ID: 3, "size": 200}),
        Step({"kind": "drop-constraint", "name": "small"}),
        Step({"kind": "drop-feature", "feature": "checkConstraints"}),
        _append({ID: 4, "size": 300}),
        Step({"kind": "add-constraint", "name": "large", **_compare("size", ">=", -2)}),
        _append({ID: 5, "size": -3}),
    )


def build_replaced_table() -> tuple[Step, ...]:
    """Replace a partitioned table by one with other columns, partitioning and properties, and go on."""
    other = PlainTable((Column(ID, "long"), Column("size", "string"), Column("day", "date")), ("day",),
                       {COLUMN_MAPPING_MODE: "name"})  # fmt: skip
    rows = [{ID: 10, "size": "a", "day": 18_000}, {ID: 11, "size": None, "day": None}]
    return (
        _create(Column("part", "string"), Column("size", "long"), partition_by=("part",),
                properties={COLUMN_MAPPING_MODE: "name", "owner": "ana", **_VECTORS}),
        Step({"kind": "add-constraint", "name": "positive", **_compare("size", ">=", 0)}),
        _append({ID: 0, "part": "a", "size": 1}, {ID: 1, "part": None, "size": 2}, txn={"app_id": "app", "version": 1}),
        _delete(1),
        _checkpoint(),
        Step({"kind": "replace", **describe_new_table(other), "rows": rows}),
        _append({ID: 12, "size": "b", "day": 18_001}),
        Step({"kind": "rename-column", "from": ["size"], "to": ["title"]}),
        _checkpoint(),
        _delete(10),
        Step({"kind": "replace", **describe_new_table(PlainTable((Column(ID, "long"),), (), other.properties))}),
        _append({ID: 20}),
    )  # fmt: skip


def build_added_features() -> tuple[Step, ...]:
    """Add features to the protocol and use them later; try to add one that nobody defines."""
    return (
        _create(Column("size", "long")),
        _append(*({ID: number, "size": number} for number in range(4))),
        Step({"kind": "add-feature", "feature": "deletionVectors"}),
        _delete(0),
        Step({"kind": "add-feature", "feature": "unknown feature"}),
        Step({"kind": "set-properties", "properties": _VECTORS}),
        _delete(1),
        Step({"kind": "add-feature", "feature": "changeDataFeed"}),
        Step({"kind": "add-feature", "feature": "v2Checkpoint"}),
        _checkpoint(),
        _delete(2),
    )


def build_converted_table() -> tuple[Step, ...]:
    """Convert Parquet files in partitions whose values need escapes, or are null, and go on."""
    table = PlainTable((Column(ID, "long"), Column("size", "decimal(10,2)"), Column("part", "string")), ("part",))
    rows = [{ID: number, "size": f"{number}.25", "part": part}
            for number, part in enumerate(("a b", "é", "%", "x=y", None, "a b", "a b"))]  # fmt: skip
    return (
        Step({"kind": "convert", "schema": table.render_schema(), "partition_by": ["part"], "rows": rows}),
        _append({ID: 10, "size": "1.00", "part": "%"}),
        _delete(0),
        _checkpoint(),
        Step({"kind": "optimize"}),
        _delete(3),
    )


def build_cloned_table() -> tuple[Step, ...]:
    """Clone a table with deletion vectors and mapped columns; delete, compact and vacuum; clone the clone."""
    return (
        _create(Column("size", "long"), Column("part", "string"), partition_by=("part",),
                properties={COLUMN_MAPPING_MODE: "name", ROW_TRACKING: "true", **_VECTORS}),
        _append(*({ID: number, "size": number, "part": "a b"} for number in range(4))),
        _delete(0),
        Step({"kind": "clone"}),
        _delete(1),
        _append({ID: 10, "size": 10, "part": None}),
        _checkpoint(),
        Step({"kind": "clone"}),
        Step({"kind": "update", "set": {"size": ["lit", "long", "7"]}, "where": _compare(ID, "=", 2)}),
        Step({"kind": "optimize"}),
        Step({"kind": "vacuum", "retention_hours": 0}),
        _delete(2),
    )  # fmt: skip


def build_columns_of_rows() -> tuple[Step, ...]:
    """Append and merge rows with columns that the table does not have."""

    def describe(*columns: Column) -> str:
        return PlainTable(columns).render_schema()

    return (
        _create(Column("size", "long"), properties={COLUMN_MAPPING_MODE: "name", CHANGE_DATA_FEED: "true"}),
        _append({ID: 0, "size": 0}, {ID: 1, "size": 1}),
        Step({"kind": "append-with-evolution", "rows": [{ID: 2, "size": 2, "name": "a"}],
              "new_columns": describe(Column("name", "string"))}),
        Step({"kind": "merge-with-evolution", "on": [ID], "matched": "update", "not_matched": "insert",
              "rows": [{ID: 0, "size": 5, "name": None, "price": "1.50"},
                       {ID: 3, "size": 3, "name": "b", "price": None}],
              "new_columns": describe(Column("price", "decimal(10,2)"))}),
        _checkpoint(),
        Step({"kind": "optimize"}),
        _delete(1),
    )  # fmt: skip


def build_replaced_partitions() -> tuple[Step, ...]:
    """Replace partitions, also the one of null, and one that does not exist yet."""

    def overwrite(*rows: Row) -> Step:
        return Step({"kind": "overwrite-partitions", "rows": list(rows)})

    return (
        _create(Column("part", "string"), Column("size", "long"), partition_by=("part",),
                properties={CHANGE_DATA_FEED: "true", **_VECTORS}),
        _append(*({ID: number, "part": part, "size": number} for number, part in enumerate(("a", "a", "b", None)))),
        _delete(0),
        overwrite({ID: 4, "part": "a", "size": 4}, {ID: 5, "part": "c", "size": 5}),
        overwrite({ID: 6, "part": None, "size": None}),
        _checkpoint(),
        overwrite({ID: 7, "part": "b", "size": 7}, {ID: 8, "part": "b", "size": 8}),
    )  # fmt: skip


def build_changed_defaults_and_clusters() -> tuple[Step, ...]:
    """Change and remove the default of a column, and the clustering columns."""

    def cluster(*names: str) -> Step:
        return Step({"kind": "cluster-by", "columns": [[name] for name in names]})

    return (
        _create(Column("size", "long"), Column("name", "string"),
                properties=FEATURE_PROPERTIES["allowColumnDefaults"]),
        _append({ID: 0, "name": "a"}, {ID: 1, "name": "b"}),
        Step({"kind": "set-default", "name": ["size"], "sql": "7"}),
        _append({ID: 2, "name": "a"}),
        cluster("name"),
        _append({ID: 3, "name": "b"}),
        Step({"kind": "optimize"}),
        Step({"kind": "set-default", "name": ["size"], "sql": "8"}),
        cluster("name", ID),
        _append({ID: 4, "name": None}, {ID: 5, "name": "c"}),
        _checkpoint(),
        Step({"kind": "set-default", "name": ["size"], "sql": None}),
        cluster(),
        _append({ID: 6, "name": "a"}),
        _delete(1),
    )  # fmt: skip


WRITTEN_HISTORIES: dict[str, Callable[[], tuple[Step, ...]]] = {
    "null-in-constraint": build_null_in_constraint,
    "null-in-required-partition": build_null_in_required_partition,
    "vacuum-of-everything-old": build_vacuum_of_everything_old,
    "restore-of-deleted-rows": build_restore_of_deleted_rows,
    "restore-after-vacuum": build_restore_after_vacuum,
    "changes-of-null-partition": build_changes_of_null_partition,
    "conditions": build_conditions,
    "append-only": build_append_only,
    "checkpoints-of-domains-and-transactions": build_checkpoints_of_domains_and_transactions,
    "mapped-columns": build_mapped_columns,
    "columns-mapped-by-id": build_columns_mapped_by_id,
    "properties": build_properties,
    "row-ids": build_row_ids,
    "widened-columns": build_widened_columns,
    "widened-types": build_widened_types,
    "widened-nested-types": build_widened_nested_types,
    "cleaned-log": build_cleaned_log,
    "log-without-old-checkpoint": build_log_without_old_checkpoint,
    "cleanup-at-midnight": build_cleanup_at_midnight,
    "cleanup-of-sidecars": build_cleanup_of_sidecars,
    "cleanup-before-protected-checkpoints": build_cleanup_before_protected_checkpoints,
    "identity-columns": build_identity_columns,
    "explicit-identity-values": build_explicit_identity_values,
    "identity-overflow": build_identity_overflow,
    "column-defaults": build_column_defaults,
    "unknown-codec": build_unknown_codec,
    "constraint-dropped": build_constraint_dropped,
    "replaced-table": build_replaced_table,
    "added-features": build_added_features,
    "converted-table": build_converted_table,
    "cloned-table": build_cloned_table,
    "columns-of-rows": build_columns_of_rows,
    "replaced-partitions": build_replaced_partitions,
    "changed-defaults-and-clusters": build_changed_defaults_and_clusters,
    "files-clustered-by-others": build_files_clustered_by_others,
    "fast-clock": build_fast_clock,
    "vacuum-of-unknown-feature": build_vacuum_of_unknown_feature,
    "column-id-of-user": build_column_id_of_user,
}
"""All histories by name."""
