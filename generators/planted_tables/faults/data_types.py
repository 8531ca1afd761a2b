"""Planted faults of data files: column types, codecs and pages, and variants in statistics."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.protocol.property_names import PARQUET_CODEC, PARQUET_FORMAT_VERSION
from deltaspec_generators import small_tables
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.small_tables import build_table_with_data, encode_data_file
from deltaspec_generators.table_files import TableFiles, get_action, metadata_action, protocol_action
from deltaspec_generators.values.variant_encoder import build_variant_column, encode_variant_bound
from planted_tables.bases import log_only
from planted_tables.bases.checkpoints import STATISTICS_AS_STRUCT, add_statistics_columns, edit_checkpoint_adds
from planted_tables.bases.nested_types import struct_type
from planted_tables.bases.single_file import build_required_field, build_single_file_table
from planted_tables.faults.registry import draw_one, planted_fault


def _build_table_with_stored_type(kind: Any, stored: pa.DataType) -> TableFiles:
    """Build a table with a column `c` that file c stores as this Arrow type, all null."""
    files = build_table_with_data(fields=[*small_tables.FIELDS, ("c", kind)])
    data = encode_data_file(small_tables.build_rows(20).append_column("c", pa.nulls(10, stored)))
    files.data["c.parquet"] = data
    get_action(files, 2, "add").update(size=len(data), stats='{"numRecords":10}')
    return files


@planted_fault("consistency.file-columns", "footers")
def column_of_no_column(draw: st.DrawFn) -> TableFiles:
    choices = (("string", pa.int64()), ("boolean", pa.string()), ("date", pa.string()), ("binary", pa.int32()))
    return _build_table_with_stored_type(*draw_one(draw, *choices))


@planted_fault("schema.number-widths", "footers")
def number_of_another_width(draw: st.DrawFn) -> TableFiles:
    choices = (("integer", pa.int64()), ("long", pa.uint64()), ("float", pa.float64()), ("double", pa.int64()))
    return _build_table_with_stored_type(*draw_one(draw, *choices))


@planted_fault("data-files.required-columns", "rows")
def required_member_absent(draw: st.DrawFn) -> TableFiles:
    """A struct that is not null in some rows is missing a required field."""
    structs = pa.array([None, {"y": 1}, draw_one(draw, None, {"y": None})], pa.struct([("y", pa.int32())]))
    return build_single_file_table(
        pa.table({"s": structs}), [("s", struct_type(build_required_field("x", "long"), ("y", "integer")))]
    )


# variants


def _build_variant_table(values: list[Any], **statistics: Any) -> TableFiles:
    """Build a table of one variant column whose last file has these values and statistics."""
    features = ["variantType", "variantShredding"]
    table = pa.table({"v": build_variant_column(values)})
    empty = table.slice(0, 0)
    protocol = protocol_action(3, 7, features, features)
    files = build_table_with_data(fields=[("v", "variant")], tables=(empty, empty, table), protocol=protocol)
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": len(values), **statistics})
    return files


@planted_fault("statistics.variant-null-count", "rows")
def variant_nulls_miscounted(draw: st.DrawFn) -> TableFiles:
    """A variant null is not a null of the column."""
    values = [{"a": 1}, None, {"a": None}, "text"]
    return _build_variant_table(values, nullCount={"v": draw_one(draw, 0, 2, 3)})


@planted_fault("statistics.variant-same-type-in-rows", "rows")
def variant_bound_of_two_types(draw: st.DrawFn) -> TableFiles:
    path, values = draw_one(
        draw,
        ("$['a']", [{"a": 1}, {"a": "text"}, None]),
        ("$['a']['b']", [{"a": {"b": True}}, {"a": {"b": 3, "c": 1}}, {"a": 1}]),
        ("$", [1, "text", None]),
    )
    return _build_variant_table(
        values,
        **draw_one(
            draw,
            {"minValues": {"v": encode_variant_bound({path: 1})}},
            {"maxValues": {"v": encode_variant_bound({path: 1})}},
        ),
    )


@planted_fault("statistics.variant-bounds-in-parquet")
def variant_bounds_as_text_in_a_checkpoint(draw: st.DrawFn) -> TableFiles:
    """As a string, or as a struct that is not a variant."""
    files = log_only.build_table_with_features(
        "variantType",
        "variantShredding",
        fields=[("id", "long"), ("v", "variant")],
        configuration=STATISTICS_AS_STRUCT,
    )
    files.checkpoints.append(CheckpointFiles(1, rows=[*log_only.build_state_rows(files)]))
    edit_checkpoint_adds(files, add_statistics_columns)
    wrong = draw_one(draw, pa.string(), pa.struct([("value", pa.binary())]), pa.struct([("a", pa.int64())]))
    bounds = pa.struct([(draw_one(draw, "minValues", "maxValues"), pa.struct([("v", wrong)]))])
    files.checkpoints[0].parsed = {"stats_parsed": pa.struct([("numRecords", pa.int64()), *bounds])}
    return files


# codecs and pages

_CODEC, _PAGES = PARQUET_CODEC, PARQUET_FORMAT_VERSION


def _build_table_with_options(configuration: dict[str, str], **options: Any) -> TableFiles:
    """Build a table with these properties whose files are written with these options."""
    return build_table_with_data(configuration=configuration, parquet_options=options)


def _build_table_after_unset(
    configuration: dict[str, str], options: dict[str, Any], later: dict[str, Any]
) -> TableFiles:
    """Build a table whose properties are removed before file c is added with other options."""
    files = build_table_with_data(configuration=configuration, parquet_options=options)
    data = encode_data_file(small_tables.build_rows(20), **later)
    files.data["c.parquet"] = data
    get_action(files, 2, "add")["size"] = len(data)
    files.commits[2].insert(1, metadata_action(small_tables.FIELDS))
    return files


@planted_fault("configuration.codec", "footers")
def codec_of_no_property(draw: st.DrawFn) -> TableFiles:
    configured, used = draw_one(draw, ("zstd", "snappy"), ("GZIP", "zstd"), ("none", "snappy"), ("lz4_raw", "none"))
    return _build_table_with_options({_CODEC: configured}, compression=used)


@planted_fault("configuration.codec-default", "footers")
def codec_not_of_the_default(draw: st.DrawFn) -> TableFiles:
    return _build_table_after_unset(
        {_CODEC: "gzip"}, {"compression": "gzip"}, {"compression": draw_one(draw, "gzip", "snappy", "none")}
    )


@planted_fault("configuration.page-version", "footers")
def pages_of_no_property(draw: st.DrawFn) -> TableFiles:
    configured, used = draw_one(draw, ("2.0.0", "1.0"), ("1.0.0", "2.0"), ("2.12.1", "1.0"))
    return _build_table_with_options({_PAGES: configured}, data_page_version=used, use_dictionary=draw(st.booleans()))


@planted_fault("configuration.page-version-default", "footers")
def pages_not_of_the_default(draw: st.DrawFn) -> TableFiles:
    options = {"data_page_version": "2.0", "compression": draw_one(draw, "snappy", "zstd")}
    return _build_table_after_unset({_PAGES: "2.0.0"}, options, options)


# codecs and pages of checkpoints


def _build_checkpoint_with_options(configuration: dict[str, str], **options: Any) -> TableFiles:
    """Build a table with these properties whose checkpoint is written with these options."""
    files = log_only.build_checkpointed_table(configuration=configuration)
    files.checkpoints[0].parquet_options = options
    return files


def _build_checkpoint_after_unset(configuration: dict[str, str], **options: Any) -> TableFiles:
    """Build a table with a checkpoint of version 2, which removes the properties, with these options."""
    files = log_only.build_table(configuration=configuration, last_remove=False)
    metadata = metadata_action(log_only.FIELDS)
    files.commits[2].insert(1, metadata)
    adds = [*files.commits[1][1:], files.commits[2][2]]
    rows: list[Any] = [files.commits[0][1], metadata, *adds]
    files.checkpoints.append(CheckpointFiles(2, rows=rows, parquet_options=options))
    return files


@planted_fault("configuration.codec")
def checkpoint_codec_of_no_property(draw: st.DrawFn) -> TableFiles:
    configured, used = draw_one(draw, ("zstd", "snappy"), ("GZIP", "zstd"), ("none", "snappy"), ("lz4_raw", "none"))
    return _build_checkpoint_with_options({_CODEC: configured}, compression=used)


@planted_fault("configuration.codec-default")
def checkpoint_codec_not_of_the_default(draw: st.DrawFn) -> TableFiles:
    return _build_checkpoint_after_unset({_CODEC: "gzip"}, compression=draw_one(draw, "gzip", "snappy", "none"))


@planted_fault("configuration.page-version")
def checkpoint_pages_of_no_property(draw: st.DrawFn) -> TableFiles:
    configured, used = draw_one(draw, ("2.0.0", "1.0"), ("1.0.0", "2.0"), ("2.12.1", "1.0"))
    return _build_checkpoint_with_options({_PAGES: configured}, data_page_version=used)


@planted_fault("configuration.page-version-default")
def checkpoint_pages_not_of_the_default(_: st.DrawFn) -> TableFiles:
    return _build_checkpoint_after_unset({_PAGES: "2.0.0"}, data_page_version="2.0")
