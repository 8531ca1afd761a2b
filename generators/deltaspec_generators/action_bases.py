"""Tables of single actions, change data among them; mutations and permissions edit them."""

from typing import Any

import pyarrow as pa

from deltaspec_generators import bases
from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, add_action, metadata_action, protocol_action, remove_action
from deltaspec_generators.checkpoint_files import Row
from deltaspec_generators.data_bases import FIELDS, parquet, rows, stored

DOMAINS = protocol_action(1, 7, None, ["domainMetadata"])
FED = {"delta.enableChangeDataFeed": "true"}
CHANGES = "_change_data/cdc-0.parquet"


def changes_of(table: pa.Table, kinds: list[str | None]) -> pa.Table:
    """Rows of a change data file."""
    return table.append_column("_change_type", pa.array(kinds, pa.string()))


def cdc(files: TableFiles, path: str, table: pa.Table, **more: Any) -> Row:
    """Put a change data file into a table; gives the action that names it."""
    data = parquet(table)
    files.data[path] = data
    return {"cdc": {"path": path, "partitionValues": {}, "size": len(data), "dataChange": False, **more}}


def updated() -> tuple[TableFiles, pa.Table]:
    """A table whose last commit updates row 3 and deletes row 4 of ten, and the rows of its change data file."""
    files = TableFiles()
    files.commits[0] = [commit_info(0), protocol_action(1, 4), metadata_action(FIELDS, configuration=FED)]
    before = rows()
    add = stored(files, "a.parquet", before)
    files.commits[1] = [commit_info(1), add]
    changed = before.slice(3, 1).set_column(1, "name", pa.array(["changed"], pa.string()))
    after = pa.concat_tables([before.slice(0, 3), changed, before.slice(5)])
    table = changes_of(
        pa.concat_tables([before.slice(3, 1), changed, before.slice(4, 1)]),
        ["update_preimage", "update_postimage", "delete"],
    )
    files.commits[2] = [
        commit_info(2, operation="MERGE"),
        stored(files, "b.parquet", after),
        remove_action(add),
        cdc(files, CHANGES, table),
    ]
    return files, table


def updated_by_vector(operation: str | None) -> TableFiles:
    """A table with change data feed whose last commit hides row 3 and adds another, and records no change.

    Args:
        operation: what the commit says it is; None: nothing.
    """
    files = TableFiles()
    features = ["deletionVectors"]
    protocol = protocol_action(3, 7, features, [*features, "changeDataFeed"])
    configuration = {**FED, "delta.enableDeletionVectors": "true"}
    files.commits[0] = [commit_info(0), protocol, metadata_action(FIELDS, configuration=configuration)]
    add = stored(files, "a.parquet", rows())
    files.commits[1] = [commit_info(1), add]
    changed = rows(3, 1).set_column(1, "name", pa.array(["changed"], pa.string()))
    files.commits[2] = [
        commit_info(2, operation=operation),
        {"add": {**add["add"], "deletionVector": bases.inline_vector([3])}},
        remove_action(add),
        stored(files, "b.parquet", changed),
    ]
    return files


def with_changes(table: pa.Table) -> TableFiles:
    """`updated`, with other rows in its change data file."""
    files, _ = updated()
    files.commits[2][-1] = cdc(files, CHANGES, table)
    return files


def partitioned_change(path: str) -> TableFiles:
    """A partitioned table whose last commit names a change data file."""
    files = bases.plain(
        fields=(("id", "long"), ("p", "string")), partition_columns=["p"], partition={"p": "x"}, last_remove=False
    )
    body = {"path": path, "partitionValues": {"p": "x"}, "size": 1000, "dataChange": False}
    files.commits[2].append({"cdc": body})
    return files


def moved(removed: list[int], added: list[int], *, kept: bool = True) -> TableFiles:
    """A table whose last commit says that it only moves rows.

    Args:
        removed: rows of the files that it removes.
        added: rows of the files that it adds.
        kept: it says so of its removes; else of its adds.
    """
    files = bases.plain(last_remove=False)
    old = [add_action(f"old-{number}.parquet", rows=count) for number, count in enumerate(removed)]
    files.commits[1] += old
    says: dict[str, Any] = {"dataChange": False}
    removes = [remove_action(each, **(says if kept else {})) for each in old]
    adds = [
        add_action(f"new-{number}.parquet", rows=count, **({} if kept else says)) for number, count in enumerate(added)
    ]
    files.commits[3] = [commit_info(3, operation="OPTIMIZE"), *removes, *adds]
    return files


def old_mark(highest: int, **more: Any) -> dict[str, object]:
    """The action that older texts keep the high-water mark in, and that later ones pass over."""
    return {"rowIdHighWaterMark": {"highWaterMark": highest, **more}}
