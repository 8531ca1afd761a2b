"""Read the rows of an answer from the Arrow IPC file that a candidate wrote.

Nothing in the file is trusted: not its type, not its size, not a length in it.
"""

import os
import stat
import struct
from collections.abc import Iterator
from typing import BinaryIO, Self

import msgspec
import pyarrow as pa

from deltaspec.candidates.arrow_file import (
    MAX_VALUES,
    RowsFault,
    check_file,
    check_table,
    get_first_line,
    read_arrow_file,
)
from deltaspec.candidates.messages import PredicateSupport, RowsAnswer

__all__ = ["Rows", "RowsFault", "RowsFile", "load_rows"]

MAX_FILE_BYTES = 512 * 1024 * 1024


class Rows(msgspec.Struct, frozen=True):
    """Rows of an answer."""

    table: pa.Table
    num_rows: int
    predicate: PredicateSupport | None = None
    """How the predicate was used, if it differs from the capabilities."""
    files_read: int | None = None
    files_skipped: int | None = None


def load_rows(answer: RowsAnswer, out: str) -> Rows:
    """Read and check the rows of an answer.

    Args:
        answer: the answer to `scan` or `changes`.
        out: the path that the request asked for.

    Raises:
        RowsFault: the file is not at that path, is not a complete Arrow IPC file, or has another number of rows.
    """
    if answer.path != out:
        raise RowsFault(f"expected the rows at {out}, found the path {answer.path[:1000]}")
    table = read_arrow_file(_read_file(out))
    if answer.num_rows > MAX_VALUES:
        raise RowsFault(f"the answer says num_rows {answer.num_rows:,}; at most {MAX_VALUES:,} are allowed")
    # a file without columns may not say how many rows there are
    if table.num_rows != answer.num_rows and table.num_columns:
        raise RowsFault(f"the answer says num_rows {answer.num_rows:,}; the file has {table.num_rows:,} rows")
    return Rows(table, answer.num_rows, answer.predicate, answer.files_read, answer.files_skipped)


class RowsFile:
    """Rows of an answer that stay in the file and are read one batch at a time. A context manager."""

    def __init__(self, answer: RowsAnswer, out: str, limit: int) -> None:
        """Open and check the file of an answer.

        Args:
            answer: the answer to `scan` or `changes`.
            out: the path that the request asked for.
            limit: largest size of the file in bytes.

        Raises:
            RowsFault: the file is not at that path, is not a complete Arrow IPC file, or is too large.
        """
        if answer.path != out:
            raise RowsFault(f"expected the rows at {out}, found the path {answer.path[:1000]}")
        self.num_rows = answer.num_rows
        self.predicate = answer.predicate
        """How the predicate was used, if it differs from the capabilities."""
        self._file = _open_file(out, limit)
        try:
            check_file(_FileBytes(self._file), is_streamed=True)
            self._reader = pa.ipc.open_file(pa.PythonFile(self._file, mode="r"))
        except RowsFault:
            self._file.close()
            raise
        except _READ_ERRORS as fault:
            self._file.close()
            raise RowsFault(f"the rows are not a complete Arrow IPC file: {get_first_line(fault)}") from fault
        self.schema: pa.Schema = self._reader.schema
        self.batches: int = self._reader.num_record_batches

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, number: int) -> pa.Table:
        """Read and check a batch.

        Raises:
            RowsFault: it is not valid.
        """
        try:
            table = pa.Table.from_batches([self._reader.get_batch(number)])
        except _READ_ERRORS as fault:
            raise RowsFault(f"batch {number:,} of the rows cannot be read: {get_first_line(fault)}") from fault
        check_table(table)
        return table

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield every batch.

        Raises:
            RowsFault: a batch is not valid, or the file has another number of rows than the answer says.
        """
        rows = 0
        for number in range(self.batches):
            table = self.read(number)
            rows += table.num_rows
            yield table
        if rows != self.num_rows and len(self.schema):
            raise RowsFault(f"the answer says num_rows {self.num_rows:,}; the file has {rows:,} rows")


class _FileBytes:
    """The bytes of a file, of which only the requested ones are read."""

    def __init__(self, file: BinaryIO) -> None:
        self._descriptor = file.fileno()
        self._size = os.fstat(self._descriptor).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        return os.pread(self._descriptor, max(stop - start, 0), start)


_READ_ERRORS = (pa.ArrowException, OSError, ValueError, struct.error, MemoryError, RecursionError)


def _read_file(path: str) -> bytes:
    """Return the content of a regular file. It is copied, because the candidate may truncate a mapped file."""
    with _open_file(path, MAX_FILE_BYTES) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def _open_file(path: str, limit: int) -> BinaryIO:
    """Open a regular file of at most `limit` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as fault:
        raise RowsFault(f"the rows cannot be opened: {fault.strerror}") from fault
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= limit:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise RowsFault("the rows are not a regular file")
    raise RowsFault(f"the rows have {status.st_size:,} bytes; at most {limit:,} are allowed")
