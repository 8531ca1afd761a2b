"""Clustering columns without statistics."""

import polars as pl

from deltaspec.views.table.clustering_history import select_rows_without_statistics

TEXTS = {
    None: ["a", "s.x"],
    "{}": ["a", "s.x"],
    '{"nullCount":{"a":3}}': ["s.x"],
    '{"minValues":{"a":1},"maxValues":{"s":{"x":2}}}': [],
    "{": None,
}


def test_columns_without_statistics_are_listed_per_file() -> None:
    found = select_rows_without_statistics(pl.Series(list(TEXTS), dtype=pl.String), (("a",), ("s", "x")))
    assert found.to_list() == list(TEXTS.values())


def test_no_files_give_an_empty_list_column() -> None:
    assert select_rows_without_statistics(pl.Series([], dtype=pl.String), (("a",),)).dtype == pl.List(pl.String)
