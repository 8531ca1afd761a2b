"""Sound tables whose columns change their types, for mutations and permissions of type widening."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators import bases, data_bases
from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, metadata_action, protocol_action, remove_action

ENABLED = {"delta.enableTypeWidening": "true"}
RECORD = "delta.typeChanges"
FEATURES = ("typeWidening", "timestampNtz")


def column(kind: Any, record: Any = None, name: str = "c") -> dict[str, Any]:
    """A column, and what it records as changes of its type."""
    metadata = {} if record is None else {RECORD: record}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def change(before: str, after: str, place: str | None = None) -> dict[str, str]:
    """A recorded change."""
    return {"fromType": before, "toType": after} | ({} if place is None else {"fieldPath": place})


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def pairs(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def table(*steps: dict[str, Any], writer: Sequence[str] = (), settings: Mapping[str, str] = ENABLED) -> TableFiles:
    """A table of the column `c` beside an id; its further forms come one a commit, while files stay."""
    files = bases.featured(*FEATURES, writer=writer, configuration=settings, fields=[("id", "long"), steps[0]])
    for version, step in enumerate(steps[1:], start=3):
        files.commits[version] = [commit_info(version), metadata_action([("id", "long"), step], configuration=settings)]
    return files


RECORD_OF_INTEGERS = [change("integer", "long")]


def widening_data(tables: Sequence[pa.Table], kind: str = "integer") -> TableFiles:
    """A table of real files whose types may become wider, the column `c` among them."""
    return data_bases.with_data(
        fields=[*data_bases.FIELDS, column(kind)],
        tables=tables,
        protocol=protocol_action(3, 7, ["typeWidening"], ["typeWidening"]),
        configuration=ENABLED,
    )


def widened_files(*, rewritten: bool) -> TableFiles:
    """Files of integers; the column becomes long; and then, maybe, all of them are rewritten."""
    older = data_bases.rows(0).append_column("c", pa.array(range(10), pa.int32()))
    newer = data_bases.rows(0).append_column("c", pa.array(range(10), pa.int64()))
    files = widening_data((older, older, older))
    wider: list[Any] = [*data_bases.FIELDS, column("long", RECORD_OF_INTEGERS)]
    files.commits[3] = [commit_info(3), metadata_action(wider, configuration=ENABLED)]
    if rewritten:
        old = [row for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
        again = [data_bases.stored(files, f"{name}.parquet", newer, dataChange=False) for name in ("d", "e")]
        removes = [remove_action(row) for row in old]
        for row in removes:
            row["remove"]["dataChange"] = False
        files.commits[4] = [commit_info(4), *removes, *again]
        forgotten: list[Any] = [*data_bases.FIELDS, column("long")]
        files.commits[5] = [commit_info(5), metadata_action(forgotten, configuration=ENABLED)]
    return files


def described_anew(files: TableFiles, version: int) -> TableFiles:
    """The table, once the statistics of its first two files were computed again at a version."""
    adds = [row["add"] for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    again: list[Any] = [{"add": {**add, "dataChange": False}} for add in adds]
    files.commits[version] = [commit_info(version, operation="COMPUTE STATS"), *again]
    return files
