"""Compare the row ids and identity values of all live files: which values does a file repeat of a file before it?

Files are read in the bucket of their path. Their values are sets, which are put into buckets by ranges of values: a
value that two files have is in the same bucket for both. What a file repeats is added up in the bucket of its path.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl
from pyroaring import BitMap64

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.bucketing import find_keys_of_buckets
from deltaspec.validation.buckets import RowsByTag, StageOutput
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.base import View
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.data.identity_values import identity_values
from deltaspec.views.files.row_ids import MAX_ID, row_id_files
from deltaspec.wire.data.identity_value_scan import BLOCK, needs_too_much_memory

VALUES = "values of files"
"""Tag of sets of values, by range."""
REPEATS = "repeated values"
"""Tag of the numbers of values that a file repeats, by path."""
FILE_ROWS = "rows of files "
"""Prefix of the tags of rows of a view, by path; its name follows."""
_FILE = ("path_key", "version", "file", "line", "item")
_FILE_SCHEMA = {"path_key": pl.String, "version": pl.Int64, "file": pl.String, "line": pl.Int64, "item": pl.String}
_SETS = ("values", "kept", "repeated", "blocks")
_COUNTS = ("shared", "first_shared", "met", "first_met")
_AT_ONCE = 1_000
_DUPLICATES = {
    row_id_files.name: ("duplicate_default_ids", "first_duplicate_default_id", "duplicate_ids", "first_duplicate_id"),
    identity_values.name: ("duplicate_values", "first_duplicate_value", None, None),
}


class TableCommits(msgspec.Struct, frozen=True):
    """What is known about commits when all files of the table are checked."""

    moving: frozenset[int] = frozenset()
    """Versions with an action that may move rows: a remove, one without dataChange, or one of a checkpoint."""
    reusing: frozenset[int] = frozenset()
    """Versions that remove files or add known paths again."""


class FileValues:
    """Collects the values of files, and the rows of the view that need to know which of them are repeated."""

    def __init__(self, output: StageOutput, range_count: int, row_id_borders: list[int]) -> None:
        """Begin without values.

        Args:
            output: receives the values.
            range_count: number of ranges of values, one for each bucket.
            row_id_borders: ascending row ids, each the first of a range.
        """
        self._output = output
        self._keys = find_keys_of_buckets(range_count)
        self.row_id_borders = row_id_borders
        self._sets: list[tuple[Any, ...]] = []
        self._ranges: list[int] = []
        self._rows: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def choose_borders(self, lowest: int, highest: int) -> list[int]:
        """Return borders of ranges of the same size between two values, at blocks."""
        step = (highest - lowest) // len(self._keys) // BLOCK * BLOCK + BLOCK
        first = lowest // BLOCK * BLOCK + step
        return [border for border in range(first, highest, step) if border > 0][: len(self._keys) - 1]

    def add_sets(self, file: DataFile, item: str, borders: list[int], sets: dict[str, BitMap64]) -> None:
        """Add sets of values of a file, by their name in `_SETS`. Negative values are modulo 2^64.

        Args:
            file: the file.
            item: what the values are, such as the name of a column; only values of the same item are compared.
            borders: ascending; each is the first value of a range.
            sets: `values`, `kept` and `repeated` as in `RowIds`; for identity columns `values`, and their `blocks`.
        """
        parts: dict[int, dict[str, BitMap64]] = defaultdict(dict)
        for name, values in sets.items():
            scaled = [each // BLOCK for each in borders] if name == "blocks" else borders
            for number, part in split_by_borders(values, scaled):
                parts[number][name] = part
        for number, found in parts.items():
            stored = (found[name].serialize() if name in found else None for name in _SETS)
            self._sets.append((*_get_key(file, item), *stored))
            self._ranges.append(number)
        if len(self._sets) >= _AT_ONCE:
            self.flush()

    def add_row(self, view: View, file: DataFile, item: str, row: dict[str, Any]) -> None:
        """Add a row of a view. Its columns about repeated values are filled later."""
        self._rows[view.name].append({**row, "path_key": file.path_key, "item": item})
        if len(self._rows[view.name]) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Put everything into the buckets."""
        schema = _FILE_SCHEMA | dict.fromkeys(_SETS, pl.Binary)
        sets = pl.DataFrame(self._sets, schema, orient="row")
        self._output.put(VALUES, sets, self._keys.gather(pl.Series(self._ranges, dtype=pl.Int64) % len(self._keys)))
        for view in (row_id_files, identity_values):
            rows = self._rows[view.name]
            names = pl.DataFrame(
                {name: [row[name] for row in rows] for name in ("path_key", "item")}, schema_overrides=_FILE_SCHEMA
            )
            frame = view.frame([{name: row.get(name) for name in view.columns} for row in rows]).hstack(names)
            self._output.put(FILE_ROWS + view.name, frame, frame["path_key"])
        self._sets, self._ranges = [], []
        self._rows.clear()


def _get_key(file: DataFile, item: str) -> tuple[str, int, str, int, str]:
    return file.path_key, file.version, file.file, file.line, item


def split_by_borders(values: BitMap64, borders: list[int]) -> Iterator[tuple[int, BitMap64]]:
    """Yield the number of each range that has values, and its values; each border is the first value of a range."""
    if not values:
        return
    first, last = bisect_right(borders, values.min()), bisect_right(borders, values.max())
    if first == last:
        yield first, values
        return
    ordered: array[int] = values.to_array()
    ends = [bisect_left(ordered, border) for border in borders[first:last]]
    for number, (start, end) in enumerate(zip([0, *ends], [*ends, len(ordered)], strict=True), first):
        if start < end:
            yield number, BitMap64(ordered[start:end])


def compare_values(_: LogFacts, __: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
    """Find the values that files repeat of files before them, in the order of their paths. A `Stage`."""
    found: list[tuple[Any, ...]] = []
    fresh: dict[str, BitMap64] = defaultdict(BitMap64)
    kept: dict[str, BitMap64] = defaultdict(BitMap64)
    blocks: dict[str, BitMap64] = defaultdict(BitMap64)
    if VALUES in rows:
        for *key, values, own_kept, repeated, own_blocks in rows[VALUES].sort(*_FILE[:4]).iter_rows():
            item = key[-1]
            blocks[item] |= _load(own_blocks)
            if needs_too_much_memory(len(blocks[item])):
                continue
            ours, our_kept = _load(values), _load(own_kept)
            shared = fresh[item] & ours
            met = _load(repeated) | (our_kept & (kept[item] | fresh[item])) | (ours & kept[item])
            fresh[item] |= ours
            kept[item] |= our_kept
            if shared or met:
                found.append((*key, len(shared), _get_first(shared), len(met), min(met.min(), MAX_ID) if met else None))
    repeats = pl.DataFrame(found, _FILE_SCHEMA | dict.fromkeys(_COUNTS, pl.Int64), orient="row")
    output.put(REPEATS, repeats, repeats["path_key"])
    return Aggregates(value_blocks=Counter({item: len(each) for item, each in blocks.items()}))


def _load(stored: bytes | None) -> BitMap64:
    return BitMap64() if stored is None else BitMap64.deserialize(stored)


def _get_first(values: BitMap64) -> int | None:
    """Return the lowest value, of which negative ones are modulo 2^64; None if there is none."""
    if not values:
        return None
    lowest: int = values.min()
    return lowest if values.max() <= MAX_ID else values[values.rank(MAX_ID)] - 2**64


class EvaluateFiles(msgspec.Struct, frozen=True):
    """The stage that evaluates the rows of files, with the values that they repeat."""

    left_out: frozenset[str]
    """Items whose values could not be compared."""

    def __call__(self, _: LogFacts, findings: Findings, rows: RowsByTag, __: StageOutput) -> Aggregates:
        repeats = rows.get(REPEATS, pl.DataFrame(schema=_FILE_SCHEMA | dict.fromkeys(_COUNTS, pl.Int64)))
        repeats = repeats.filter(~pl.col("item").is_in(sorted(self.left_out)))
        sums = repeats.group_by(_FILE).agg(pl.col("shared", "met").sum(), pl.col("first_shared", "first_met").min())
        for view in (row_id_files, identity_values):
            if FILE_ROWS + view.name in rows:
                joined = rows[FILE_ROWS + view.name].join(sums, on=_FILE, how="left", nulls_equal=True)
                findings.evaluate(view, _fill_duplicates(view, joined))
        return Aggregates()


def _fill_duplicates(view: View, joined: pl.DataFrame) -> pl.DataFrame:
    """Add the repeated values to the columns of a view. A count that is null stays null."""
    columns = []
    for name, source in zip(_DUPLICATES[view.name], _COUNTS, strict=True):
        if name is not None:
            is_count = not source.startswith("first_")
            added = pl.col(name) + pl.col(source).fill_null(0)
            columns.append((added if is_count else pl.min_horizontal(name, source)).alias(name))
    return joined.with_columns(columns).select(list(view.columns))
