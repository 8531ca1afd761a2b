"""Read the rows of an answer from the Arrow IPC file that a candidate wrote.

Nothing in the file is trusted: not its type, not its size, not a length in it.
"""

import os
import stat

import msgspec
import pyarrow as pa

from deltaspec.candidates.arrow_file import MAX_VALUES, RowsFault, read_arrow_file
from deltaspec.candidates.messages import PredicateSupport, RowsAnswer

__all__ = ["Rows", "RowsFault", "load_rows"]

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
