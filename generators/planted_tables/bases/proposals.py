"""Tables that use proposals which engines write."""

import json

import pyarrow as pa

from deltaspec.protocol.property_names import CHECKPOINT_PROTECTION
from deltaspec_generators.small_tables import build_rows, build_table_with_data, encode_data_file
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action
from planted_tables.bases import log_only


def build_materialized_table(*, feature: bool = True, last_is_cut: bool = False) -> TableFiles:
    """Build a table partitioned by `name` whose files store the column.

    Args:
        feature: whether the protocol lists materializePartitionColumns.
        last_is_cut: whether file c, which version 2 adds, does not store it.
    """
    tables = [build_rows(first).set_column(1, "name", pa.array(["x"] * 10, pa.string())) for first in (0, 10, 20)]
    files = build_table_with_data(
        protocol=protocol_action(1, 7, None, ["materializePartitionColumns"] if feature else []), tables=tables
    )
    get_action(files, 0, "metaData")["partitionColumns"] = ["name"]
    if last_is_cut:
        files.data["c.parquet"] = encode_data_file(tables[2].drop_columns(["name"]))
        get_action(files, 2, "add")["size"] = len(files.data["c.parquet"])
    for version in (1, 2):
        for line in files.commits[version]:
            for kind in ("add", "remove"):
                if isinstance(line, dict) and kind in line:
                    line[kind] |= {"partitionValues": {"name": "x"}}
                    if kind == "add":
                        line[kind]["stats"] = json.dumps({"numRecords": 10})
    return files


def build_protected_table(before: int) -> TableFiles:
    """Build a table of three versions whose checkpoints before a version are protected."""
    return log_only.build_table(
        protocol=protocol_action(1, 7, None, ["checkpointProtection"]),
        configuration={CHECKPOINT_PROTECTION: str(before)},
    )
