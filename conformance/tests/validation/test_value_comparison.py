"""Values of files are compared in ranges, with the result of a comparison of all values at once."""

from collections import defaultdict
from typing import Any

import polars as pl
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from deltaspec.validation.data.row_id_reader import RowIds
from deltaspec.validation.data.value_comparison import REPEATS, FileValues, compare_values, split_by_borders
from deltaspec.views.data.data_files import DataFile

_IDS = st.frozensets(st.integers(0, 12) | st.sampled_from([2**63 - 1, 2**64 - 1]), max_size=6)
_FILES = st.lists(st.tuples(_IDS, _IDS, _IDS), min_size=1, max_size=4)
"""Per file: default ids of rows, materialized ids, ids that the file itself repeats."""
_BORDERS = st.lists(st.integers(1, 12), max_size=4, unique=True).map(sorted)


class Output:
    """Collects rows by tag."""

    def __init__(self) -> None:
        self.rows: dict[str, list[pl.DataFrame]] = defaultdict(list)

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        if len(rows):
            self.rows[tag].append(rows)

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        """Nobody watches."""


def _file(number: int) -> DataFile:
    path = f"{number}.parquet"
    return DataFile(1, "log", number, "add", path, path, 1, None, None, {}, None, None, None)


def _compare(files: list[tuple[frozenset[int], ...]], borders: list[int]) -> dict[int, tuple[int, int | None]]:
    """Return the number of repeated default ids, the number of other repeated ids and the first of these by file."""
    output, compared = Output(), Output()
    values = FileValues(output, 3, borders)
    for number, sets in enumerate(files):
        named = dict(zip(("values", "kept", "repeated"), map(BitMap64, sets), strict=True))
        values.add_sets(_file(number), "ids", borders, named)
    values.flush()
    facts: Any = None
    rows = {tag: pl.concat(frames) for tag, frames in output.rows.items()}
    compare_values(facts, facts, rows, compared)
    found: dict[int, tuple[Any, ...]] = {}
    for frame in compared.rows[REPEATS]:
        sums = frame.group_by("line").agg(pl.col("shared", "met").sum(), pl.col("first_shared", "first_met").min())
        found |= {row["line"]: tuple(row.values())[1:] for row in sums.iter_rows(named=True)}
    return found


@example_settings(60)
@given(_FILES, _BORDERS)
def test_repeated_ids_do_not_depend_on_ranges(files: list[tuple[frozenset[int], ...]], borders: list[int]) -> None:
    seen, expected = RowIds(), {}
    for number, (fresh, kept, repeated) in enumerate(map(BitMap64, sets) for sets in files):
        ids = RowIds(by_default=fresh, kept=kept, repeated=repeated)
        shared = seen.fresh & ids.fresh
        met = seen.take(ids)
        if shared or met:
            expected[number] = len(shared), len(met), min(met.min(), 2**63 - 1) if met else None
    found = {line: (shared, met, first) for line, (shared, met, _, first) in _compare(files, borders).items()}
    assert found == expected


@example_settings(60)
@given(_IDS, _BORDERS)
def test_every_value_is_in_one_range(values: frozenset[int], borders: list[int]) -> None:
    parts = dict(split_by_borders(BitMap64(values), borders))
    assert set().union(*parts.values()) == values
    assert sum(map(len, parts.values())) == len(values)
    for number, part in parts.items():
        lower, upper = [0, *borders][number], [*borders, 2**64][number]
        assert all(lower <= each < upper for each in part), f"{number=}"


def test_identity_ranges_begin_at_blocks() -> None:
    values = FileValues(Output(), 4, [])
    borders = values.choose_borders(-10, 1_000_000)
    assert len(borders) == 3
    assert [border % 65_536 for border in borders] == [0, 0, 0]
    assert values.choose_borders(5, 6) == []
