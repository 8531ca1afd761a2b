"""Small files are read at once, whatever length was listed."""

import io

import pytest

from deltaspec.wire.parquet import file_opener
from deltaspec.wire.parquet.file_opener import read_all


class ShortReads(io.BytesIO):
    """A source that returns at most seven bytes for each request."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(7 if size is None or size < 0 else min(size, 7))


@pytest.mark.parametrize("listed", [0, 1, 100, 2 << 20])
@pytest.mark.parametrize("length", [0, 1, 100, 3 << 20])
def test_all_bytes_are_read_if_the_file_grew_or_shrank(listed: int, length: int) -> None:
    data = bytes(range(256)) * (length // 256) + b"x" * (length % 256)
    assert read_all(io.BytesIO(data), listed) == data


def test_short_reads_are_continued() -> None:
    assert read_all(ShortReads(b"abcdefghij" * 5), 50) == b"abcdefghij" * 5


def test_no_more_than_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_opener, "LARGE_FILE_BYTES", 100)
    assert read_all(io.BytesIO(b"x" * 1000), 1000) == b"x" * 100
