"""Files that a user keeps are written with `deltaspec.output_files`, and never in place."""

import ast
from pathlib import Path

import pytest

import deltaspec

ROOT = Path(str(deltaspec.__file__)).parent
ALLOWED = {
    "output_files.py": "is the mechanism",
    "exit_handling.py": "writes a new file with the details of a defect",
    "commands/report_output.py": "appends to the step summary of GitHub",
    "commands/golden.py": "writes into the temporary directory of an export",
    "golden/export/archive.py": "writes into the temporary directory of an export",
    "golden/export/layouts.py": "writes into the temporary directory of an export",
    "golden/scale/case.py": "writes to the directory of `fill_directory`",
    "golden/scale/writer.py": "writes to the directory of `fill_directory`",
    "golden/writers/output.py": "writes to the directory of `fill_directory`",
    "golden/verification.py": "changes a copy in a temporary directory",
    "extraction/case.py": "writes into the temporary directory of a case",
    "suites/history_requests.py": "writes the source of a table into the temporary directory of a history",
    "lake/site.py": "writes to the directory of `fill_directory`",
    "repair/plan_writer.py": "writes into the temporary directory of a plan",
    "selftest/readers/side_effects.py": "has the faults that a table is changed in place",
    "suites/saved_cases.py": "writes into the temporary directory of a case",
    "suites/saved_histories.py": "writes into the temporary directory of a case",
    "suites/catalog_writes.py": "writes next to a table that the kit makes",
    "suites/events.py": "appends events",
    "suites/kit_steps.py": "writes to a table that the kit makes",
    "suites/write_history.py": "writes next to a table that the kit makes",
    "golden/drawn_output.py": "writes to the directory of `fill_directory`",
    "selftest/writers/catalog_managed.py": "is a faulty writer",
    "selftest/writers/commits.py": "is a faulty writer",
    "selftest/writers/concurrency.py": "is a faulty writer",
    "faults/runner.py": "writes into the temporary directory of a trial",
    "faults/small_disk.py": "fills a small disk",
    "candidates/serve.py": "opens stdout again",
    "candidates/reference/written_files.py": "is a writer of tables",
    "candidates/smoke_table.py": "writes a table that the kit makes",
    "validation/findings_table.py": "writes to the file of `replace_file`",
    "validation/resume/saved_buckets.py": "is complete only if its record, which is written later, exists",
    "validation/spark/session.py": "writes the log of a Spark session",
}
"""Modules that write files in another way, with the reason."""


def find_writes(code: str) -> list[int]:
    """Return the lines with calls that write a file in place."""
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if _writes_in_place(call)]


def _writes_in_place(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr="write_text" | "write_bytes"):
            return True
        case ast.Name(id="open") | ast.Attribute(attr="open" | "fdopen" | "NamedTemporaryFile"):
            values = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant)]
            return any(isinstance(each, str) and _is_mode(each) for each in values)
        case ast.Attribute(attr="ParquetWriter" | "write_table"):
            return _writes_to_path(call)
    return False


def _is_mode(text: str) -> bool:
    return set(text) <= set("rwxabt+") and bool(set(text) & set("wxa+"))


def _writes_to_path(call: ast.Call) -> bool:
    targets = [ast.unparse(each) for each in call.args[:2]]
    return any("path" in each.lower() or "/" in each or each == "file" for each in targets)


MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}


def test_files_are_written_atomically() -> None:
    found = {
        f"{name}:{line}"
        for name, path in MODULES.items()
        if name not in ALLOWED
        for line in find_writes(path.read_text("utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize("name", ALLOWED)
def test_exception_is_needed(name: str) -> None:
    assert find_writes(MODULES[name].read_text("utf-8"))


@pytest.mark.parametrize(
    "code",
    [
        'open(path, "w")',
        'open(path, "a" if resume else "w")',
        'open(path, mode="xb")',
        'path.open("r+b")',
        'path.write_text("x")',
        'Path("x").write_bytes(data)',
        "pq.ParquetWriter(self._path, schema)",
        "pq.write_table(table, here / ROWS)",
    ],
)
def test_write_in_place_is_found(code: str) -> None:
    assert find_writes(code) == [1]


@pytest.mark.parametrize(
    "code", ['open(path, "rb")', "open(path)", "write_text(report, stream)", "sink.write_table(rows)"]
)
def test_other_calls_are_not_found(code: str) -> None:
    assert find_writes(code) == []
