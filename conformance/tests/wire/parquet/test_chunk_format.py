"""Codecs and page versions of files that pyarrow wrote."""

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.wire.parquet import chunk_format
from deltaspec.wire.parquet.chunk_format import ChunkFormat, UnknownChunkFormat, read_chunk_format
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.factory import open_store

ROWS = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]})


def write_and_read_format(directory: Path, table: pa.Table, **options: Any) -> ChunkFormat:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    (directory / "a.parquet").write_bytes(sink.getvalue())
    return read_chunk_format(DataAccess(open_store(str(directory))), "a.parquet", len(sink.getvalue()))


@pytest.mark.parametrize(
    ("compression", "codecs"),
    [
        ("none", ("uncompressed",)),
        ("snappy", ("snappy",)),
        ("gzip", ("gzip",)),
        ("zstd", ("zstd",)),
        ("lz4", ("lz4_raw",)),
        ("brotli", ("brotli",)),
        ({"a": "zstd", "b": "snappy"}, ("snappy", "zstd")),
    ],
)
def test_codecs(tmp_path: Path, compression: Any, codecs: tuple[str, ...]) -> None:
    assert write_and_read_format(tmp_path, ROWS, compression=compression).codecs == codecs


@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize(("requested", "version"), [("1.0", 1), ("2.0", 2)])
def test_page_version(tmp_path: Path, requested: str, version: int, use_dictionary: bool) -> None:
    assert (
        write_and_read_format(tmp_path, ROWS, data_page_version=requested, use_dictionary=use_dictionary).page_version
        == version
    )


def test_chunks_without_values_have_no_format(tmp_path: Path) -> None:
    assert write_and_read_format(tmp_path, ROWS.slice(0, 0), compression="gzip") == ChunkFormat((), None)


def test_footer_above_the_limit_is_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_format, "MAX_WALKED_BYTES", 10)
    with pytest.raises(UnknownChunkFormat, match="more than the limit of 10 bytes for codecs"):
        write_and_read_format(tmp_path, ROWS)


def test_data_page_is_not_at_its_offset(tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(ROWS, sink)
    data = sink.getvalue()
    begin = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0).data_page_offset
    (tmp_path / "a.parquet").write_bytes(data[:begin] + b"\xff\xff" + data[begin + 2 :])
    with pytest.raises(UnknownChunkFormat, match=f"there is no data page at offset {begin}"):
        read_chunk_format(DataAccess(open_store(str(tmp_path))), "a.parquet", len(data))
