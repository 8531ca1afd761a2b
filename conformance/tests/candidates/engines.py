"""Python engines for tests of `candidates.serve` and in-process candidates."""

import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from deltaspec.candidates import serve
from deltaspec.candidates.serve import EngineError

print("a print while the module is imported")

TABLE = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", None, "c"]})


class Panic(BaseException):
    """Like a panic of pyo3, not an `Exception`."""


class Arrow:
    """Rows of another library."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


class Engine:
    """Does what the name of the table says."""

    def hello(self) -> dict[str, Any]:
        return {"name": "test", "version": "2", "reader_features": ["deletionVectors"], "at": ["version"]}

    def snapshot(self, table: str, *, at: Any, want: Sequence[str], app_ids: Sequence[str]) -> Any:
        if table == "/arguments":
            return {"version": 1, "metadata": {"at": at, "want": list(want), "app_ids": list(app_ids)}}
        return {
            "/t": {"version": 3, "protocol": {"minReaderVersion": 1}, "transactions": {"app": 7}},
            "/nan": {"version": 1, "metadata": {"x": float("nan")}},
            "/bytes": {"version": 1, "metadata": {"x": b"x"}},
            "/large": {"version": 1, "domains": {"d": "x" * serve.MAX_LINE_BYTES}},
            "/surrogate": {"version": 1, "domains": {"d": "\udc80"}},
            "/wrong-type": {"version": "1"},
            "/nothing": None,
        }[table]

    def scan(self, table: str, *, at: Any, columns: Any, predicate: Any, predicate_tree: Any, row_ids: bool) -> Any:
        print("a print during the scan")
        match table:
            case "/arguments":
                arguments = {"at": at, "columns": columns, "predicate": predicate, "tree": predicate_tree}
                return pa.table({"arguments": [repr({**arguments, "row_ids": row_ids})]})
            case "/refused":
                raise EngineError(
                    "unsupported", "no vectors", code="E1", phase="snapshot", features=["f"], retryable=True
                )
            case "/caused":
                raise EngineError("io", "no disk") from OSError("disk")
            case "/unknown-category":
                raise EngineError("strange", "no")
            case "/defect":
                raise ZeroDivisionError
            case "/panic":
                raise Panic("index out of bounds")
            case "/reader":
                return TABLE.to_reader()
            case "/batch":
                return TABLE.to_batches()[0]
            case "/stream":
                return Arrow()
            case "/facts":
                return {"rows": TABLE, "files_read": 2, "files_skipped": 1, "predicate": "prunes"}
            case "/count":
                return {"rows": None, "num_rows": 5}
            case "/no-columns":
                return TABLE.select([])
            case "/two-dictionaries":
                chunks = [pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]
                return pa.table({"d": pa.chunked_array(chunks)}).to_reader()
            case "/bad-utf8":
                buffers = [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
                text = pa.Array.from_buffers(pa.string(), 1, buffers)
                return pa.table({"text": text})
            case "/no-arrow":
                return 5
            case "/wrong-count":
                return {"rows": TABLE, "num_rows": 4}
            case "/progress":
                serve.report_progress("half", 1, 2)
            case "/exit":
                sys.exit(9)
        return TABLE


class OnlyHello(serve.Engine):
    """Inherits the other methods from the protocol class, which do nothing."""

    def hello(self) -> dict[str, Any]:
        return {"name": "only-hello", "version": "1"}


class NoName:
    def hello(self) -> dict[str, Any]:
        return {"version": "1"}
