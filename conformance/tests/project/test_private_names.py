"""Tests use the public names of the product only, so that its modules can change inside."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("conformance/deltaspec", "generators/deltaspec_generators", "generators/planted_tables")
TESTS = ("conformance/tests", "generators/tests")
FOREIGN = {"_exit", "_fields", "_jsc", "_jsparkSession", "_jvm"}
"""Names of `os`, named tuples and `pyspark` that the product uses for its own attributes, too."""
PATCHING = {"setattr", "delattr", "getattr", "hasattr", "object", "patch", "Comparison"}
"""Functions whose arguments may name an attribute: those of Python, `monkeypatch` and `mock`, and one of a test."""


def list_sources(folders: tuple[str, ...]) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def is_private(name: str) -> bool:
    """Return whether a name is private; names such as `__version__` and `_repr_html_` are not."""
    return name.startswith("_") and not name.endswith("_")


@cache
def collect_private_names() -> frozenset[str]:
    """Return every private function, class, variable and attribute that the product defines."""
    found = set()
    for path in list_sources(PRODUCT):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return frozenset(filter(is_private, found - FOREIGN))


def find_private_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and private name of each import, attribute access and patch of the product.

    An object of a test may have private attributes, which its own methods use through `self`.
    """
    names = collect_private_names()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("deltaspec", "planted_tables")):
            parts = [*(node.module or "").split("."), *(each.name for each in node.names)]
            yield from ((node.lineno, each) for each in parts if is_private(each))
        elif isinstance(node, ast.Attribute) and node.attr in names:
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and _get_name(node.func) in PATCHING:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            yield from ((node.lineno, each) for each in (text.rpartition(".")[2] for text in texts) if each in names)


def _get_name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def test_tests_use_no_private_name_of_the_product() -> None:
    """Test through public functions, or make the name public where it is a real seam."""
    found = {
        f"{path.relative_to(ROOT)}:{line}": name
        for path in list_sources(TESTS)
        for line, name in find_private_uses(ast.parse(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from deltaspec.report import _anything", ["_anything"]),
        ("from deltaspec._anything import public", ["_anything"]),
        ("from deltaspec import __version__", []),
        ("from helpers import _anything", []),
        ("findings._ledger.entries", ["_ledger"]),
        ("findings._ledger = None", ["_ledger"]),
        ("self._ledger", []),
        ("spark._jvm", []),
        ("monkeypatch.setattr(findings, '_ledger', None)", ["_ledger"]),
        ("patch('deltaspec.validation.findings._ledger')", ["_ledger"]),
        ("print('_ledger')", []),
    ],
)
def test_private_uses_are_found(code: str, names: list[str]) -> None:
    assert [name for _, name in find_private_uses(ast.parse(code))] == names
