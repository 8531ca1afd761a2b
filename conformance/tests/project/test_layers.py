"""Who may import whom, and how long a module may be."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import deltaspec
import deltaspec_generators

HOUSES = {
    "deltaspec": Path(str(deltaspec.__file__)).parent,
    "deltaspec_generators": Path(str(deltaspec_generators.__file__)).parent,
}
MODULES = [(house, path) for house, root in HOUSES.items() for path in sorted(root.rglob("*.py"))]
ARROWS: dict[str, set[str]] = {
    "deltaspec.errors": set(),
    "deltaspec.requirements": set(),
    "deltaspec.model": set(),
    "deltaspec.report": {"errors"},
    "deltaspec.wire": {"model", "errors"},
    "deltaspec.sql": {"model", "wire"},
    "deltaspec.views": {"model", "wire", "sql"},
    "deltaspec.rules": {"requirements", "views"},
    "deltaspec.validation": {"rules", "views", "sql", "wire", "model", "report", "errors"},
    "deltaspec.candidates": {"model", "wire", "errors"},
    "deltaspec.suites": {"candidates", "deltaspec_generators", "model"},
    "deltaspec.golden": {"candidates", "deltaspec_generators", "model"},
    "deltaspec_generators": {"model", "wire"},
}
"""Rooms that a room may import beside itself; whoever is not listed may import anything."""

FOREIGN: dict[str, set[str]] = {
    "deltaspec.requirements": set(),
    "deltaspec.errors": set(),
    "deltaspec.model": {"msgspec"},
    "deltaspec.rules": {"polars"},
    "deltaspec.report": {"msgspec", "rich"},
}
"""What a room may import from outside beside the standard library; whoever is not listed may import anything."""

SPARK_ROOMS = ("deltaspec.validation", "deltaspec.candidates", "deltaspec.spark")


def imports(path: Path) -> Iterator[str]:
    """Full names of all imports of a module, also of those within functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(name: str) -> str:
    """`deltaspec.model` of `deltaspec.model.log.paths`; generators are one room."""
    house, _, rest = name.partition(".")
    return f"{house}.{rest.partition('.')[0]}" if house == "deltaspec" and rest else house


def module_name(house: str, path: Path) -> str:
    parts = path.relative_to(HOUSES[house]).with_suffix("").parts
    return ".".join((house, *(part for part in parts if part != "__init__")))


each_module = pytest.mark.parametrize(("house", "path"), MODULES, ids=[module_name(*each) for each in MODULES])


@each_module
def test_imports_follow_the_arrows(house: str, path: Path) -> None:
    room = room_of(module_name(house, path))
    if room not in ARROWS:
        return
    allowed = {each if each in HOUSES else f"deltaspec.{each}" for each in ARROWS[room]} | {room}
    ours = {room_of(name) for name in imports(path) if name.partition(".")[0] in HOUSES}
    assert ours - allowed - {"deltaspec.__version__"} == set()


@each_module
def test_foreign_packages_stay_where_they_belong(house: str, path: Path) -> None:
    room = room_of(module_name(house, path))
    foreign = {name.partition(".")[0] for name in imports(path)} - set(sys.stdlib_module_names) - set(HOUSES)
    if room in FOREIGN:
        assert foreign <= FOREIGN[room]
    assert room in SPARK_ROOMS or not foreign & {"pyspark", "delta"}


def way_to_hypothesis(module: str) -> str | None:
    """By which of its own modules a module of the generators comes to import hypothesis; None if it does not."""
    root, ways = HOUSES["deltaspec_generators"], {module: module}
    for name in (queue := [module]):
        for imported in imports(root / f"{name}.py"):
            house, _, rest = imported.partition(".")
            if house == "hypothesis":
                return ways[name]
            other = rest.replace(".", "/")
            while other and not (root / f"{other}.py").is_file():
                other = other.rpartition("/")[0]
            if house == root.name and other and other not in ways:
                ways[other] = f"{ways[name]} < {other}"
                queue.append(other)
    return None


PERMISSIONS = sorted(f"permissions/{path.stem}" for path in HOUSES["deltaspec_generators"].glob("permissions/*.py"))


@pytest.mark.parametrize("module", PERMISSIONS)
def test_permissions_come_without_hypothesis(module: str) -> None:
    """The installed kit lists them, and hypothesis is for tests: what mutations share with them stands elsewhere."""
    assert way_to_hypothesis(module) is None


def test_only_one_room_reads_spark_at_a_time() -> None:
    """The embedded driver works without Spark: what imports pyspark has it in its name."""
    for house, path in MODULES:
        if any(name.partition(".")[0] in ("pyspark", "delta") for name in imports(path)):
            assert "spark" in module_name(house, path)


@each_module
def test_module_says_what_it_is(house: str, path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
