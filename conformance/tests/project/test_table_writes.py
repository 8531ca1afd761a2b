"""Only `deltaspec repair apply` writes into a table that a user names, and only through one module."""

import ast
from pathlib import Path

import pytest

import deltaspec

ROOT = Path(str(deltaspec.__file__)).parent
WRITER = "repair/table_writer.py"
MODULES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}
CHANGES = frozenset(
    f"{name}{suffix}" for name in ("put", "delete", "rename", "copy", "open_writer") for suffix in ("", "_async")
)
"""Functions of obstore that change objects."""
CHANGES_OF_OTHERS = frozenset(("put_object", "delete_object", "open_output_stream", "open_append_stream"))
"""The same of boto3 and of file systems of pyarrow."""
ALLOWED = {
    WRITER: "is the mechanism",
    "faults/object_store.py": "fills the S3 server of a trial",
}


def find_changes(code: str) -> list[int]:
    """Return the lines that call a function of a storage client which changes something."""
    if "obstore" not in code and not any(name in code for name in CHANGES_OF_OTHERS):
        return []
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if _is_change(call.func)]


def _is_change(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(value=ast.Name(id="obstore"), attr=name):
            return name in CHANGES
        case ast.Attribute(attr=name):
            return name in CHANGES_OF_OTHERS
    return False


def find_importers(module: str) -> list[str]:
    """Return the modules that import another one."""
    named = {name: code for name, code in MODULES.items() if module in code}
    return [
        name
        for name, code in named.items()
        if any(
            (isinstance(node, ast.ImportFrom) and node.module == module)
            or (isinstance(node, ast.Import) and module in [each.name for each in node.names])
            for node in ast.walk(ast.parse(code))
        )
    ]


def test_only_the_steps_of_an_application_import_the_writer() -> None:
    assert find_importers("deltaspec.repair.table_writer") == ["repair/apply.py", "repair/steps.py"]
    assert find_importers("deltaspec.repair.steps") == ["repair/apply.py"]
    assert sorted(find_importers("deltaspec.repair.apply")) == [
        "commands/repair_apply.py",
        "repair/apply_on_spark.py",
        "spark.py",
    ]


def test_only_the_writer_changes_objects_of_a_store() -> None:
    found = {name for name, code in MODULES.items() if find_changes(code)}
    assert found == set(ALLOWED)


@pytest.mark.parametrize("code", ["obstore.put(store, path, data)", "obstore.delete(a, b)", "fs.open_output_stream(p)"])
def test_change_is_found(code: str) -> None:
    assert find_changes(code) == [1]


@pytest.mark.parametrize("code", ["obstore.get(store, path)", "data.copy()", "path.rename(other)"])
def test_other_calls_are_not_found(code: str) -> None:
    assert find_changes(code) == []
