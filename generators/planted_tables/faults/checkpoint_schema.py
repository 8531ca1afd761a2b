"""Planted faults of the Parquet columns of checkpoints, and of the feature lists in them."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators.checkpoint_writer import CLASSIC_COLUMNS, CheckpointFiles
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action, remove_action, txn_action
from planted_tables.bases import log_only
from planted_tables.bases.checkpoints import (
    STATISTICS_AS_STRUCT,
    add_statistics_columns,
    build_partitioned_checkpoint_table,
    build_table_with_checkpoint_properties,
    build_table_with_null_counts,
    edit_checkpoint_adds,
)
from planted_tables.faults.registry import draw_one, planted_fault


def _change_field_types(files: TableFiles, kind: str, **types: pa.DataType) -> TableFiles:
    """Replace Arrow types of some fields of an action kind in the checkpoint."""
    known = CLASSIC_COLUMNS[kind]
    fields = {known.field(index).name: known.field(index).type for index in range(known.num_fields)}
    files.checkpoints[0].types[kind] = pa.struct(list({**fields, **types}.items()))
    return files


@planted_fault("checkpoint-schema.metadata")
def metadata_column_of_another_type(draw: st.DrawFn) -> TableFiles:
    return _change_field_types(log_only.build_checkpointed_table(), "metaData", createdTime=pa.uint64())


@planted_fault("checkpoint-schema.protocol")
def protocol_column_of_another_type(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "minReaderVersion", "minWriterVersion")
    return _change_field_types(
        log_only.build_checkpointed_table(), "protocol", **{name: draw_one(draw, pa.int64(), pa.uint32())}
    )


@planted_fault("checkpoint-schema.transaction")
def transaction_column_of_another_type(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.commits[1].append(txn_action("app", 5))
    files.checkpoints[0].rows.append(txn_action("app", 5))
    return _change_field_types(files, "txn", version=draw_one(draw, pa.int32(), pa.uint64()))


@planted_fault("checkpoint-schema.add")
def add_column_of_another_type(draw: st.DrawFn) -> TableFiles:
    wrong: dict[str, pa.DataType] = draw_one(
        draw,
        {"size": pa.int32()},
        {"size": pa.uint64()},
        {"modificationTime": pa.uint64()},
        {"baseRowId": pa.string()},
        {"tags": pa.list_(pa.string())},
    )
    return _change_field_types(log_only.build_checkpointed_table(), "add", **wrong)


@planted_fault("checkpoint-schema.remove")
def remove_column_of_another_type(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    rows = [files.commits[0][1], files.commits[0][2], files.commits[1][2], files.commits[2][1]]
    removed = files.commits[1][1]
    assert isinstance(removed, dict)
    files.checkpoints.append(CheckpointFiles(2, rows=[*rows, remove_action(removed)]))
    return _change_field_types(files, "remove", deletionTimestamp=pa.uint64())


@planted_fault("checkpoint-contents.parsed-partition-value-types")
def parsed_partition_value_as_text(draw: st.DrawFn) -> TableFiles:
    files = build_partitioned_checkpoint_table(STATISTICS_AS_STRUCT)
    edit_checkpoint_adds(files, add_statistics_columns)
    broken: dict[str, tuple[Any, pa.DataType]] = draw_one(
        draw,
        {"day": ("2026-11-21", pa.string()), "number": (7, pa.int32())},
        {"day": (date(2026, 11, 21), pa.date32()), "number": (7, pa.int64())},
        {"number": (7, pa.int32())},
    )
    files.checkpoints[0].parsed = {
        "partitionValues_parsed": pa.struct([(name, kind) for name, (_, kind) in broken.items()])
    }
    values = {name: value for name, (value, _) in broken.items()}
    edit_checkpoint_adds(files, lambda body: body.update(partitionValues_parsed=values))
    return files


def _build_widened_checkpoint_table(draw: st.DrawFn, partition_columns: Sequence[str] = ()) -> TableFiles:
    """Build a checkpoint of a table that supports type widening, whose column `c` is, or was widened to, a long."""
    record = draw_one(draw, None, [{"fromType": "integer", "toType": "long"}])
    column = {"name": "c", "type": "long", "nullable": True, "metadata": {}}
    if record is not None:
        column["metadata"] = {"delta.typeChanges": record}
    files = log_only.build_checkpointed_table(
        protocol=protocol_action(3, 7, ["typeWidening"], ["typeWidening"]),
        fields=[("id", "long"), column],
        partition_columns=partition_columns,
        partition=dict.fromkeys(partition_columns, "7"),
        configuration={"delta.enableTypeWidening": "true", **STATISTICS_AS_STRUCT},
    )
    edit_checkpoint_adds(files, add_statistics_columns)
    return files


@planted_fault("checkpoint-contents.parsed-partition-value-types", revisions=("current",))
def parsed_partition_value_of_a_type_before_widening(draw: st.DrawFn) -> TableFiles:
    files = _build_widened_checkpoint_table(draw, ["c"])
    files.checkpoints[0].parsed = {"partitionValues_parsed": pa.struct([("c", pa.int32())])}
    edit_checkpoint_adds(files, lambda body: body.update(partitionValues_parsed={"c": 7}))
    return files


@planted_fault("checkpoint-schema.parsed-statistics", revisions=("current",))
def parsed_statistic_of_a_type_before_widening(draw: st.DrawFn) -> TableFiles:
    files = _build_widened_checkpoint_table(draw)
    bounds = pa.struct([("c", pa.int32())])
    files.checkpoints[0].parsed = {
        "stats_parsed": pa.struct([("numRecords", pa.int64()), (draw_one(draw, "minValues", "maxValues"), bounds)])
    }
    return files


@planted_fault("checkpoint-schema.parsed-statistics")
def parsed_statistic_as_another_type(draw: st.DrawFn) -> TableFiles:
    kind: pa.StructType = draw_one(
        draw,
        pa.struct([("numRecords", pa.int32())]),
        pa.struct([("numRecords", pa.int64()), ("minValues", pa.struct([("id", pa.string())]))]),
        pa.struct([("numRecords", pa.int64()), ("maxValues", pa.struct([("id", pa.float64())]))]),
        pa.struct([("numRecords", pa.int64()), ("nullCount", pa.struct([("name", pa.string())]))]),
    )
    files = build_table_with_checkpoint_properties(STATISTICS_AS_STRUCT)
    edit_checkpoint_adds(files, add_statistics_columns)
    files.checkpoints[0].parsed = {"stats_parsed": kind}
    return files


@planted_fault("checkpoint-schema.parsed-statistics")
def parsed_statistic_of_another_name(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_checkpoint_properties(STATISTICS_AS_STRUCT)
    edit_checkpoint_adds(files, add_statistics_columns)
    unknown = draw_one(draw, {"num_records": 10}, {"minVals": {"id": 1}}, {"NullCount": {"id": 0}})
    edit_checkpoint_adds(files, lambda body: body["stats_parsed"].update(unknown))
    return files


@planted_fault("checkpoint-schema.null-count")
def null_counts_as_in_older_samples(draw: st.DrawFn) -> TableFiles:
    return build_table_with_null_counts("nullCounts")


@planted_fault("checkpoint-schema.physical-names")
def parsed_columns_by_logical_names(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping(draw_one(draw, "name", "id"))
    get_action(files, 0, "metaData")["configuration"].update(STATISTICS_AS_STRUCT)
    files.checkpoints.append(CheckpointFiles(1, rows=[*log_only.build_state_rows(files)]))
    parsed: dict[str, Any] = draw_one(
        draw,
        {"minValues": {"id": 1}},
        {"maxValues": {"col-1": 1, "col-2": {"x": 1}}},
        {"nullCount": {"id": 0}},
    )
    edit_checkpoint_adds(files, lambda body: body.update(stats_parsed={"numRecords": 10, **parsed}))
    return files


# feature lists


def _replace_feature_lists(files: TableFiles, **lists: list[str] | None) -> TableFiles:
    rows = files.checkpoints[0].rows
    index = next(index for index, row in enumerate(rows) if isinstance(row, dict) and "protocol" in row)
    row = rows[index]
    assert isinstance(row, dict)
    rows[index] = {"protocol": {**row["protocol"], **lists}}
    return files


@planted_fault("checkpoint-schema.features-null-else")
def feature_list_without_features(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(protocol=draw_one(draw, protocol_action(1, 2), protocol_action(2, 5)))
    return _replace_feature_lists(files, **{draw_one(draw, "readerFeatures", "writerFeatures"): []})


@planted_fault("checkpoint-schema.features-null-without")
def feature_lists_of_an_older_protocol(draw: st.DrawFn) -> TableFiles:
    return _replace_feature_lists(log_only.build_checkpointed_table(), readerFeatures=[], writerFeatures=[])


@planted_fault("checkpoint-schema.reader-features-set")
def reader_features_left_out(draw: st.DrawFn) -> TableFiles:
    return _replace_feature_lists(
        log_only.build_checkpointed_table(protocol=protocol_action(3, 7, [], [])), readerFeatures=None
    )


@planted_fault("checkpoint-schema.writer-features-set")
def writer_features_left_out(draw: st.DrawFn) -> TableFiles:
    return _replace_feature_lists(
        log_only.build_checkpointed_table(protocol=protocol_action(1, 7, None, [])), writerFeatures=None
    )
