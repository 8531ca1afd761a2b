"""Which packages may import which, and that modules do not import each other in cycles."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

import deltaspec
import deltaspec_generators

PACKAGES = {
    "deltaspec": Path(str(deltaspec.__file__)).parent,
    "deltaspec_generators": Path(str(deltaspec_generators.__file__)).parent,
}
MODULES = [(package, path) for package, root in PACKAGES.items() for path in sorted(root.rglob("*.py"))]
ALLOWED_IMPORTS: dict[str, set[str]] = {
    "deltaspec.exit_codes": set(),
    "deltaspec.errors": {"exit_codes"},
    "deltaspec.version": set(),
    "deltaspec.input_files": {"errors"},
    "deltaspec.output_files": {"errors"},
    "deltaspec.build": {"version"},
    "deltaspec.installation": set(),
    "deltaspec.requirements": set(),
    "deltaspec.model": set(),
    "deltaspec.report": {"errors", "exit_codes"},
    "deltaspec.wire": {"model", "errors", "output_files"},
    "deltaspec.sql": {"model", "wire"},
    "deltaspec.views": {"model", "wire", "sql"},
    "deltaspec.rules": {"requirements", "views"},
    "deltaspec.validation": {
        *("rules", "views", "sql", "wire", "model", "report"),
        *("errors", "exit_codes", "input_files", "output_files", "installation", "version", "build"),
    },
    "deltaspec.candidates": {"model", "wire", "sql", "errors", "exit_codes", "installation", "output_files"},
    "deltaspec.suites": {
        *("candidates", "deltaspec_generators", "golden", "validation", "model", "report"),
        *("errors", "exit_codes", "output_files"),
    },
    "deltaspec.faults": {
        *("candidates", "deltaspec_generators", "suites", "validation", "model", "report"),
        *("errors", "exit_codes", "output_files"),
    },
    "deltaspec.differential": {"candidates", "deltaspec_generators", "suites", "model"},
    "deltaspec.golden": {
        *("candidates", "deltaspec_generators", "model", "report", "requirements", "sql", "validation"),
        *("errors", "input_files", "output_files", "installation", "version"),
    },
    "deltaspec.extraction": {
        *("validation", "rules", "wire", "golden", "model", "report", "requirements"),
        *("errors", "output_files"),
    },
    "deltaspec.pages": {"report", "errors", "installation"},
    "deltaspec.matrix": {
        *("candidates", "faults", "pages", "report", "requirements", "suites"),
        *("errors", "version"),
    },
    "deltaspec.selftest": {"candidates", "deltaspec_generators", "errors", "faults", "suites", "model", "wire"},
    "deltaspec_generators": {"model", "wire"},
}
"""Packages that a package may import besides itself. A package that is not listed may import anything."""

ALLOWED_LIBRARIES: dict[str, set[str]] = {
    "deltaspec.requirements": {"msgspec"},
    "deltaspec.errors": set(),
    "deltaspec.exit_codes": set(),
    "deltaspec.version": set(),
    "deltaspec.model": {"msgspec"},
    "deltaspec.rules": {"msgspec", "polars"},
    "deltaspec.report": {"msgspec", "pyarrow", "rich"},
    "deltaspec.pages": {"jinja2", "markupsafe", "msgspec"},
    "deltaspec.matrix": {"msgspec"},
}
"""Libraries that a package may import besides the standard library. One that is not listed may import anything."""

SPARK_PACKAGES = ("deltaspec.validation", "deltaspec.candidates", "deltaspec.spark")


@cache
def parse_module(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def list_imports(path: Path) -> list[str]:
    """List the full names of all imports of a module, including imports in functions and under `TYPE_CHECKING`."""
    names: list[str] = []
    for node in ast.walk(parse_module(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def get_package(name: str) -> str:
    """Return `deltaspec.model` for `deltaspec.model.log.paths`; the generators are one package."""
    root_package, _, rest = name.partition(".")
    return f"{root_package}.{rest.partition('.')[0]}" if root_package == "deltaspec" and rest else root_package


def get_module_name(root_package: str, path: Path) -> str:
    parts = path.relative_to(PACKAGES[root_package]).with_suffix("").parts
    return ".".join((root_package, *(part for part in parts if part != "__init__")))


MODULE_NAMES = {get_module_name(*each) for each in MODULES}

each_module = pytest.mark.parametrize(
    ("root_package", "path"), MODULES, ids=[get_module_name(*each) for each in MODULES]
)


@each_module
def test_package_imports_only_allowed_packages(root_package: str, path: Path) -> None:
    package = get_package(get_module_name(root_package, path))
    if package not in ALLOWED_IMPORTS:
        return
    allowed = {each if each in PACKAGES else f"deltaspec.{each}" for each in ALLOWED_IMPORTS[package]} | {package}
    imported = {get_package(name) for name in list_imports(path) if name.partition(".")[0] in PACKAGES}
    assert imported - allowed - {"deltaspec.__version__"} == set()


@each_module
def test_package_imports_only_allowed_libraries(root_package: str, path: Path) -> None:
    package = get_package(get_module_name(root_package, path))
    libraries = {name.partition(".")[0] for name in list_imports(path)} - set(sys.stdlib_module_names) - set(PACKAGES)
    if package in ALLOWED_LIBRARIES:
        assert libraries <= ALLOWED_LIBRARIES[package]
    assert package in SPARK_PACKAGES or not libraries & {"pyspark", "delta"}


def find_imported_modules(root_package: str, path: Path) -> set[str]:
    """Modules of `PACKAGES` that a module imports anywhere: at the top, in functions, and under `TYPE_CHECKING`."""
    found = set()
    for name in list_imports(path):
        while name and name not in MODULE_NAMES:
            name = name.rpartition(".")[0]
        found.add(name)
    return found - {"", get_module_name(root_package, path)}


def test_modules_do_not_import_each_other_in_cycles() -> None:
    graph = {
        get_module_name(root_package, path): find_imported_modules(root_package, path) for root_package, path in MODULES
    }
    # a module without imports, or that no other module imports, cannot be part of a cycle
    left = set(graph)
    while True:
        imported = {other for module in left for other in graph[module]}
        free = {module for module in left if not graph[module] & left or module not in imported}
        if not free:
            break
        left -= free
    assert {module: sorted(graph[module] & left) for module in sorted(left)} == {}


def find_import_path_to_hypothesis(module: str) -> str | None:
    """Return the chain of modules through which a generator module imports hypothesis; None if it does not."""
    root, ways = PACKAGES["deltaspec_generators"], {module: module}
    for name in (queue := [module]):
        for imported in list_imports(root / f"{name}.py"):
            root_package, _, rest = imported.partition(".")
            if root_package == "hypothesis":
                return ways[name]
            other = rest.replace(".", "/")
            while other and not (root / f"{other}.py").is_file():
                other = other.rpartition("/")[0]
            if root_package == root.name and other and other not in ways:
                ways[other] = f"{ways[name]} < {other}"
                queue.append(other)
    return None


PERMISSIONS = sorted(f"permissions/{path.stem}" for path in PACKAGES["deltaspec_generators"].glob("permissions/*.py"))


@pytest.mark.parametrize("module", PERMISSIONS)
def test_permissions_do_not_import_hypothesis(module: str) -> None:
    """The installed kit lists permissions, and hypothesis is a dependency of tests only."""
    assert find_import_path_to_hypothesis(module) is None


def test_modules_that_import_pyspark_have_spark_in_their_name() -> None:
    for root_package, path in MODULES:
        if any(name.partition(".")[0] in ("pyspark", "delta") for name in list_imports(path)):
            assert "spark" in get_module_name(root_package, path)


@each_module
def test_module_has_a_docstring(root_package: str, path: Path) -> None:
    assert ast.get_docstring(parse_module(path))
