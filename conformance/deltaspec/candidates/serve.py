"""Candidate side of the candidate protocol, version 1: answer the requests of deltaspec with an engine.

This file needs only the standard library and pyarrow. Copy it into your project, or use the one of deltaspec:

    python -m deltaspec.candidates.serve acme.harness:Engine      # with deltaspec installed
    python serve.py acme.harness:Engine                           # a copy

A class with the methods of `Engine` is all that is needed. Every method except `hello` is optional: a missing method
is an operation that the engine does not support, and `ops` in the answer to `hello` is derived from the methods. A
method raises `EngineError` where the engine refuses; any other exception is answered with category `internal`.

    from deltaspec.candidates.serve import EngineError            # or: from serve import EngineError

    class Engine:
        def hello(self):
            return {"name": "acme", "version": "1.0", "reader_features": ["deletionVectors"], "at": ["version"]}

        def scan(self, table, *, at, columns, predicate, predicate_tree, row_ids):
            try:
                return acme.open(table, version=at and at.get("version")).to_arrow()
            except acme.UnsupportedFeature as error:
                raise EngineError("unsupported", str(error), phase="snapshot", features=[error.feature]) from error

The process reads one JSON object per line from stdin and answers each with one line on stdout. While it runs, the file
descriptor of stdout leads to stderr, and the descriptor of stdin to the null device. Prints of the engine, also of
native code, therefore cannot break the protocol. Tracebacks go to stderr, which deltaspec keeps for its report.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

PROTOCOL_VERSION = 1
MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_MESSAGE_CHARACTERS = 20_000
MAX_BATCH_ROWS = 1 << 17
"""Rows of a batch of a file, which the host reads one by one if there are many."""
OPERATIONS = ("snapshot", "scan", "changes", "apply")

_SCAN = ("at", "columns", "predicate", "predicate_tree")
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "snapshot": {"at": None, "want": [], "app_ids": []},
    "scan": {**dict.fromkeys(_SCAN), "row_ids": False},
    "changes": {**dict.fromkeys(("start", "end", "columns", "predicate", "predicate_tree"))},
    "apply": {"operation": None, "commit": None},
}
"""Keyword arguments of each method with their defaults; other fields of a request are ignored.

`catalog` is passed only if the request has it: the host sends it only to engines that declare it.
"""


class EngineError(Exception):
    """The engine refuses a request.

    Args:
        category: `unsupported` (feature, type, protocol version), `corrupt` (the table breaks the protocol),
            `not-found` (table, version or timestamp), `conflict` (another commit won), `constraint` (the table forbids
            the write), `invalid-request` (impossible for this table), `io` (the store failed), or `internal`.
        message: text of the engine's error.
        code: the engine's own error class.
        phase: `snapshot`, `scan`, `changes` or `commit`; None if unknown.
        features: table features that the engine does not support.
        native: name of the engine's exception. By default the name of the `__cause__`.
        retryable: whether the same request may succeed later.
    """

    def __init__(
        self,
        category: str,
        message: str = "",
        *,
        code: str = "",
        phase: str | None = None,
        features: Sequence[str] = (),
        native: str = "",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.category, self.message, self.code, self.phase = category, message, code, phase
        self.features, self.native, self.retryable = tuple(features), native, retryable


class Engine(Protocol):
    """Methods of an engine. Only `hello` is required; leave out what the engine cannot do.

    `table` is the absolute path of a local directory. `at` is None for the newest version, `{"version": 3}` or
    `{"timestamp_ms": 1700000000000}`. A field of an answer that the engine does not show is left out.

    If `hello` declares `catalog`, each method also needs a keyword argument `catalog`, None by default: the latest
    version and the ratified commits of a catalog-managed table, as in the JSON Schema `scan.request.json`.
    """

    def hello(self) -> dict[str, Any]:
        """Return the engine's name, version and abilities: fields of `Capabilities` in the published JSON Schema."""
        ...

    def snapshot(
        self, table: str, *, at: dict[str, int] | None, want: Sequence[str], app_ids: Sequence[str]
    ) -> dict[str, Any]:
        """Return version, protocol and metadata as in the log, and the parts that `want` names.

        Args:
            table: path of the table.
            at: version or timestamp.
            want: subset of `files`, `transactions`, `domains`.
            app_ids: applications whose transactions are wanted, for engines that cannot list them.
        """
        ...

    def scan(
        self,
        table: str,
        *,
        at: dict[str, int] | None,
        columns: list[list[str]] | None,
        predicate: str | None,
        predicate_tree: list[Any] | None,
        row_ids: bool,
    ) -> Any:
        """Return rows: an object with an Arrow stream, or a dict with `rows` and optional facts.

        Args:
            table: path of the table.
            at: version or timestamp.
            columns: paths of logical names. None means all columns. `["a", "b"]` is the field b of a, returned as a
                column named `a.b`. An empty list asks only for the number of rows.
            predicate: SQL condition.
            predicate_tree: the same condition as a tree: `["and", ["=", ["col", "a"], ["lit", "long", "5"]], ...]`.
            row_ids: whether to add the columns `__row_id` and `__row_commit_version`.

        Returns:
            A `pyarrow.Table`, `RecordBatchReader` or any object with `__arrow_c_stream__`. Or a dict with `rows` (such
            an object), `num_rows` (needed if `rows` is None, for a count), `files_read`, `files_skipped`, `predicate`.
        """
        ...

    def changes(
        self,
        table: str,
        *,
        start: int,
        end: int | None,
        columns: list[list[str]] | None,
        predicate: str | None,
        predicate_tree: list[Any] | None,
    ) -> Any:
        """Return the changed rows of versions `start` to `end`, both inclusive, in the same form as `scan`.

        The rows also have `_change_type`, `_commit_version` and `_commit_timestamp`.
        """
        ...

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        """Write to the table and return `committed`, `version` and optionally `files`.

        Args:
            table: path of the table.
            operation: `kind` and its arguments. Rows are the path of an Arrow IPC file.
            commit: `txn`, `domains`, `user_metadata` and `hooks` of the commit; None for none of them. The JSON Schema
                `apply.request.json` describes both.
        """
        ...


def report_progress(note: str = "", done: int | None = None, total: int | None = None) -> None:
    """Tell the host that a long operation is still running; this renews the deadline, up to four times."""
    if _active is not None:
        fields = {"note": note[:1000], "done": done, "total": total}
        _active.send_progress({key: value for key, value in fields.items() if value is not None})


def answer(engine: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return `{"ok": ...}` or `{"error": ...}` for a request; rows are written to the request's `out`."""
    try:
        return {"ok": _perform(engine, request)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - panics of native code are not of class Exception
        return {"error": describe_error(error)}


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return the fields of an error answer. The traceback of an unexpected exception is printed to stderr."""
    if not isinstance(error, EngineError):
        traceback.print_exception(error)
        error = EngineError("internal", _get_text(error), native=type(error).__name__)
    native = error.native or (type(error.__cause__).__name__ if error.__cause__ else "")
    fields = {
        "category": error.category,
        "message": str(error.message)[:MAX_MESSAGE_CHARACTERS],
        "code": error.code,
        "phase": error.phase,
        "features": list(error.features),
        "native": native,
        "retryable": error.retryable,
    }
    return {key: value for key, value in fields.items() if value not in (None, "", [], False)}


def call_engine(engine: Any, request: dict[str, Any]) -> Any:
    """Call the engine's method for a request and return what it returns."""
    operation = request.get("op")
    if operation == "hello":
        return _say_hello(engine, request)
    if operation not in OPERATIONS or not _has_method(engine, operation):
        raise EngineError("unsupported", f"operation {operation!r} is not supported", code="operation")
    arguments = {name: request.get(name, default) for name, default in _ARGUMENTS[operation].items()}
    if request.get("catalog") is not None:
        arguments["catalog"] = request["catalog"]
    return getattr(engine, operation)(request["table"], **arguments)


def open_rows(result: Any) -> tuple[pa.RecordBatchReader | None, dict[str, Any]]:
    """Return a reader of the rows that an engine returned, or None for a bare count, and the other fields."""
    fields = dict(result) if isinstance(result, dict) else {"rows": result}
    rows = fields.pop("rows", None)
    if rows is None:
        if "num_rows" not in fields:
            raise TypeError("the engine returned neither rows nor num_rows")
        return None, fields
    if isinstance(rows, pa.Table | pa.RecordBatch):
        fields.setdefault("num_rows", rows.num_rows)  # not every reader of a table without columns keeps it
    if isinstance(rows, pa.Table):
        return rows.unify_dictionaries().to_reader(MAX_BATCH_ROWS), fields
    return rows if isinstance(rows, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(rows), fields


def write_rows(reader: pa.RecordBatchReader | None, path: str) -> int:
    """Write rows as an Arrow IPC file and return their number."""
    if reader is not None and any(pa.types.is_dictionary(each.type) for each in reader.schema):
        reader = reader.read_all().unify_dictionaries().to_reader()  # a file holds one dictionary per column
    number = 0
    with pa.ipc.new_file(path, reader.schema if reader is not None else pa.schema([])) as writer:
        for batch in reader or ():
            writer.write_batch(batch)
            number += batch.num_rows
    return number


def serve(engine: Any, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until `bye` or the end of the input."""
    global _active
    _active = _Connection(answers)
    try:
        for request in _read_requests(requests, _active):
            if request.get("op") == "bye":
                _active.send({"ok": {}})
                return
            _active.send(answer(engine, request))
    finally:
        _active = None


def load_engine(name: str) -> Any:
    """Return an object of the class `MODULE:CLASS`."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"expected MODULE:CLASS, found {name!r}")
    return getattr(importlib.import_module(module), attribute)()


def main(arguments: Sequence[str]) -> int:
    """Serve the engine `MODULE:CLASS` on the stdin and stdout of this process."""
    if len(arguments) != 1:
        print("usage: python serve.py MODULE:CLASS", file=sys.stderr)
        return 2
    requests, answers = _take_stdin_and_stdout()
    try:
        engine = load_engine(arguments[0])
    except (ImportError, AttributeError, ValueError) as error:
        traceback.print_exception(error)
        print(f"cannot load {arguments[0]}: {error}", file=sys.stderr)
        return 2
    serve(engine, requests, answers)
    return 0


class _Connection:
    """Stream of answers, with the `seq` of the current request. Threads of the engine may report progress."""

    def __init__(self, answers: BinaryIO) -> None:
        self.seq: Any = None
        self._answers = answers
        self._lock = threading.Lock()

    def send(self, fields: dict[str, Any]) -> None:
        """Send the answer; one that cannot be sent is replaced by an error."""
        try:
            line = _encode({"seq": self.seq, **fields})
            if len(line) > MAX_LINE_BYTES:
                raise ValueError(f"the answer has {len(line):,} bytes; a line may have {MAX_LINE_BYTES:,}")
        except (TypeError, ValueError, RecursionError) as error:
            line = _encode({"seq": self.seq, "error": describe_error(error)})
        with self._lock:
            self.seq = None  # a late thread must not report progress of an answered request
            self._write(line)

    def send_progress(self, fields: dict[str, Any]) -> None:
        with self._lock:
            if self.seq is not None:
                self._write(_encode({"seq": self.seq, "progress": fields}))

    def _write(self, line: bytes) -> None:
        self._answers.write(line)
        self._answers.flush()


_active: _Connection | None = None
"""Connection that is being served, for `report_progress`."""


def _perform(engine: Any, request: dict[str, Any]) -> Any:
    result = call_engine(engine, request)
    if request["op"] not in ("scan", "changes"):
        return result
    reader, fields = open_rows(result)
    number = write_rows(reader, request["out"])
    return {"num_rows": number, **fields, "path": request["out"]}


def _say_hello(engine: Any, request: dict[str, Any]) -> dict[str, Any]:
    if PROTOCOL_VERSION not in request.get("protocol", [PROTOCOL_VERSION]):
        raise EngineError("unsupported", f"only version {PROTOCOL_VERSION} of the candidate protocol is supported")
    operations = [each for each in OPERATIONS if _has_method(engine, each)]
    return {"protocol": PROTOCOL_VERSION, "language": "python", "ops": operations, **engine.hello()}


def _has_method(engine: Any, operation: str) -> bool:
    """Return whether the engine has its own method, not only the method of the protocol class."""
    method = getattr(engine, operation, None)
    return callable(method) and getattr(method, "__func__", method) is not getattr(Engine, operation)


def _read_requests(requests: BinaryIO, connection: _Connection) -> Iterator[dict[str, Any]]:
    for line in requests:
        try:
            request = json.loads(line)
        except ValueError as error:
            connection.send({"error": {"category": "invalid-request", "message": f"the line is not JSON: {error}"}})
            continue
        if not isinstance(request, dict):
            connection.send({"error": {"category": "invalid-request", "message": "the line is not a JSON object"}})
            continue
        connection.seq = request.get("seq")
        yield request


def _encode(message: dict[str, Any]) -> bytes:
    """Encode a message as a line. Lone surrogates become question marks; NaN is an error."""
    return (json.dumps(message, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace")


def _get_text(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception as fault:  # noqa: BLE001 - `__str__` of a foreign exception may fail
        return f"{type(error).__name__}, whose text cannot be read: {type(fault).__name__}"


def _take_stdin_and_stdout() -> tuple[BinaryIO, BinaryIO]:
    """Move stdin and stdout to descriptors that child processes do not inherit, and replace them."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return requests, answers


if __name__ == "__main__":
    # an engine that imports this module must get the same classes, not a second copy
    sys.modules.setdefault(__spec__.name if __spec__ else Path(__file__).stem, sys.modules["__main__"])
    sys.exit(main(sys.argv[1:]))
