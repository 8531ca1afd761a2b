"""Tables that delta-rs writes with table features, checkpoints, compactions and a cleaned-up log."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from delta_rs.tables_plain import rows

if TYPE_CHECKING:
    from delta_rs.tables_plain import Writer


def append_only(path: str) -> None:
    from deltalake import write_deltalake

    write_deltalake(path, rows(1), configuration={"delta.appendOnly": "true"})
    write_deltalake(path, rows(2), mode="append")


def constraints(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1, name="a"))
    DeltaTable(path).alter.add_constraint({"positive": "id > 0"})
    write_deltalake(path, rows(2, name="b"), mode="append")
    DeltaTable(path).alter.drop_constraint("positive")


def change_data_feed(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(
        path, rows(1, 2, 3, 4, p="x y"), partition_by="p", configuration={"delta.enableChangeDataFeed": "true"}
    )
    DeltaTable(path).delete("id = 1")
    DeltaTable(path).update(updates={"id": "id + 10"}, predicate="id = 2")
    merge = DeltaTable(path).merge(rows(3, 9, p="x y"), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    write_deltalake(path, rows(5, p="x y"), mode="overwrite")


def timestamp_ntz(path: str) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    moment = datetime(2024, 1, 2, 3, 4, 5, 123456)  # noqa: DTZ001 - must have no time zone
    data = pa.table({"id": [1, 2], "t": pa.array([moment, None], pa.timestamp("us"))})
    write_deltalake(path, data)
    write_deltalake(path, data, mode="append")
    DeltaTable(path).create_checkpoint()


def timestamp_ntz_partitioned(path: str) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    moments = [datetime(2024, 1, 2, 3, 4, 5, 123456), datetime(9999, 12, 31), None]  # noqa: DTZ001
    write_deltalake(path, pa.table({"id": [1, 2, 3], "t": pa.array(moments, pa.timestamp("us"))}), partition_by="t")


def variant(path: str) -> None:
    from deltalake import DeltaTable, Field, Schema, VariantType
    from deltalake.schema import PrimitiveType

    DeltaTable.create(path, Schema([Field("id", PrimitiveType("long")), Field("v", VariantType())]))


def column_mapping(path: str) -> None:
    from deltalake import DeltaTable

    DeltaTable.create(
        path,
        rows(name="a").schema,
        configuration={
            "delta.columnMapping.mode": "name",
            "delta.minReaderVersion": "2",
            "delta.minWriterVersion": "5",
        },
    )


def features_added(path: str) -> None:
    from deltalake import DeltaTable, TableFeatures, write_deltalake

    write_deltalake(path, rows(1))
    features = [
        TableFeatures.AppendOnly,
        TableFeatures.ChangeDataFeed,
        TableFeatures.DeletionVectors,
        TableFeatures.TimestampWithoutTimezone,
    ]
    DeltaTable(path).alter.add_feature(features, allow_protocol_versions_increase=True)
    write_deltalake(path, rows(2), mode="append")


def writer_feature_added(path: str) -> None:
    from deltalake import DeltaTable, TableFeatures, write_deltalake

    write_deltalake(path, rows(1))
    DeltaTable(path).alter.add_feature(TableFeatures.CheckConstraints, allow_protocol_versions_increase=True)
    write_deltalake(path, rows(2), mode="append")


def properties(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1))
    table = DeltaTable(path)
    table.alter.set_table_properties(
        {"delta.logRetentionDuration": "interval 5 days", "own.key": "ü"}, raise_if_not_exists=False
    )
    table.alter.set_table_name("other")
    table.alter.set_table_description("a description")


def checkpoint_v2_table(path: str) -> None:
    from deltalake import DeltaTable, TableFeatures, write_deltalake

    write_deltalake(path, rows(1, 2))
    DeltaTable(path).alter.add_feature(TableFeatures.V2Checkpoint, allow_protocol_versions_increase=True)
    DeltaTable(path).alter.set_table_properties({"delta.checkpointPolicy": "v2"})
    write_deltalake(path, rows(3), mode="append")
    DeltaTable(path).create_checkpoint()
    write_deltalake(path, rows(4), mode="append")


def checkpoint_interval(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(0, p="x"), partition_by="p", configuration={"delta.checkpointInterval": "2"})
    for number in range(1, 5):
        write_deltalake(path, rows(number, p="x"), mode="append")
    DeltaTable(path).delete("id = 1")
    write_deltalake(path, rows(9, p=None).cast(rows(1, p="x").schema), mode="append")


def checkpoint_struct_statistics(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    flags = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"}
    write_deltalake(path, rows(1, 2, name="a"), configuration=flags)
    DeltaTable(path).create_checkpoint()
    write_deltalake(path, rows(3, name="b"), mode="append")


def statistics_columns(path: str) -> None:
    from deltalake import write_deltalake

    write_deltalake(path, rows(1, name="a"), configuration={"delta.dataSkippingStatsColumns": "name"})


def no_statistics_columns(path: str) -> None:
    from deltalake import write_deltalake

    write_deltalake(path, rows(1), configuration={"delta.dataSkippingNumIndexedCols": "0"})


def log_compacted(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    for number in range(4):
        write_deltalake(path, rows(number), mode="append")
    DeltaTable(path).delete("id = 2")
    DeltaTable(path).compact_logs(1, 4)
    DeltaTable(path).compact_logs(0, 2)


def log_cleaned_up(path: str) -> None:
    """Commits before a checkpoint are deleted. Cleanup goes by modification times, so the files are made older."""
    from deltalake import DeltaTable, write_deltalake

    for number in range(4):
        write_deltalake(
            path, rows(number), mode="append", configuration={"delta.logRetentionDuration": "interval 1 days"}
        )
    DeltaTable(path).create_checkpoint()
    old = time.time() - 10 * 86_400
    for file in (Path(path) / "_delta_log").iterdir():
        os.utime(file, (old, old))
    write_deltalake(path, rows(9), mode="append")
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).cleanup_metadata()
    write_deltalake(path, rows(10), mode="append")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        append_only,
        constraints,
        change_data_feed,
        timestamp_ntz,
        timestamp_ntz_partitioned,
        variant,
        column_mapping,
        features_added,
        writer_feature_added,
        properties,
        checkpoint_v2_table,
        checkpoint_interval,
        checkpoint_struct_statistics,
        statistics_columns,
        no_statistics_columns,
        log_compacted,
        log_cleaned_up,
    )
}
