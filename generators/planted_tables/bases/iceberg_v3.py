"""Tables with Iceberg compatibility V3, made from tables with V2."""

import json
from typing import Any

import pyarrow as pa

from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import TableFiles, get_action
from planted_tables.bases.column_mapping import field_id_metadata
from planted_tables.bases.iceberg import build_partitioned_rows, build_partitioned_table
from planted_tables.bases.row_ids import ENABLED, ROW_COMMIT_VERSION, ROW_ID, preserving_commit_info, row_id_mark_domain

ROWS_PER_FILE = 10
RESERVED_IDS = (2147483540, 2147483539)
"""Parquet field ids of materialized row ids and row commit versions."""


def upgrade_to_v3(files: TableFiles) -> TableFiles:
    """Replace compatibility V2 of a table by V3, and add row tracking; every file has ten rows. Return the table."""
    first_ids: dict[str, dict[str, int]] = {}
    for version, lines in sorted(files.commits.items()):
        before = len(first_ids)
        for line in lines:
            if not isinstance(line, dict):
                continue
            if "commitInfo" in line:
                line |= preserving_commit_info(version, operation=line["commitInfo"]["operation"])
            if "protocol" in line:
                line["protocol"] = _replace_protocol(line["protocol"])
            if "metaData" in line:
                properties = line["metaData"]["configuration"]
                own = {name.replace("CompatV2", "CompatV3"): value for name, value in properties.items()}
                line["metaData"]["configuration"] = ENABLED | own
            for kind in {"add", "remove"} & line.keys():
                ids = {"baseRowId": ROWS_PER_FILE * len(first_ids), "defaultRowCommitVersion": version}
                line[kind] |= first_ids.setdefault(line[kind]["path"], ids)
        if len(first_ids) > before:
            lines.append(row_id_mark_domain(ROWS_PER_FILE * len(first_ids) - 1))
    return files


def _replace_protocol(body: dict[str, Any]) -> dict[str, Any]:
    writers = [name.replace("CompatV2", "CompatV3") for name in body["writerFeatures"]]
    return {**body, "writerFeatures": [*writers, "rowTracking", "domainMetadata"]}


def build_table_with_row_tracking_columns(row_id: int | None, row_commit_version: int | None) -> TableFiles:
    """Build a V3 table whose last file has columns of row ids and row commit versions with these field ids.

    The columns are null, because the rows are new.
    """
    rows = build_partitioned_rows("col-1", "col-2", "col-3")
    files = upgrade_to_v3(build_partitioned_table("V2", rows, rows))
    add = get_action(files, 2, "add")
    table = rows
    for name, field_id in ((ROW_ID, row_id), (ROW_COMMIT_VERSION, row_commit_version)):
        field = pa.field(name, pa.int64(), metadata=field_id_metadata(field_id))
        table = table.append_column(field, pa.nulls(ROWS_PER_FILE, pa.int64()))
    body = add_data_file(files, add["path"], table, stats=json.dumps({"numRecords": ROWS_PER_FILE}))["add"]
    add["size"] = body["size"]
    return files
