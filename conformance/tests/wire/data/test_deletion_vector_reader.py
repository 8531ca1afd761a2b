"""Stored deletion vectors: the version byte of their file is checked, whether the file is read whole or by entry."""

import uuid
from pathlib import Path

import pytest

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files.deletion_vectors import (
    DeletionVectorError,
    build_file,
    build_file_descriptor,
    encode_bitmap,
)
from deltaspec.wire.data import deletion_vector_reader
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.factory import open_store

FILE_ID = uuid.UUID("0b1f7f1e-6d0c-4d5c-9f0e-2f6a3a1e9c11")


def open_reader(directory: Path, version: int = 1) -> tuple[DeletionVectorReader, DeletionVectorDescriptor]:
    """Write a file with one vector of two rows; return a reader and the vector's descriptor."""
    bitmap = encode_bitmap([1, 3])
    data, (offset,) = build_file([bitmap])
    (directory / f"deletion_vector_{FILE_ID}.bin").write_bytes(bytes([version]) + data[1:])
    reader = DeletionVectorReader(DataAccess(open_store(str(directory))))
    return reader, build_file_descriptor(FILE_ID, offset, bitmap, 2)


@pytest.fixture(params=["whole", "by entry"])
def _small_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by entry":
        monkeypatch.setattr(deletion_vector_reader, "SMALL_FILE_BYTES", 4)


@pytest.mark.usefixtures("_small_files")
def test_rows_of_a_stored_vector(tmp_path: Path) -> None:
    reader, descriptor = open_reader(tmp_path)
    assert list(reader.rows(descriptor)) == [1, 3]


@pytest.mark.usefixtures("_small_files")
def test_other_file_version_is_refused(tmp_path: Path) -> None:
    reader, descriptor = open_reader(tmp_path, version=2)
    with pytest.raises(DeletionVectorError, match="version"):
        reader.bitmap(descriptor)
