"""Valid tables of data files and their statistics, at level `rows`."""

import json
from typing import Any

import pyarrow as pa

from deltaspec_generators.small_tables import build_rows, build_table_with_data
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action, schema_string
from deltaspec_generators.values.variant_encoder import build_variant_column, encode_variant_bound
from planted_tables.permissions.registry import permission


@permission("consistency.missing-columns", "rows")
def file_without_a_column() -> TableFiles:
    return build_table_with_data(tables=(build_rows(0), build_rows(10), build_rows(20).drop_columns(["price"])))


@permission("consistency.missing-columns", "rows")
def file_without_a_member_of_null_structs() -> TableFiles:
    """The struct is null in every row, so no required field is missing."""
    structs = pa.array([None, None], pa.struct([("y", pa.int32())]))
    fields = json.loads(schema_string([("x", "long"), ("y", "integer")]))["fields"]
    fields[0]["nullable"] = False
    files = build_table_with_data(
        fields=[("s", {"type": "struct", "fields": fields})], tables=[pa.table({"s": structs})] * 3
    )
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = '{"numRecords":2}'
    return files


@permission("statistics.all-null", "rows")
def bounds_of_nulls_alone() -> TableFiles:
    nulls = pa.table({"id": pa.nulls(3, pa.int64())})
    files = build_table_with_data(
        fields=[("id", "long")], tables=(build_rows(0).select(["id"]), build_rows(10).select(["id"]), nulls)
    )
    stated = {"numRecords": 3, "minValues": {"id": 4}, "maxValues": {"id": 2}, "nullCount": {"id": 3}}
    get_action(files, 2, "add")["stats"] = json.dumps(stated)
    return files


def _build_variant_table(low: dict[str, Any], high: dict[str, Any]) -> TableFiles:
    """Build two rows, `{a: 1, b: 9}` and `{a: 5, b: 2}`, with bounds of these paths."""
    features = ["variantType", "variantShredding"]
    table = pa.table({"v": build_variant_column([{"a": 1, "b": 9}, {"a": 5, "b": 2}])})
    empty = table.slice(0, 0)
    protocol = protocol_action(3, 7, features, features)
    files = build_table_with_data(fields=[("v", "variant")], tables=(empty, empty, table), protocol=protocol)
    ends = {
        name: {"v": encode_variant_bound(value)} for name, value in (("minValues", low), ("maxValues", high)) if value
    }
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": 2, **ends, "nullCount": {"v": 0}})
    return files


@permission("statistics.variant-paths-on-their-own", "rows")
def variant_bounds_of_different_rows() -> TableFiles:
    return _build_variant_table({"$['a']": 1, "$['b']": 2}, {"$['a']": 5, "$['b']": 9})


@permission("statistics.variant-one-sided", "rows")
def variant_bounds_of_one_side() -> TableFiles:
    return _build_variant_table({"$['a']": 1}, {"$['b']": 9})


@permission("statistics.variant-choice", "rows")
def variant_bounds_of_some_paths() -> TableFiles:
    return _build_variant_table({"$['a']": 1}, {"$['a']": 5})
