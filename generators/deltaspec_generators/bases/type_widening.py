"""Sound tables whose columns change their types, for mutations and permissions of type widening."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.bases import data_files, log_only
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, remove_action

ENABLED = {"delta.enableTypeWidening": "true"}
RECORD = "delta.typeChanges"
FEATURES = ("typeWidening", "timestampNtz")


def column(kind: Any, record: Any = None, name: str = "c") -> dict[str, Any]:
    """A column, and what it records as changes of its type."""
    metadata = {} if record is None else {RECORD: record}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def build_type_change(before: str, after: str, place: str | None = None) -> dict[str, str]:
    """A recorded change."""
    return {"fromType": before, "toType": after} | ({} if place is None else {"fieldPath": place})


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def map_type(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def struct_type(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def table(*steps: dict[str, Any], writer: Sequence[str] = (), settings: Mapping[str, str] = ENABLED) -> TableFiles:
    """A table of the column `c` beside an id; its further forms come one a commit, while files stay."""
    files = log_only.build_table_with_features(
        *FEATURES, writer=writer, configuration=settings, fields=[("id", "long"), steps[0]]
    )
    for version, step in enumerate(steps[1:], start=3):
        files.commits[version] = [
            commit_info_action(version),
            metadata_action([("id", "long"), step], configuration=settings),
        ]
    return files


RECORD_OF_INTEGERS = [build_type_change("integer", "long")]


def build_widening_data_table(tables: Sequence[pa.Table], kind: str = "integer") -> TableFiles:
    """A table of real files whose types may become wider, the column `c` among them."""
    return data_files.build_table_with_data(
        fields=[*data_files.FIELDS, column(kind)],
        tables=tables,
        protocol=protocol_action(3, 7, ["typeWidening"], ["typeWidening"]),
        configuration=ENABLED,
    )


def build_widened_files_table(*, rewritten: bool) -> TableFiles:
    """Files of integers; the column becomes long; and then, maybe, all of them are rewritten."""
    older = data_files.rows(0).append_column("c", pa.array(range(10), pa.int32()))
    newer = data_files.rows(0).append_column("c", pa.array(range(10), pa.int64()))
    files = build_widening_data_table((older, older, older))
    wider: list[Any] = [*data_files.FIELDS, column("long", RECORD_OF_INTEGERS)]
    files.commits[3] = [commit_info_action(3), metadata_action(wider, configuration=ENABLED)]
    if rewritten:
        old = [row for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
        again = [data_files.add_data_file(files, f"{name}.parquet", newer, dataChange=False) for name in ("d", "e")]
        removes = [remove_action(row) for row in old]
        for row in removes:
            row["remove"]["dataChange"] = False
        files.commits[4] = [commit_info_action(4), *removes, *again]
        forgotten: list[Any] = [*data_files.FIELDS, column("long")]
        files.commits[5] = [commit_info_action(5), metadata_action(forgotten, configuration=ENABLED)]
    return files


def recompute_statistics(files: TableFiles, version: int) -> TableFiles:
    """The table, once the statistics of its first two files were computed again at a version."""
    adds = [row["add"] for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    again: list[Any] = [{"add": {**add, "dataChange": False}} for add in adds]
    files.commits[version] = [commit_info_action(version, operation="COMPUTE STATS"), *again]
    return files
