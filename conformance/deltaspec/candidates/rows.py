"""Read the rows of an answer from the Arrow IPC file that a candidate wrote.

Nothing in the file is trusted: not its type, not its size, not a length in it.
"""

import os
import stat
from dataclasses import dataclass

import pyarrow as pa

from deltaspec.candidates.messages import PredicateSupport, RowsAnswer

MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_BYTES = 1024 * 1024 * 1024
"""Bytes of a table in memory, if nothing is shared between columns."""
MAX_VALUES = 64 * 1024 * 1024
"""Values of all columns and nested fields; some types need no memory for them."""


class RowsFault(Exception):
    """The rows of an answer cannot be read, or differ from what the answer says."""


@dataclass(frozen=True)
class Rows:
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
    table = read_table(_read_file(out))
    check_table(table)
    # a file without columns may not say how many rows there are
    if table.num_rows != answer.num_rows and table.num_columns:
        raise RowsFault(f"the answer says num_rows {answer.num_rows:,}; the file has {table.num_rows:,} rows")
    return Rows(table, answer.num_rows, answer.predicate, answer.files_read, answer.files_skipped)


def read_table(data: bytes) -> pa.Table:
    """Read a complete Arrow IPC file. The table shares the memory of the bytes.

    Raises:
        RowsFault: it is not a complete Arrow IPC file, or would need too much memory.
    """
    try:
        with pa.ipc.open_file(pa.py_buffer(data)) as reader:
            return reader.read_all()
    except (pa.ArrowException, OSError, ValueError, MemoryError) as fault:
        raise RowsFault(f"the rows are not a complete Arrow IPC file: {_get_first_line(fault)}") from fault


def check_table(table: pa.Table) -> None:
    """Check offsets, indices and text of all columns, and their size.

    Raises:
        RowsFault: the data is invalid, or too large to compare.
    """
    try:
        table.validate(full=True)
    except (pa.ArrowException, OSError) as fault:
        raise RowsFault(f"the rows are not valid Arrow data: {_get_first_line(fault)}") from fault
    if table.nbytes > MAX_BYTES:
        raise RowsFault(f"the rows take {table.nbytes:,} bytes of memory; at most {MAX_BYTES:,} are allowed")


def _read_file(path: str) -> bytes:
    """Return the content of a regular file. It is copied, because the candidate may truncate a mapped file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as fault:
        raise RowsFault(f"the rows cannot be opened: {fault.strerror}") from fault
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RowsFault("the rows are not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise RowsFault(f"the rows have {status.st_size:,} bytes; at most {MAX_FILE_BYTES:,} are allowed")
        return file.read(status.st_size)


def _get_first_line(fault: BaseException) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0][:500]
