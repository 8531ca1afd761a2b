"""Tables with type widening: recorded type changes, schema versions and data files of older types."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import TYPE_CHANGES, TYPE_WIDENING
from deltaspec_generators import small_tables
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only

ENABLED = {TYPE_WIDENING: "true"}
FEATURES = ("typeWidening", "timestampNtz")


def build_column(kind: Any, record: Any = None, name: str = "c") -> dict[str, Any]:
    """Build a column; `record` is the value of its recorded type changes."""
    metadata = {} if record is None else {TYPE_CHANGES: record}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def build_type_change(before: str, after: str, path: str | None = None) -> dict[str, str]:
    """Build an entry of the recorded type changes; `path` is its field path."""
    return {"fromType": before, "toType": after} | ({} if path is None else {"fieldPath": path})


def build_table_with_column_versions(
    *column_versions: dict[str, Any], writer: Sequence[str] = (), settings: Mapping[str, str] = ENABLED
) -> TableFiles:
    """Build a table of an id and a column; each further version of the column is one commit."""
    files = log_only.build_table_with_features(
        *FEATURES, writer=writer, configuration=settings, fields=[("id", "long"), column_versions[0]]
    )
    for version, step in enumerate(column_versions[1:], start=3):
        files.commits[version] = [
            commit_info_action(version),
            metadata_action([("id", "long"), step], configuration=settings),
        ]
    return files


INTEGER_TO_LONG = [build_type_change("integer", "long")]


def build_widening_data_table(tables: Sequence[pa.Table], kind: str = "integer") -> TableFiles:
    """Build a table with type widening enabled and data files; column `c` has this type."""
    return small_tables.build_table_with_data(
        fields=[*small_tables.FIELDS, build_column(kind)],
        tables=tables,
        protocol=protocol_action(3, 7, ["typeWidening"], ["typeWidening"]),
        configuration=ENABLED,
    )


def build_widened_files_table(*, rewritten: bool) -> TableFiles:
    """Build files of integers and widen the column; with `rewritten`, rewrite all files and drop the record."""
    older = small_tables.build_rows(0).append_column("c", pa.array(range(10), pa.int32()))
    newer = small_tables.build_rows(0).append_column("c", pa.array(range(10), pa.int64()))
    files = build_widening_data_table((older, older, older))
    wider: list[Any] = [*small_tables.FIELDS, build_column("long", INTEGER_TO_LONG)]
    files.commits[3] = [commit_info_action(3), metadata_action(wider, configuration=ENABLED)]
    if rewritten:
        old = [row for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
        again = [small_tables.add_data_file(files, f"{name}.parquet", newer, dataChange=False) for name in ("d", "e")]
        removes = [remove_action(row) for row in old]
        for row in removes:
            row["remove"]["dataChange"] = False
        files.commits[4] = [commit_info_action(4), *removes, *again]
        forgotten: list[Any] = [*small_tables.FIELDS, build_column("long")]
        files.commits[5] = [commit_info_action(5), metadata_action(forgotten, configuration=ENABLED)]
    return files


def recompute_statistics(files: TableFiles, version: int) -> TableFiles:
    """Add a commit that adds two live files again, as a recomputation of statistics does."""
    adds = [row["add"] for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    re_added: list[Any] = [{"add": {**add, "dataChange": False}} for add in adds]
    files.commits[version] = [commit_info_action(version, operation="COMPUTE STATS"), *re_added]
    return files
