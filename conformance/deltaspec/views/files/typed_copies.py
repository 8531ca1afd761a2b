"""Merge the typed columns of checkpoint rows with their JSON copies, and find the facts that differ.

Most rows have equal copies, spelled alike. Only the others are decoded. Distinct pairs of partition values are compared
once.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from deltaspec.protocol.files.statistics import LeafColumn
from deltaspec.protocol.json_values import Number
from deltaspec.protocol.revisions import Revision
from deltaspec.views.base import LOCATION_COLUMNS, Column, View
from deltaspec.views.files.copy_differences import (
    has_more_entries,
    is_same_partition_value,
    iter_differences,
    merge_copies,
)
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.wire import arrow_compute as pc
from deltaspec.wire.log.stats_parsed import (
    PARSED_PARTITION_VALUES,
    PARSED_STATISTICS,
    TypedColumns,
    render_partition_values,
    render_statistics,
)

Row = dict[str, Any]

typed_copies = View(
    name="typed_copies",
    grain="value in stats_parsed or partitionValues_parsed of a checkpoint that differs from stats or partitionValues "
    "of the same add",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "path": Column(pl.String, "path of the data file, as written"),
        "column": Column(pl.String, "physical column path, segments joined by dots; null for numRecords, tightBounds"),
        "typed_column": Column(pl.String, "column of the checkpoint: stats_parsed or partitionValues_parsed"),
        "statistic": Column(
            pl.String,
            "numRecords, tightBounds, nullCount, minValues or maxValues; null for a partition value",
            shown=True,
        ),
        "text": Column(pl.String, "value in stats or partitionValues", shown=True),
        "typed": Column(pl.String, "value in stats_parsed or partitionValues_parsed", shown=True),
    },
)

_decode = msgspec.json.Decoder(float_hook=Number).decode


class MergedCopies(msgspec.Struct):
    """File actions after their typed columns have been merged into `stats`."""

    table: pa.Table
    stats_are_typed: pl.Series | None = None
    """Whether `stats` contains values of the typed column; None if no row does."""
    rows: list[Row] = msgspec.field(default_factory=list)
    """Rows of `typed_copies` without the location of the file."""
    unread: dict[str, set[str]] = msgspec.field(default_factory=dict)
    """Why values were not compared, by typed column."""
    lost_statistics: bool = False
    """`stats_parsed` could not be decoded, so that its record counts are not known."""

    @property
    def needs_typed_statistics(self) -> bool:
        """Whether statistics exist, or may exist, only in the typed column."""
        return self.lost_statistics or self.stats_are_typed is not None


def merge_typed_columns(table: pa.Table, typed: TypedColumns, context: FileContext) -> MergedCopies:
    """Compare the typed columns of add actions with their text, and complete `stats` from `stats_parsed`.

    Args:
        table: file actions with the columns of `FILE_ACTION_SCHEMA`.
        typed: typed columns of the add actions of the table, in their order.
        context: table state at the checkpoint.
    """
    merged = MergedCopies(table)
    for name, reason in typed.unread:
        merged.unread.setdefault(name, set()).add(reason)
    merged.lost_statistics = typed.statistics is None and PARSED_STATISTICS in merged.unread
    adds = pc.to_series(pc.equal(table.column("kind"), "add")).arg_true()
    if typed.statistics is not None:
        paths = [each.path for each in context.leaf_columns or ()]
        partition_paths = [(name,) for name in context.partition_columns or ()]
        texts, reasons = render_statistics(typed, [*paths, *partition_paths])
        merged.unread.setdefault(PARSED_STATISTICS, set()).update(reasons)
        _merge_statistics(merged, adds, texts, context)
    if typed.partition_values is not None:
        _compare_partition_values(merged, adds, typed, context)
    return merged


def _merge_statistics(merged: MergedCopies, adds: pl.Series, typed: pl.Series, context: FileContext) -> None:
    texts = pc.to_series(merged.table.column("stats"))
    json = texts.gather(adds)
    known = typed.str.len_bytes() > len("{}")
    no_json = json.is_null() | (json == "{}").fill_null(False)
    typed_only = (known & no_json).fill_null(False)
    completed = json.zip_with(~typed_only, typed)
    both = (known & ~no_json & (json != typed)).fill_null(False).arg_true()
    if len(both) and context.leaf_columns is None:
        merged.unread[PARSED_STATISTICS].add("the schema of the table is not known")
    elif len(both):
        found = _compare_pairs(merged, adds, both, json, typed, context)
        completed = completed.scatter(list(found), pl.Series(list(found.values()), dtype=pl.String))
        typed_only = typed_only.scatter(list(found), True)
    if typed_only.any():
        is_typed = pl.Series([False]).new_from_index(0, len(texts)).scatter(adds.filter(typed_only), True)
        merged.stats_are_typed = is_typed
        texts = texts.scatter(adds.filter(typed_only), completed.filter(typed_only))
        position = merged.table.schema.get_field_index("stats")
        merged.table = merged.table.set_column(position, "stats", pc.cast(texts.to_arrow(), pa.string()))


def _compare_pairs(
    merged: MergedCopies, adds: pl.Series, both: pl.Series, json: pl.Series, typed: pl.Series, context: FileContext
) -> dict[int, str]:
    """Compare copies that are spelled differently. Return statistics with entries that only the typed copy has."""
    found: dict[int, str] = {}
    columns: tuple[LeafColumn, ...] = context.leaf_columns or ()
    for row, text, other in zip(both.to_list(), json.gather(both), typed.gather(both), strict=True):
        try:
            stated, stored = _decode(text), _decode(other)
        except (msgspec.DecodeError, RecursionError):
            merged.unread[PARSED_STATISTICS].add("statistics in JSON cannot be decoded")
            continue
        if not isinstance(stated, dict) or stated == stored:
            continue
        for each in iter_differences(stated, stored, columns, context.revision):
            merged.rows.append(
                _locate(merged.table, adds[row])
                | {
                    "column": None if each.column is None else ".".join(each.column.path),
                    "typed_column": PARSED_STATISTICS,
                    "statistic": each.statistic,
                    "text": _valid_utf8(each.text),
                    "typed": _valid_utf8(each.typed),
                }
            )
        if has_more_entries(stored, stated):
            found[row] = encode_statistics(merge_copies(stated, stored))
    return found


def decode_statistics(text: str) -> dict[str, Any] | None:
    """Decode statistics with exact numbers; None if they are not a JSON object."""
    try:
        found = _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def encode_statistics(value: Any) -> str:
    """Encode statistics from `decode_statistics`; numbers keep their spelling."""
    if isinstance(value, Mapping):
        return (
            "{" + ",".join(f"{encode_statistics(name)}:{encode_statistics(each)}" for name, each in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(encode_statistics, value)) + "]"
    return str(value) if isinstance(value, Number) else msgspec.json.encode(value).decode()


def is_same_statistics(
    one: str, other: str, columns: Iterable[LeafColumn], revision: Revision = Revision.CURRENT
) -> bool:
    """Return whether two strings may be copies of the same statistics, one of them from typed columns."""
    first, second = decode_statistics(one), decode_statistics(other)
    if first is None or second is None:
        return one == other
    return next(iter_differences(first, second, tuple(columns), revision), None) is None


def _compare_partition_values(merged: MergedCopies, adds: pl.Series, typed: TypedColumns, context: FileContext) -> None:
    assert typed.partition_values is not None
    if context.partition_columns is None:
        merged.unread[PARSED_PARTITION_VALUES] = {"the schema of the table is not known"}
        return
    columns, reasons = render_partition_values(typed, context.partition_columns)
    merged.unread.setdefault(PARSED_PARTITION_VALUES, set()).update(reasons)
    has_values = pc.to_series(pc.is_valid(typed.partition_values))
    maps = pc.take(merged.table.column("partition_values").combine_chunks(), adds.to_arrow())
    for column, kind in context.partition_columns.items():
        if column not in columns:
            continue
        pairs = pl.DataFrame(
            {
                "add": adds,
                "text": pc.to_series(pc.map_lookup(maps, column, "first")),
                "stated": pc.to_series(pc.is_valid(pc.map_lookup(maps, column, "all"))),
                "typed": columns[column],
            }
        ).filter(has_values & pl.col("stated"))
        distinct = pairs.select("text", "typed").unique(maintain_order=True)
        unequal = [
            not is_same_partition_value(text, None if stored is None else _decode(stored), kind)
            for text, stored in distinct.iter_rows()
        ]
        wrong = distinct.filter(pl.Series(unequal, dtype=pl.Boolean))
        if wrong.is_empty():
            continue
        for row in pairs.join(wrong, on=["text", "typed"], nulls_equal=True, maintain_order="left").iter_rows(
            named=True
        ):
            merged.rows.append(
                _locate(merged.table, row["add"])
                | {
                    "column": column,
                    "typed_column": PARSED_PARTITION_VALUES,
                    "text": row["text"],
                    "typed": row["typed"],
                }
            )


def _locate(table: pa.Table, row: int) -> Row:
    return {"line": table["line"][row].as_py(), "path": table["path"][row].as_py()}


def _valid_utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
