"""Find which rows of an engine's answer differ, and their data files, after sums of hashes have shown a difference.

Both sides are read again, and hashes of rows are collected: of all rows if they are few, otherwise of one class of
hashes that is known to differ. So memory is bounded, whatever the number of rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from deltaspec.candidates.row_comparison import Value, list_kinds, list_rows, show_value
from deltaspec.comparison.engine_rows import EngineRows
from deltaspec.comparison.hashed_rows import PARTITION, ROWS, HashedRows
from deltaspec.comparison.judge import Judge, OpenedFile
from deltaspec.comparison.results import DifferingRow, FileRows, RowDifference
from deltaspec.protocol.schema.data_types import Field
from deltaspec.sql.logical_row_reader import get_row_indexes
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.parquet.row_batches import Batch

MOST_HASHES = 4_000_000
"""Rows of both sides whose hashes are in memory."""
_MOST_VALUES = 200
"""Differing rows of each side whose values are read."""
_SHOWN_ROWS, _SHOWN_FILES, _SHOWN_PARTITIONS, _IDENTIFYING = 5, 5, 5, 3
_HASHES = {"hash": pl.UInt64, "part": pl.Int64, "row": pl.Int64}


class RowSearch:
    """A search for differing rows.

    Args:
        judge: reads the table.
        engine: the answer of the engine.
        differing: result of `RowSums.find_differences`.
        labels: partition hash to its values as text.
    """

    def __init__(self, judge: Judge, engine: EngineRows, differing: pl.DataFrame, labels: Mapping[int, str]) -> None:
        self._judge, self._engine, self._labels = judge, engine, labels
        self._differing = differing
        self._partitions = differing[PARTITION]
        self._expected = int(differing[ROWS].sum() or 0)
        self._found = int(differing[f"{ROWS}_right"].sum() or 0)
        self._classes = -(-(self._expected + self._found) // MOST_HASHES) or 1

    def run(self, expected_rows: int, found_rows: int) -> RowDifference:
        """Return how the rows differ.

        Args:
            expected_rows: rows of the table.
            found_rows: rows of the answer.

        Raises:
            RowsFault, WrongType: the answer cannot be read.
        """
        chosen = self._choose_class() if self._classes > 1 else 0
        expected = self._collect(self._iter_judge(), chosen)
        found = self._collect(self._iter_engine(), chosen)
        counted = (
            expected.group_by("hash").len("expected").join(found.group_by("hash").len("found"), on="hash", how="full",
                                                            coalesce=True)
            .with_columns(pl.col("expected", "found").fill_null(0).cast(pl.Int64))
        )  # fmt: skip
        missing = counted.filter(pl.col("expected") > pl.col("found"))
        extra = counted.filter(pl.col("found") > pl.col("expected"))
        expected = _select_surplus(expected, missing, pl.col("expected") - pl.col("found"))
        found = _select_surplus(found, extra, pl.col("found") - pl.col("expected"))
        files = self._judge_files
        expected_values = self._read_judge(expected.head(_MOST_VALUES))
        found_values = self._read_engine(found.head(_MOST_VALUES))
        columns = _list_columns(self._judge.fields, self._differing)
        by_file = expected.group_by("part").len().sort("len", "part", descending=[True, False]).head(_SHOWN_FILES)
        return RowDifference(
            expected_rows=expected_rows,
            found_rows=found_rows,
            columns=columns,
            partitions=tuple(self._label(each) for each in self._partitions.head(_SHOWN_PARTITIONS)),
            partition_count=len(self._partitions),
            missing=int((missing["expected"] - missing["found"]).sum()),
            unexpected=int((extra["found"] - extra["expected"]).sum()),
            is_complete=self._classes == 1,
            kinds=list_kinds(
                self._engine.schema,
                Counter(row for _, row in expected_values),
                Counter(row for _, row in found_values),
            ),
            files=tuple(FileRows(files[part].path, rows) for part, rows in by_file.iter_rows()),
            rows=tuple(self._pair(expected_values, [row for _, row in found_values], columns)),
        )

    def _label(self, partition: int) -> str:
        if not self._judge.partition_positions:
            return "all rows"
        return self._labels.get(partition, "a partition that the table does not have")

    @property
    def _judge_files(self) -> list[DataFile]:
        return list(self._judge.table.files)

    def _iter_judge(self) -> Iterator[tuple[int, HashedRows, pl.Series]]:
        """Yield the number of each file of the differing partitions, its rows, and their indexes in the file."""
        for number, file in enumerate(self._judge.table.files):
            with OpenedFile(self._judge, file) as opened:
                if opened.partition in self._partitions:
                    for batch in opened.iter_batches():
                        yield number, opened.hash_batch(batch), _list_indexes(batch)

    def _iter_engine(self) -> Iterator[tuple[int, HashedRows, pl.Series]]:
        for number, table in enumerate(self._engine.iter_tables()):
            yield number, self._engine.hash_table(table), pl.Series(range(table.num_rows), dtype=pl.Int64)

    def _choose_class(self) -> int:
        """Return the first class of hashes in which both sides differ."""
        sums = [self._sum_classes(each) for each in (self._iter_judge(), self._iter_engine())]
        joined = sums[0].join(sums[1], on="class", how="full", coalesce=True)
        differing = joined.filter(
            pl.col("sum").ne_missing(pl.col("sum_right")) | pl.col("len").ne_missing(pl.col("len_right"))
        )
        first: int = differing.sort("class").item(0, "class")
        return first

    def _sum_classes(self, parts: Iterator[tuple[int, HashedRows, pl.Series]]) -> pl.DataFrame:
        total = pl.DataFrame(schema={"class": pl.UInt64, "sum": pl.UInt64, "len": pl.Int64})
        for _, rows, _ in parts:
            hashes = pl.DataFrame({"hash": self._select_partitions(rows)})
            added = hashes.group_by((pl.col("hash") % self._classes).alias("class")).agg(
                pl.col("hash").sum().alias("sum"), pl.len().cast(pl.Int64).alias("len")
            )
            total = pl.concat([total, added]).group_by("class").agg(pl.col("sum", "len").sum())
        return total

    def _select_partitions(self, rows: HashedRows) -> pl.Series:
        hashes = rows.row_hashes
        if isinstance(rows.partition, int):
            return hashes
        return hashes.filter(rows.partition.is_in(self._partitions.implode()))

    def _collect(self, parts: Iterator[tuple[int, HashedRows, pl.Series]], chosen: int) -> pl.DataFrame:
        """Return the hashes of one class, and where their rows are."""
        found = [pl.DataFrame(schema=_HASHES)]
        for number, rows, indexes in parts:
            frame = pl.DataFrame({"hash": rows.row_hashes, "row": indexes}, schema_overrides=_HASHES)
            if not isinstance(rows.partition, int):
                frame = frame.filter(rows.partition.is_in(self._partitions.implode()))
            if self._classes > 1:
                frame = frame.filter(pl.col("hash") % self._classes == chosen)
            found.append(frame.select("hash", pl.lit(number, pl.Int64).alias("part"), "row"))
        return pl.concat(found)

    def _read_judge(self, places: pl.DataFrame) -> list[tuple[str, tuple[Value, ...]]]:
        """Return the files and values of rows."""
        files, wanted = self._judge_files, defaultdict[int, list[int]](list)
        for part, row in places.select("part", "row").iter_rows():
            wanted[part].append(row)
        found = []
        for part, rows in wanted.items():
            with OpenedFile(self._judge, files[part]) as opened:
                found += [(files[part].path, each) for each in opened.read_values(rows)]
        return found

    def _read_engine(self, places: pl.DataFrame) -> list[tuple[str, tuple[Value, ...]]]:
        wanted = defaultdict[int, list[int]](list)
        for part, row in places.select("part", "row").iter_rows():
            wanted[part].append(row)
        return [("", each) for part, rows in wanted.items() for each in list_rows(self._engine.read(part).take(rows))]

    def _pair(
        self, expected: Sequence[tuple[str, tuple[Value, ...]]], found: list[tuple[Value, ...]], columns: Sequence[str]
    ) -> Iterator[DifferingRow]:
        """Yield some differing rows, an expected one together with the found one whose other columns are equal."""
        names = [field.name for field in self._judge.fields]
        differing = [number for number, name in enumerate(names) if name in columns] or list(range(len(names)))
        others = [number for number in range(len(names)) if number not in differing]
        shown = [*others[:_IDENTIFYING], *differing]

        def describe(row: tuple[Value, ...]) -> dict[str, str]:
            return {names[number]: show_value(row[number]) for number in shown}

        left = defaultdict[tuple[Value, ...], list[tuple[Value, ...]]](list)
        for row in found:
            left[tuple(row[number] for number in others)].append(row)
        pairs = []
        for file, row in expected:
            same = left[tuple(row[number] for number in others)] if others else []
            pairs.append((file, row, same.pop(0) if same else None))
        pairs.sort(key=lambda pair: pair[2] is None)
        count = 0
        for file, row, other in pairs[:_SHOWN_ROWS]:
            count += 1
            yield DifferingRow(file=file, expected=describe(row), found=None if other is None else describe(other))
        for row in [each for rows in left.values() for each in rows][: _SHOWN_ROWS - count]:
            yield DifferingRow(file=None, expected=None, found=describe(row))


def describe_sums(
    fields: Sequence[Field], differing: pl.DataFrame, labels: Mapping[int, str], expected_rows: int, found_rows: int
) -> RowDifference:
    """Return what sums of hashes show of a difference, without a search for rows.

    Args:
        fields: compared columns.
        differing: result of `RowSums.find_differences`.
        labels: partition hash to its name.
        expected_rows: rows of the table.
        found_rows: rows of the answer.
    """
    shown = sorted(labels.get(each, "none that the table has") for each in differing[PARTITION])
    return RowDifference(
        expected_rows=expected_rows,
        found_rows=found_rows,
        columns=_list_columns(fields, differing),
        partitions=tuple(shown[:_SHOWN_PARTITIONS]),
        partition_count=len(shown),
        missing=None,
        unexpected=None,
    )


def _list_columns(fields: Sequence[Field], differing: pl.DataFrame) -> tuple[str, ...]:
    return tuple(
        field.name
        for number, field in enumerate(fields)
        if differing.select(pl.col(str(number)).ne_missing(pl.col(f"{number}_right")).any()).item()
    )


def _select_surplus(rows: pl.DataFrame, counted: pl.DataFrame, surplus: pl.Expr) -> pl.DataFrame:
    """Return as many of the rows of each hash as one side has more than the other."""
    joined = rows.join(counted.select("hash", surplus.alias("surplus")), on="hash").sort("part", "row")
    return joined.filter(pl.int_range(pl.len()).over("hash") < pl.col("surplus"))


def _list_indexes(batch: Batch) -> pl.Series:
    """Return the indexes in the file of the rows of a batch."""
    found = pl.from_arrow(get_row_indexes(batch))
    assert isinstance(found, pl.Series)
    return found
