"""Planted faults of partition values and null counts that show null in a column that is not nullable."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from deltaspec_generators.table_files import TableFiles, commit_info_action, get_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.nested_types import struct_type
from planted_tables.bases.single_file import build_required_field
from planted_tables.faults.registry import draw_one, planted_fault


def _require_later(files: TableFiles, *fields: Any) -> TableFiles:
    """Add a commit with another schema."""
    body = dict(get_action(files, 0, "metaData"))
    body["schemaString"] = json.dumps(struct_type(*fields))
    files.commits[3] = [commit_info_action(3), {"metaData": body}]
    return files


@planted_fault("data-files.required-columns")
def required_partition_value_null(draw: st.DrawFn) -> TableFiles:
    """The column is not nullable when the files are added, or becomes so; columns are mapped, or not."""
    kind = draw_one(draw, "string", "integer")
    value = draw_one(draw, None, "")
    if draw(st.booleans()):
        fields = [build_mapped_field("id", 1), {**build_mapped_field("p", 2, kind), "nullable": False}]
        return log_only.build_table(
            protocol=protocol_action(2, 5),
            configuration={COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "2"},
            fields=fields,
            partition_columns=["p"],
            partition={"col-2": value},
        )
    before, after = ("id", "long"), build_required_field("p", kind)
    is_later = draw(st.booleans())
    files = log_only.build_table(
        fields=[before, ("p", kind) if is_later else after], partition_columns=["p"], partition={"p": value}
    )
    return _require_later(files, before, after) if is_later else files


@planted_fault("data-files.required-columns")
def null_counted_in_required_column(draw: st.DrawFn) -> TableFiles:
    """At top level or in a required struct; the counts are tight, or wide and all rows are null."""
    optional: Any = ("id", "long")
    required = build_required_field("id", "long")
    counts: dict[str, Any] = draw_one(draw, {"nullCount": {"id": 1}}, {"nullCount": {"id": 10}, "tightBounds": False})
    if draw(st.booleans()):
        optional, required = (build_required_field("s", struct_type(each)) for each in (optional, required))
        counts = {**counts, "nullCount": {"s": counts["nullCount"]}}
    is_later = draw(st.booleans())
    files = log_only.build_table(fields=[optional if is_later else required, ("name", "string")])
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": 10, **counts})
    return _require_later(files, required, ("name", "string")) if is_later else files
