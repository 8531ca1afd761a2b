"""Harnesses for `deltaspec smoke`, each wrong in one way: `python -S smoke_harnesses.py NAME ROWS`.

ROWS is a directory with the Arrow files `all`, `name` and `none` of the tiny table.
"""

import os
import sys
import time
from typing import Any

from bad_candidates import ROWS, Good

TABLE_ID = "0f0a3c1e-5a7e-4a52-9d2c-3f1d5e0b7a11"


class Correct(Good):
    exit_code = 0
    rows = ROWS
    version = 0
    ops = ("snapshot", "scan")

    def run(self) -> None:
        self.answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        print("a stray print", flush=True)
        super().run()

    def write(self, data: bytes) -> None:
        self.answers.write(data)
        self.answers.flush()

    def answer(self, request: dict[str, Any]) -> None:
        operation = request["op"]
        if operation == "hello":
            self.send(ok={"name": "harness", "version": "1", "ops": self.ops})
        elif operation == "bye":
            self.send(ok={})
            sys.exit(self.exit_code)
        elif operation not in ("snapshot", "scan"):
            self.refuse_operation()
        elif not os.path.isdir(request["table"]):
            self.refuse_table()
        elif operation == "snapshot":
            protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
            self.send(ok={"version": self.version, "protocol": protocol, "metadata": {"id": TABLE_ID}})
        else:
            self.send_scan(request)

    def refuse_operation(self) -> None:
        self.send(error={"category": "unsupported", "code": "operation"})

    def refuse_table(self) -> None:
        self.send(error={"category": "not-found"})

    def send_scan(self, request: dict[str, Any]) -> None:
        columns = request.get("columns")
        name = "all" if columns is None else "name" if columns else "none"
        with open(f"{sys.argv[2]}/{name}.arrow", "rb") as source, open(request["out"], "wb") as target:
            target.write(source.read())
        self.send(ok={"path": request["out"], "num_rows": self.rows if name == "none" else ROWS})


class AcceptsUnknownOperations(Correct):
    def refuse_operation(self) -> None:
        self.send(ok={})


class RefusesUnknownOperationsAsInternal(Correct):
    def refuse_operation(self) -> None:
        self.send(error={"category": "internal"})


class RefusesUnknownFields(Correct):
    def answer(self, request: dict[str, Any]) -> None:
        if "x-deltaspec" in request:
            self.send(error={"category": "invalid-request", "message": "unknown field"})
        else:
            super().answer(request)


class RefusesMissingTableAsIo(Correct):
    def refuse_table(self) -> None:
        self.send(error={"category": "io", "message": "no such directory"})


class ReadsMissingTable(Correct):
    def refuse_table(self) -> None:
        self.send(ok={"version": 0})


class ReportsWrongVersion(Correct):
    version = 1


class ReportsWrongCount(Correct):
    rows = 4


class IgnoresColumns(Correct):
    def send_scan(self, request: dict[str, Any]) -> None:
        super().send_scan({**request, "columns": None} if request.get("columns") else request)


class DoesNotScanTwice(Correct):
    def send_scan(self, request: dict[str, Any]) -> None:
        self.scans += 1
        if self.scans == 3:
            self.send(error={"category": "internal", "message": "already closed"})
        else:
            super().send_scan(request)


class KeepsStdout(Correct):
    def run(self) -> None:
        self.answers = sys.stdout.buffer
        Good.run(self)


class ExitsWithOneAfterBye(Correct):
    exit_code = 1


class StaysAfterEndOfInput(Correct):
    def run(self) -> None:
        super().run()
        time.sleep(1000)


class DoesNotSupportSnapshot(Correct):
    ops = ("scan",)


class SupportsNothing(Correct):
    ops = ()


if __name__ == "__main__":
    globals()[sys.argv[1]]().run()
