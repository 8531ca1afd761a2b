"""What other tools say of a table. Each runs in a process of its own, because some die of a broken table.

python -m validators.tools TOOL      reads paths of tables from stdin, and prints an answer for each as JSON
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

Ask = Callable[[str], list[str]]
_MESSAGE_CHARACTERS = 200
STATE, ROWS = "state", "rows"
"""Phases in which a reader can fail."""


def _scan_with_delta_audit() -> Ask:
    from delta_lens import scan  # type: ignore[import-not-found]

    return lambda table: [f"{each.name}: {each.message}" for each in scan(table).issues]


def _repair_with_delta_rs() -> Ask:
    from deltalake import DeltaTable

    return lambda table: [f"file: {path}" for path in DeltaTable(table).repair(dry_run=True)["files_removed"]]


def _vacuum_with_delta_rs() -> Ask:
    from deltalake import DeltaTable

    options = {"retention_hours": 0, "dry_run": True, "enforce_retention_duration": False}
    return lambda table: sorted(f"file: {path}" for path in DeltaTable(table).vacuum(**options))


def _read_with_delta_rs() -> Ask:
    from deltalake import DeltaTable, QueryBuilder

    def load(table: str) -> None:
        DeltaTable(table).get_add_actions()

    def scan(table: str) -> None:
        QueryBuilder().register("t", DeltaTable(table)).execute("SELECT * FROM t").read_all()

    return lambda table: _read(table, load, scan)


def _read_with_delta_spark() -> Ask:
    from deltaspec.candidates.adapters.delta_spark import Engine
    from deltaspec.candidates.in_process import InProcess
    from deltaspec.candidates.messages import Scan, Snapshot

    engine = InProcess(Engine())
    return lambda table: _read(
        table, lambda path: engine.snapshot(Snapshot(path, want=("files",))), lambda path: engine.scan(Scan(path, ""))
    )


def _read(table: str, load: Callable[[str], object], scan: Callable[[str], object]) -> list[str]:
    """Return the error while the state is loaded, or else while rows are read."""
    for phase, ask in ((STATE, load), (ROWS, scan)):
        try:
            ask(table)
        except BaseException as error:  # noqa: BLE001  (panics of Rust are no `Exception`)
            return [f"{phase}: {_describe(error)}"]
    return []


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


TOOLS: dict[str, Callable[[], Ask]] = {
    "delta-audit": _scan_with_delta_audit,
    "repair": _repair_with_delta_rs,
    "vacuum": _vacuum_with_delta_rs,
    "delta-rs": _read_with_delta_rs,
    "delta-spark": _read_with_delta_spark,
}
"""Tools by name; each returns a function that returns what it reports of a table: kind, colon, and text."""
TITLES = {
    "delta-audit": "`delta-audit` `scan()`",
    "repair": "delta-rs `repair(dry_run=True)`",
    "vacuum": "delta-rs `vacuum(dry_run=True)`",
    "delta-rs": "delta-rs reads",
    "delta-spark": "Delta Spark reads",
}


_TESTS = Path(__file__).parents[1]
"""Where the module of this process can be imported from."""


def ask_all(tool: str, tables: Sequence[Path], python: str = sys.executable) -> list[list[str]]:
    """Return what a tool reports of each table; a process that dies of one table is started again for the next."""
    answers: list[list[str]] = []
    while len(answers) < len(tables):
        left = tables[len(answers) :]
        text = "".join(f"{path}\n" for path in left)
        command = [python, "-m", "validators.tools", tool]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=_TESTS)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        if not found and not done.stdout.startswith("ready"):
            raise RuntimeError(f"{tool} does not start: {done.stderr[-2000:]}")
        answers += found
        if len(answers) < len(tables):
            answers.append([f"the process died with exit code {done.returncode}"])
    return answers


def main(tool: str, tables: Iterable[str]) -> None:
    """Answer for each table."""
    ask = TOOLS[tool]()
    print("ready", flush=True)
    for table in tables:
        try:
            answer = ask(table.rstrip("\n"))
        except BaseException as error:  # noqa: BLE001  (panics of Rust are no `Exception`)
            answer = [f"failed: {_describe(error)}"]
        print(json.dumps([each[:_MESSAGE_CHARACTERS] for each in answer]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin)
