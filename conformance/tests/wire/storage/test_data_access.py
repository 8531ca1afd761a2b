"""Keys of files outside the log."""

import posixpath
from itertools import product

import pytest

from deltaspec.wire.storage.data_access import is_outside_table, normalize_key

KEYS = ["".join(parts) for length in range(1, 7) for parts in product("a./", repeat=length)]


def test_keys_are_normalized_as_paths_are() -> None:
    for key in KEYS:
        expected = posixpath.normpath(key) if "." in key or "//" in key else key
        assert normalize_key(key) == expected, key


@pytest.mark.parametrize("key", ["a/../b.parquet", "./b.parquet", "x//../b.parquet", "b.parquet"])
def test_key_inside_the_table_names_its_file(key: str) -> None:
    assert (normalize_key(key), is_outside_table(key)) == ("b.parquet", False)


@pytest.mark.parametrize("key", ["../b.parquet", "a/../../b.parquet", "/b.parquet", "s3://bucket/b.parquet"])
def test_key_outside_the_table(key: str) -> None:
    assert is_outside_table(key)
