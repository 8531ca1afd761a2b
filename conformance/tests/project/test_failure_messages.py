"""A failing test shows the case that failed: no assert hides the item of a loop or of a generator."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [path for tree in ("conformance/tests", "generators/tests") for path in sorted((ROOT / tree).rglob("*.py"))]


def find_hidden_cases(node: ast.AST, loops: tuple[ast.For, ...] = ()) -> Iterator[tuple[int, str]]:
    """Yield line and reason of each assert without a message whose failure does not show the failing item."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield from find_hidden_cases(child)
        elif isinstance(child, ast.For):
            yield from find_hidden_cases(child, (*loops, child))
        elif not isinstance(child, ast.Assert):
            yield from find_hidden_cases(child, loops)
        elif child.msg is None:
            shown = _list_names(child.test)
            hidden = [ast.unparse(loop.target) for loop in loops if not _list_names(loop.target) & shown]
            yield from ((child.lineno, f"does not show the loop variable {name}") for name in hidden)
            if _hides_items(child.test):
                yield child.lineno, "all() and any() show only their result; compare a list of the failing items to []"


def _list_names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _hides_items(node: ast.AST) -> bool:
    """Return whether all() or any() consumes a generator, outside of a list of failing items."""
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        return False
    is_quantifier = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("all", "any")
    if is_quantifier and any(isinstance(each, (ast.GeneratorExp, ast.ListComp)) for each in ast.iter_child_nodes(node)):
        return True
    return any(map(_hides_items, ast.iter_child_nodes(node)))


def test_failing_assert_shows_its_case() -> None:
    """Add a message such as `f"{version=}"`, or collect the results in a dict and compare it once."""
    found = {
        f"{path.relative_to(ROOT)}:{line}": reason
        for path in SOURCES
        for line, reason in find_hidden_cases(ast.parse(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("code", "reasons"),
    [
        ("for a in b: assert f(c) == d", ["does not show the loop variable a"]),
        ("for a in b: assert f(a) == d", []),
        ("for a in b: assert f(c) == d, a", []),
        ("for a, b in c: assert f(b) == d", []),
        ("for a in b:\n for c in d: assert c", ["does not show the loop variable a"]),
        ("for a in b:\n with c: assert d", ["does not show the loop variable a"]),
        ("for a in b:\n def f(): assert c", []),
        ("assert all(a for a in b)", ["all() and any() show only their result"]),
        ("assert c or not any([a for a in b])", ["all() and any() show only their result"]),
        ("assert any(a for a in b), b", []),
        ("assert any(b)", []),
        ("assert [a for a in b if not any(c for c in a)] == []", []),
    ],
)
def test_hidden_cases_are_found(code: str, reasons: list[str]) -> None:
    assert [reason.partition(";")[0] for _, reason in find_hidden_cases(ast.parse(code))] == reasons
