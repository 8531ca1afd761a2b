"""Views over the contents of single checkpoint files and over their Parquet columns."""

import polars as pl

from deltaspec.views.base import Column, View

checkpoint_contents = View(
    name="checkpoint_contents",
    grain="checkpoint file or sidecar of the validated history",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the checkpoint"),
        "file": Column(pl.String, "file name, relative to the table root"),
        "is_parquet": Column(pl.Boolean, "whether the file is Parquet; false for JSON"),
        "write_stats_as_json": Column(
            pl.Boolean,
            "value of delta.checkpoint.writeStatsAsJson, true if not set; null if set below writer version 3 (E43)",
        ),
        "write_stats_as_struct": Column(
            pl.Boolean, "value of delta.checkpoint.writeStatsAsStruct; null if not set, or below writer version 3"
        ),
        "write_stats_as_struct_is_unset": Column(
            pl.Boolean, "true if delta.checkpoint.writeStatsAsStruct is not set, from writer version 3; null otherwise"
        ),
        "is_partitioned": Column(pl.Boolean, "whether the table has partition columns"),
        "adds": Column(pl.Int64, "number of add actions"),
        "adds_with_json": Column(pl.Int64, "number of adds with JSON statistics (stats)"),
        "adds_with_columns": Column(pl.Int64, "number of adds with struct statistics (stats_parsed)"),
        "adds_with_json_only": Column(pl.Int64, "number of adds with JSON statistics but no struct statistics"),
        "adds_with_columns_only": Column(pl.Int64, "number of adds with struct statistics but no JSON statistics"),
        "replayed_adds_with_stats": Column(
            pl.Int64, "number of adds with statistics after replay; null if the checkpoint is not compared with replay"
        ),
        "adds_with_parsed_partition_values": Column(pl.Int64, "number of adds with partitionValues_parsed"),
        "removes_with_statistics": Column(pl.Int64, "number of removes with statistics"),
        "removes_with_tags": Column(pl.Int64, "number of removes with tags"),
        "requested_codec": Column(
            pl.String,
            "for a checkpoint file, not a sidecar: codec requested at that version; null if none is or was before",
            decided_by=frozenset({"metaData"}),
        ),
        "other_codecs": Column(
            pl.List(pl.String),
            "codecs other than the requested one in column chunks with values; null if none is requested",
        ),
        "requested_page_version": Column(
            pl.Int64,
            "for a checkpoint file, not a sidecar: data page version requested at that version; null if none is or was",
            decided_by=frozenset({"metaData"}),
        ),
        "page_version": Column(pl.Int64, "version of the first data page in the file; null if none is requested"),
        "min_reader_version": Column(
            pl.Int64,
            "minReaderVersion of the file's protocol action; null if the validated history starts at this checkpoint",
        ),
        "min_writer_version": Column(pl.Int64, "minWriterVersion of the file's protocol action"),
        "has_reader_features": Column(pl.Boolean, "whether readerFeatures of the file's protocol action is not null"),
        "has_writer_features": Column(pl.Boolean, "whether writerFeatures of the file's protocol action is not null"),
    },
)

checkpoint_columns = View(
    name="checkpoint_columns",
    grain="column of a Parquet checkpoint file or sidecar whose name or type differs from the protocol",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the checkpoint"),
        "file": Column(pl.String, "file name, relative to the table root"),
        "column": Column(pl.String, "column path as stored, segments joined by dots"),
        "belongs_to": Column(pl.String, "structure that contains the column: action, partition values or statistics"),
        "difference": Column(
            pl.String, "kind of difference: another type, missing, logical name, older name or unknown name"
        ),
        "expected": Column(pl.String, "required type or name", shown=True),
        "stored": Column(pl.String, "type or name in the file", shown=True),
    },
)
