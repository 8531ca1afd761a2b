"""A property name is written once, in `property_names`."""

import ast
from pathlib import Path

import pytest

import deltaspec
import deltaspec_generators
from deltaspec.protocol import property_names

KIT, GENERATORS = (Path(str(package.__file__)).parent for package in (deltaspec, deltaspec_generators))
NAMES = {value for name, value in vars(property_names).items() if name.isupper()}
MODULES = [
    path
    for root in (KIT, GENERATORS)
    for path in sorted(root.rglob("*.py"))
    if path != Path(str(property_names.__file__)) and KIT / "rules" not in path.parents  # rules do not import the model
]


def test_names_differ() -> None:
    assert len(NAMES) == sum(name.isupper() for name in vars(property_names))


@pytest.mark.parametrize("path", MODULES, ids=[f"{path.parent.name}/{path.stem}" for path in MODULES])
def test_module_writes_no_property_name(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    joined = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in joined)
    assert [f"line {node.lineno}: {node.value}" for node in constants if node.value in NAMES] == []
