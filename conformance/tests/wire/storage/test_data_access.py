"""Keys of files outside the log."""

import posixpath
import re
from itertools import chain, product

import polars as pl
import pytest

from deltaspec.wire.storage.data_access import (
    find_non_canonical_keys,
    is_non_canonical_key,
    is_outside_table,
    normalize_key,
)

KEYS = ["".join(parts) for length in range(1, 7) for parts in product("a./", repeat=length)]


def test_keys_are_normalized_as_paths_are() -> None:
    for key in KEYS:
        expected = posixpath.normpath(key) if "." in key or "//" in key else key
        assert normalize_key(key) == expected, key


def test_non_canonical_keys_are_those_that_a_listing_names_otherwise() -> None:
    keys = [*KEYS, *("".join(parts) for parts in product("s:/.", repeat=5)), "a/..\n", "\n/a", "é/./ü", "é:/", "a+:/b"]
    expected = [
        key.startswith("/")
        or re.match(r"[A-Za-z][A-Za-z0-9+.\-]*:/", key) is not None
        or "//" in key
        or not {".", ".."}.isdisjoint(key.split("/"))
        for key in keys
    ]
    assert 1000 < sum(expected) < len(keys) - 500
    assert find_non_canonical_keys(pl.Series(keys)).to_list() == expected
    few = (find_non_canonical_keys(pl.Series(keys[start : start + 400])) for start in range(0, len(keys), 400))
    assert list(chain.from_iterable(few)) == expected
    frame = pl.DataFrame({"key": [*keys, None]})
    assert frame.select(is_non_canonical_key("key")).to_series().to_list() == [*expected, None]
    assert find_non_canonical_keys(pl.Series(["a/b", None])).to_list() == [False, None]


@pytest.mark.parametrize("key", ["a/../b.parquet", "./b.parquet", "x//../b.parquet", "b.parquet"])
def test_key_inside_the_table_names_its_file(key: str) -> None:
    assert (normalize_key(key), is_outside_table(key)) == ("b.parquet", False)


@pytest.mark.parametrize("key", ["../b.parquet", "a/../../b.parquet", "/b.parquet", "s3://bucket/b.parquet"])
def test_key_outside_the_table(key: str) -> None:
    assert is_outside_table(key)
