"""A candidate that is a Python object in this process: faster, without isolation, deadlines and restarts.

The engine has the same methods as for `candidates.serve`, and its answers are checked like the answers of a process.
Rows are not written to a file.
"""

from typing import Any, Self, TypeVar

import msgspec
import pyarrow as pa

from deltaspec.candidates import serve
from deltaspec.candidates.arrow_file import RowsFault, validate_table
from deltaspec.candidates.host import Died, Refused
from deltaspec.candidates.messages import (
    Apply,
    ApplyAnswer,
    Capabilities,
    Changes,
    Hello,
    Refusal,
    Request,
    RowsAnswer,
    Scan,
    Snapshot,
    SnapshotAnswer,
)
from deltaspec.candidates.rows import Rows

T = TypeVar("T")


class InProcess:
    """A candidate in this process.

    Args:
        engine: object with the methods of `serve.Engine`.

    Raises:
        Refused, Died: the engine did not answer `hello`.
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.capabilities = _convert(self._call(Hello()), Capabilities)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def snapshot(self, request: Snapshot) -> SnapshotAnswer:
        return _convert(self._call(request), SnapshotAnswer)

    def scan(self, request: Scan) -> Rows:
        return self._read_rows(request)

    def changes(self, request: Changes) -> Rows:
        return self._read_rows(request)

    def apply(self, request: Apply) -> ApplyAnswer:
        return _convert(self._call(request), ApplyAnswer)

    def close(self) -> None:
        """Do nothing; the object belongs to the caller."""

    def _call(self, request: Request) -> Any:
        fields = msgspec.json.decode(msgspec.json.encode(request))  # lists instead of tuples, as in a process
        try:
            return serve.call_engine(self._engine, fields)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise Refused(_convert(serve.describe_error(error), Refusal)) from error

    def _read_rows(self, request: Scan | Changes) -> Rows:
        result = self._call(request)
        try:
            reader, fields = serve.open_rows(result)
            table = reader.read_all() if reader is not None else pa.table({})
        except Exception as error:
            raise Refused(_convert(serve.describe_error(error), Refusal)) from error
        answer = _convert({"num_rows": table.num_rows, **fields, "path": ""}, RowsAnswer)
        try:
            validate_table(table)
        except RowsFault as fault:
            raise Died("harness", str(fault)) from fault
        if table.num_columns and table.num_rows != answer.num_rows:
            raise Died("harness", f"num_rows is {answer.num_rows:,}; there are {table.num_rows:,} rows")
        return Rows(table, answer.num_rows, answer.predicate, answer.files_read, answer.files_skipped)


def _convert(value: Any, answer_type: type[T]) -> T:
    try:
        return msgspec.convert(value, answer_type)
    except (msgspec.ValidationError, RecursionError) as fault:
        raise Died("harness", f"an answer is invalid: {fault}") from fault
