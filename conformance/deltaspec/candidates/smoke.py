"""Checks of a harness, as opposed to its engine: does it keep the candidate protocol?

The checks read one tiny table, which any engine can read, and send requests that a correct harness must survive.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa

from deltaspec.candidates.messages import Capabilities, RowsAnswer, Scan, Snapshot, SnapshotAnswer
from deltaspec.candidates.outcomes import Died, Refused
from deltaspec.candidates.process import Launch
from deltaspec.candidates.rows import RowsFault, load_rows
from deltaspec.candidates.session import DEADLINE_SECONDS, Session
from deltaspec.candidates.smoke_table import ROWS, TABLE_ID, TYPES, write_tiny_table

Status = Literal["ok", "note", "problem", "unchecked"]

_UNKNOWN = {"x-deltaspec": {"any": ["thing"]}}
_NO_OPERATION = "x-deltaspec-smoke"


class SmokeResult(msgspec.Struct, frozen=True):
    """Result of one check. A `note` breaks no rule; `unchecked` means that the harness cannot run the check."""

    status: Status
    name: str
    message: str
    fix: str | None = None


class _Problem(Exception):
    """The harness fails a check."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


class _Unchecked(Exception):
    """A check does not apply to the harness."""


class _Note(Exception):
    """A check found something that breaks no rule."""


def check_harness(
    launch: Launch, *, timeout_scale: float = 1.0, memory_limit: int | None = None
) -> Iterator[SmokeResult]:
    """Start a candidate and yield the result of each check.

    Args:
        launch: how to start it.
        timeout_scale: factor of all deadlines.
        memory_limit: bytes of memory that its processes may use.
    """
    with tempfile.TemporaryDirectory(prefix="deltaspec-smoke-") as folder:
        directory = Path(folder)
        write_tiny_table(directory / "table")
        checker = _Checker(launch, directory, timeout_scale, memory_limit)
        try:
            hello = _run("hello", checker.check_hello)
            yield hello
            if hello.status == "problem":
                yield SmokeResult("unchecked", "other checks", "the candidate does not answer hello")
                return
            for name, check in checker.list_other_checks():
                yield _run(name, check)
        finally:
            checker.close()


class _Checker:
    """The checks share a session; a new one starts if it is over."""

    def __init__(self, launch: Launch, directory: Path, timeout_scale: float, memory_limit: int | None) -> None:
        self._launch = launch
        self._directory = directory
        self._scale = timeout_scale
        self._memory_limit = memory_limit
        self._session: Session | None = None
        self._operations: tuple[str, ...] = ()
        self._table = str(directory / "table")

    def list_other_checks(self) -> list[tuple[str, Callable[[], str]]]:
        return [
            ("unknown operation", self.check_unknown_operation),
            ("unknown fields", self.check_unknown_fields),
            ("missing table", self.check_missing_table),
            ("snapshot", self.check_snapshot),
            ("rows", self.check_rows),
            ("two requests", self.check_two_requests),
            ("columns", self.check_columns),
            ("no columns", self.check_no_columns),
            ("stray prints", self.check_stray_prints),
            ("bye", self.check_bye),
            ("end of input", self.check_end_of_input),
        ]

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def check_hello(self) -> str:
        found = self._start()
        count = len(found.reader_features)
        return f"{found.name} {found.version}; {', '.join(found.ops)}; declares {count} reader features"

    def check_unknown_operation(self) -> str:
        session = self._open()
        try:
            session.ask({"op": _NO_OPERATION})
        except Refused as refused:
            found = refused.refusal
            if (found.category, found.code) != ("unsupported", "operation"):
                text = f"refused with category {found.category!r} and code {found.code!r}"
                raise _Problem(f"{text}; expected 'unsupported' and 'operation'") from None
            return "refused as unsupported"
        raise _Problem("was answered with ok", "Answer an unknown `op` with category unsupported, code operation.")

    def check_unknown_fields(self) -> str:
        operation = self._choose_operation()
        self._open().ask({**self._build_request(operation, self._table), **_UNKNOWN})
        return "ignored"

    def check_missing_table(self) -> str:
        operation = self._choose_operation()
        try:
            self._open().ask(self._build_request(operation, str(self._directory / "nothing")))
        except Refused as refused:
            if refused.refusal.category != "not-found":
                text = f"{operation} was refused as {refused.refusal.category!r}; expected 'not-found'"
                raise _Problem(f"{text}: {refused.refusal.message[:300]}") from None
            return "refused as not-found"
        raise _Problem(f"{operation} of a directory that does not exist was answered with ok")

    def check_snapshot(self) -> str:
        self._require_operation("snapshot")
        found = self._open().perform(Snapshot(table=self._table), SnapshotAnswer)
        expected: list[tuple[str, Any, Any]] = [("version", found.version, 0)]
        if found.protocol is not None:
            versions = [found.protocol.get(each) for each in ("minReaderVersion", "minWriterVersion")]
            expected.append(("minReaderVersion and minWriterVersion", versions, [1, 2]))
        if found.metadata is not None:
            expected.append(("metadata.id", found.metadata.get("id"), TABLE_ID))
        for name, actual, wanted in expected:
            if actual != wanted:
                raise _Problem(f"expected {name} {wanted}, found {actual}")
        return "version 0 with its protocol and metadata" if len(expected) == 3 else "version 0"

    def check_rows(self) -> str:
        self._scan(None, ["id", "name"])
        return "3 rows of 2 columns"

    def check_two_requests(self) -> str:
        self._scan(None, ["id", "name"])
        self._scan(None, ["id", "name"])
        return "a second scan has the same rows"

    def check_columns(self) -> str:
        self._scan([["name"]], ["name"])
        return "a projection has one column"

    def check_no_columns(self) -> str:
        self._scan([], [])
        return "3 rows without columns"

    def check_stray_prints(self) -> str:
        """Look for a descriptor other than 1 through which the answers are written."""
        session = self._open()
        if sys.platform != "linux":
            raise _Note("not checked: only Linux shows the open files of a process")
        if session.process.find_output_descriptors() == {1}:
            raise _Note("stdout still leads to the host: a print of native code would break the protocol")
        return "stdout was moved aside"

    def check_bye(self) -> str:
        session = self._open()
        session.ask({"op": "bye"})
        end = session.process.end("wait", seconds=DEADLINE_SECONDS["bye"] * self._scale)
        session.is_over = True
        if end.code != 0:
            raise _Problem(f"{end} after bye; expected exit code 0{_show_stderr(end.stderr)}")
        return "answered, then exit code 0"

    def check_end_of_input(self) -> str:
        session = self._open()
        session.process.close_stdin()
        end = session.process.end("wait", seconds=DEADLINE_SECONDS["bye"] * self._scale)
        session.is_over = True
        if end.signal is not None:
            raise _Problem(f"{end} after the end of stdin; expected an exit", "Exit when stdin ends.")
        if end.code != 0:
            raise _Note(f"{end} after the end of stdin")
        return "exits"

    def _open(self) -> Session:
        """Return the session, or a new one if the last one is over."""
        assert self._session is not None
        if self._session.is_over:
            self._start()
        return self._session

    def _start(self) -> Capabilities:
        self._session = Session(
            self._launch, self._directory, timeout_scale=self._scale, memory_limit=self._memory_limit
        )
        found = self._session.say_hello()
        self._operations = found.ops
        return found

    def _require_operation(self, operation: str) -> None:
        if operation not in self._operations:
            raise _Note(f"not checked: {operation} is not among the declared ops")

    def _choose_operation(self) -> str:
        for operation in ("snapshot", "scan"):
            if operation in self._operations:
                return operation
        raise _Unchecked("neither snapshot nor scan is among the declared ops")

    def _build_request(self, operation: str, table: str) -> dict[str, Any]:
        out = str(self._directory / "any.arrow")
        request = Snapshot(table=table) if operation == "snapshot" else Scan(table=table, out=out)
        fields: dict[str, Any] = msgspec.to_builtins(request)
        return fields

    def _scan(self, columns: list[list[str]] | None, names: list[str]) -> None:
        """Scan the tiny table and compare the rows, in any order."""
        self._require_operation("scan")
        out = str(self._directory / "rows.arrow")
        Path(out).unlink(missing_ok=True)
        paths = None if columns is None else tuple(map(tuple, columns))
        answer = self._open().perform(Scan(table=self._table, out=out, columns=paths), RowsAnswer)
        try:
            rows = load_rows(answer, out)
        except RowsFault as fault:
            raise _Problem(str(fault)) from None
        if rows.num_rows != 3:
            raise _Problem(f"expected num_rows 3, found {rows.num_rows:,}")
        if rows.table.column_names != names:
            found = ", ".join(rows.table.column_names[:20])[:300]
            raise _Problem(f"expected the columns {', '.join(names) or 'none'}; found {found}")
        expected = [dict(zip(names, row, strict=True)) for row in zip(*(ROWS[name] for name in names), strict=True)]
        try:
            actual = rows.table.cast(pa.schema([(name, TYPES[name]) for name in names])).to_pylist()
        except (pa.ArrowException, ValueError) as fault:
            types = ", ".join(map(str, rows.table.schema.types))[:300]
            raise _Problem(f"expected a long column id and a string column name, found {types}: {fault}") from None
        if names and _count_rows(actual) != _count_rows(expected):
            raise _Problem(f"expected the rows {expected}, found {str(actual)[:300]}")


def _run(name: str, check: Callable[[], str]) -> SmokeResult:
    try:
        return SmokeResult("ok", name, check())
    except _Problem as problem:
        return SmokeResult("problem", name, problem.message, problem.fix)
    except _Note as note:
        return SmokeResult("note", name, str(note))
    except _Unchecked as reason:
        return SmokeResult("unchecked", name, str(reason))
    except Refused as refused:
        return SmokeResult("problem", name, str(refused))
    except Died as death:
        line = f"; line: {death.line}" if death.line else ""
        return SmokeResult("problem", name, f"{death}{line}{_show_stderr(death.stderr)}")


def _count_rows(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


def _show_stderr(text: str) -> str:
    lines = text.split("\n")
    last = [line for line in lines if line.strip()][-3:]
    return f"; stderr: {' / '.join(last)[-600:]}" if last else ""
