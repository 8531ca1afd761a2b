"""Views over what single files of checkpoints hold, and over their Parquet columns."""

import polars as pl

from deltaspec.views.base import Column, View

checkpoint_contents = View(
    name="checkpoint_contents",
    grain="file of a checkpoint of the judged history, or sidecar of one",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the checkpoint"),
        "file": Column(pl.String, "name, relative to the table"),
        "is_parquet": Column(pl.Boolean, "it is Parquet, not JSON"),
        "write_stats_as_json": Column(
            pl.Boolean, "delta.checkpoint.writeStatsAsJson is true or not set; null below writer version 3 (E43)"
        ),
        "write_stats_as_struct": Column(
            pl.Boolean, "what delta.checkpoint.writeStatsAsStruct is set to; null where it is not, and below version 3"
        ),
        "is_partitioned": Column(pl.Boolean, "the table has partition columns"),
        "adds": Column(pl.Int64, "add actions"),
        "adds_with_json": Column(pl.Int64, "adds with statistics as JSON"),
        "adds_with_columns": Column(pl.Int64, "adds with statistics as columns"),
        "adds_with_json_only": Column(pl.Int64, "adds with statistics as JSON and none as columns"),
        "adds_with_columns_only": Column(pl.Int64, "adds with statistics as columns and none as JSON"),
        "replayed_adds_with_stats": Column(
            pl.Int64, "adds that replay knows with statistics; null where the checkpoint is not compared with replay"
        ),
        "adds_with_parsed_partition_values": Column(pl.Int64, "adds with partitionValues_parsed"),
        "removes_with_statistics": Column(pl.Int64, "removes with statistics"),
        "removes_with_tags": Column(pl.Int64, "removes with tags"),
        "min_reader_version": Column(
            pl.Int64, "minReaderVersion of the protocol it holds; null where the judged history begins with it"
        ),
        "min_writer_version": Column(pl.Int64, "minWriterVersion of the protocol it holds"),
        "has_reader_features": Column(pl.Boolean, "readerFeatures of the protocol it holds is not null"),
        "has_writer_features": Column(pl.Boolean, "writerFeatures of the protocol it holds is not null"),
    },
)

checkpoint_columns = View(
    name="checkpoint_columns",
    grain="column of a Parquet file of a checkpoint, or of a sidecar, with another name or type than the text gives it",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the checkpoint"),
        "file": Column(pl.String, "name, relative to the table"),
        "column": Column(pl.String, "path as the file has it, its names joined by dots"),
        "of": Column(pl.String, "action, partition values or statistics: what it is a column of"),
        "differs": Column(pl.String, "another type, missing, logical name or older name"),
        "expected": Column(pl.String, "the type or the name that it has to have", shown=True),
        "stored": Column(pl.String, "what the file has", shown=True),
    },
)
