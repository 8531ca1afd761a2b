"""Tables whose types became wider as the text lets them, and tables that forgot it as it lets them."""

from typing import Any

import pyarrow as pa

from deltaspec_generators import bases, data_bases
from deltaspec_generators.bases import action, commit_info
from deltaspec_generators.builder import TableFiles, metadata_action, protocol_action, remove_action
from deltaspec_generators.permissions import permission
from deltaspec_generators.widening_bases import ENABLED, array, change, column, pairs, struct, table

_RECORD = [change("integer", "long")]


@permission("type-widening.integers")
def places_below_columns_widened() -> TableFiles:
    """Elements, keys, values and fields of structs in them; previews noted versions beside the types."""
    inner = struct(column("short", name="x"))
    wider = struct(column("integer", [{**change("short", "integer"), "tableVersion": 3}], name="x"))
    record = [change("byte", "short", "key"), change("integer", "long", "value.element")]
    return table(
        struct_of(column(pairs("byte", array("integer")), name="m"), column(array(inner), name="a")),
        struct_of(column(pairs("short", array("long")), record, name="m"), column(array(wider), name="a")),
    )


def struct_of(*fields: dict[str, object]) -> dict[str, object]:
    return column(struct(*fields))


def widened_files(*, rewritten: bool) -> TableFiles:
    """Files of integers; the column becomes long; and then, maybe, all of them are rewritten."""
    older = data_bases.rows(0).append_column("c", pa.array(range(10), pa.int32()))
    newer = data_bases.rows(0).append_column("c", pa.array(range(10), pa.int64()))
    files = data_bases.with_data(
        fields=[*data_bases.FIELDS, column("integer")],
        tables=(older, older, older),
        protocol=protocol_action(3, 7, ["typeWidening"], ["typeWidening"]),
        configuration=ENABLED,
    )
    wider: list[Any] = [*data_bases.FIELDS, column("long", _RECORD)]
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


@permission("type-widening.integers", "rows")
def files_from_before_a_column_was_widened() -> TableFiles:
    return widened_files(rewritten=False)


@permission("type-widening.may-be-dropped", "rows")
def record_dropped_once_files_are_rewritten() -> TableFiles:
    return widened_files(rewritten=True)


@permission("type-widening.may-be-dropped", "rows")
def feature_dropped_without_a_trace() -> TableFiles:
    files = widened_files(rewritten=True)
    files.commits[6] = [commit_info(6), metadata_action([*data_bases.FIELDS, column("long")])]
    files.commits[6].append(protocol_action(3, 7, [], []))
    return files


@permission("type-widening.integers")
def version_from_before_a_change_restored() -> TableFiles:
    """The files since the change are gone, those from before it are back, and the column is what it was."""
    files = table(column("integer"), column("long", _RECORD))
    added = {**action(files, 2, "add"), "path": "d.parquet"}
    files.commits[4] = [commit_info(4), {"add": added}]
    before = metadata_action([("id", "long"), column("integer")], configuration=ENABLED)
    files.commits[5] = [commit_info(5), before, remove_action({"add": added})]
    return files


@permission("type-widening.integers")
def table_replaced_by_one_of_other_types() -> TableFiles:
    files = table(column("integer"))
    removes = [remove_action(row) for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    other = metadata_action([("id", "string"), column("date")], configuration=ENABLED)
    files.commits[3] = [commit_info(3), other, *removes]
    return files


@permission("type-widening.integers")
def column_dropped_and_added_with_another_type() -> TableFiles:
    """Under column mapping a column of the same name is another one."""

    def mapped(number: int, kind: str) -> dict[str, object]:
        names = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": "c", "type": kind, "nullable": True, "metadata": names}

    files = bases.featured(
        *("typeWidening", "columnMapping"),
        configuration={**ENABLED, "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
        fields=[mapped(1, "string")],
    )
    settings = action(files, 0, "metaData")["configuration"]
    files.commits[3] = [commit_info(3), metadata_action([mapped(2, "date")], configuration=settings)]
    return files
