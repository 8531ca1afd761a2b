"""Which packages may import which, and that modules do not import each other in cycles."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

import deltaspec
import deltaspec_generators
import planted_tables

PACKAGES = {
    "deltaspec": Path(str(deltaspec.__file__)).parent,
    "deltaspec_generators": Path(str(deltaspec_generators.__file__)).parent,
    "planted_tables": Path(str(planted_tables.__file__)).parent,
}
MODULES = [(package, path) for package, root in PACKAGES.items() for path in sorted(root.rglob("*.py"))]
ALLOWED_IMPORTS: dict[str, set[str]] = {
    "deltaspec.exit_codes": set(),
    "deltaspec.scales": set(),
    "deltaspec.fix_cases": {"scales"},
    "deltaspec.errors": {"exit_codes"},
    "deltaspec.version": set(),
    "deltaspec.input_files": {"errors"},
    "deltaspec.output_files": {"errors"},
    "deltaspec.build": {"version"},
    "deltaspec.installation": set(),
    "deltaspec.json_schemas": set(),
    "deltaspec.requirements": set(),
    "deltaspec.protocol": set(),
    "deltaspec.model": {"protocol"},
    "deltaspec.report": {"errors", "exit_codes", "fix_cases", "installation", "json_schemas", "output_files", "scales"},
    "deltaspec.wire": {"protocol", "errors", "json_schemas", "output_files"},
    "deltaspec.sql": {"protocol", "wire"},
    "deltaspec.views": {"protocol", "wire", "sql", "scales"},
    "deltaspec.rules": {"fix_cases", "requirements", "views", "scales"},
    "deltaspec.validation": {
        *("rules", "fix_cases", "views", "sql", "wire", "protocol", "report", "scales"),
        *("errors", "exit_codes", "input_files", "json_schemas", "output_files", "installation", "version", "build"),
    },
    "deltaspec.catalog_server": {"errors", "output_files", "protocol"},
    "deltaspec.candidates": {
        "json_schemas",
        "version",
        "protocol",
        "model",
        "wire",
        "sql",
        "errors",
        "exit_codes",
        "installation",
        "output_files",
    },
    "deltaspec.suites": {
        *("candidates", "deltaspec_generators", "golden", "validation", "protocol", "model", "report", "requirements"),
        *("errors", "exit_codes", "output_files"),
    },
    "deltaspec.faults": {
        *("candidates", "deltaspec_generators", "suites", "validation", "protocol", "model", "report"),
        *("errors", "exit_codes", "output_files"),
    },
    "deltaspec.comparison": {
        *("candidates", "suites", "validation", "views", "sql", "wire", "protocol", "model", "report"),
        *("errors", "exit_codes", "json_schemas", "version"),
    },
    "deltaspec.differential": {"candidates", "deltaspec_generators", "suites", "protocol", "model"},
    "deltaspec.golden": {
        *("candidates", "deltaspec_generators", "protocol", "model", "report", "requirements", "sql", "validation"),
        *("errors", "input_files", "json_schemas", "output_files", "installation", "version"),
    },
    "deltaspec.extraction": {
        *("validation", "rules", "wire", "golden", "protocol", "report", "requirements"),
        *("errors", "output_files"),
    },
    "deltaspec.repair": {
        *("validation", "rules", "candidates", "wire", "protocol", "model", "report"),
        *("errors", "exit_codes", "input_files", "json_schemas", "output_files", "version"),
    },
    "deltaspec.pages": {"report", "errors", "installation", "scales"},
    "deltaspec.matrix": {
        *("candidates", "faults", "pages", "protocol", "report", "requirements", "suites"),
        *("errors", "version"),
    },
    "deltaspec.selftest": {
        "candidates",
        "deltaspec_generators",
        "errors",
        "faults",
        "suites",
        "protocol",
        "model",
        "wire",
    },
    "deltaspec_generators": {"protocol", "model", "wire", "scales"},
    "planted_tables": {"deltaspec_generators", "protocol", "model", "wire", "scales"},
}
"""Packages that a package may import besides itself.

A package that is not listed may import anything that is installed, so not `planted_tables`.
"""

ALLOWED_LIBRARIES: dict[str, set[str]] = {
    "deltaspec.requirements": {"msgspec"},
    "deltaspec.errors": set(),
    "deltaspec.exit_codes": set(),
    "deltaspec.scales": set(),
    "deltaspec.fix_cases": {"msgspec"},
    "deltaspec.version": set(),
    "deltaspec.protocol": {"msgspec"},
    "deltaspec.model": {"msgspec"},
    "deltaspec.rules": {"msgspec", "polars"},
    "deltaspec.report": {"msgspec", "pandas", "polars", "pyarrow", "rich"},
    "deltaspec.pages": {"jinja2", "markupsafe", "msgspec"},
    "deltaspec.matrix": {"msgspec"},
}
"""Libraries that a package may import besides the standard library. One that is not listed may import anything."""

ENTRY_POINTS = (
    *("deltaspec", "deltaspec.cli", "deltaspec.commands", "deltaspec.pytest", "deltaspec.pytest_plugin"),
    *("deltaspec.spark", "deltaspec.table_assertion"),
)
"""What users start. It imports in functions what it runs, so that `--help`, completion and pytest start fast."""
LATE_IMPORTS = {
    "pyspark": "is optional",
    "boto3": "is optional",
    "apprise": "is optional",
    "botocore": "is optional",
    "deltalake": "is optional",
    "prometheus_client": "is optional",
    "pymetastore": "is optional",
    "thrift": "is optional",
    "polars": "only for data frames",
    "moto": "is optional",
    "werkzeug": "is optional",
    "httpx": "is optional",
    "hypothesis": "is optional",
    "jinja2": "is optional",
    "markupsafe": "is optional",
    "obstore": "only for object stores",
    "sqlglot": "only for SQL expressions",
    "jsonschema": "only for lines with a defect",
    "rich": "only for text",
    "pyarrow": "parts of it, which few runs need",
    "tomllib": "the installed kit reads generated data",
    "difflib": "only for unknown names",
    "html": "only for notebooks",
    "platform": "only for defects, and on executors",
    "traceback": "only for defects, and on executors",
    "importlib": "on executors",
    "json": "on executors",
    "pickle": "on executors",
    "socket": "on executors",
    "deltaspec.version": "on executors",
    "deltaspec.build": "on executors",
    "deltaspec.candidates.registry": "only for `doctor`",
    "deltaspec.many_tables.spark_runs": "only on Spark",
    "deltaspec.model.rows": "needs pyarrow",
    "deltaspec.report.text": "only for errors",
    "deltaspec.sql": "only for tables with SQL expressions",
    "deltaspec.suites.coverage": "only for some requirements",
    "deltaspec.validation.data": "only above level log",
    "deltaspec.validation.resume": "only with a state",
    "deltaspec.validation.run": "only in one process",
    "deltaspec.validation.spark": "only on Spark",
    "deltaspec.wire.storage": "only for the kind of storage that a table has",
}
"""Modules and packages that others import in functions, with the reason. Everything else is imported at the top."""

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


def list_late_imports(path: Path) -> list[str]:
    """List the full names of the imports in functions of a module."""
    functions = (each for each in ast.walk(parse_module(path)) if isinstance(each, ast.FunctionDef))
    names: list[str] = []
    for node in (each for function in functions for each in ast.walk(function)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def is_below(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def get_package(name: str) -> str:
    """Return `deltaspec.model` for `deltaspec.protocol.files.paths`; the generators are one package."""
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
    imported = {get_package(name) for name in list_imports(path) if name.partition(".")[0] in PACKAGES}
    if package not in ALLOWED_IMPORTS:
        assert "planted_tables" not in imported
        return
    allowed = {each if each in PACKAGES else f"deltaspec.{each}" for each in ALLOWED_IMPORTS[package]} | {package}
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


def test_modules_that_import_pyspark_have_spark_in_their_name() -> None:
    for root_package, path in MODULES:
        if any(name.partition(".")[0] in ("pyspark", "delta") for name in list_imports(path)):
            assert "spark" in get_module_name(root_package, path)


LISTED_LATE_IMPORTS = [
    (get_module_name(root_package, path), name) for root_package, path in MODULES for name in list_late_imports(path)
]


def test_only_entry_points_and_listed_modules_are_imported_late() -> None:
    others = [
        f"{module} imports {name} in a function"
        for module, name in LISTED_LATE_IMPORTS
        if not any(module == each or (each != "deltaspec" and is_below(module, each)) for each in ENTRY_POINTS)
        and not any(is_below(name, each) for each in LATE_IMPORTS)
    ]
    assert others == []


def test_every_listed_late_import_exists() -> None:
    assert [each for each in LATE_IMPORTS if not any(is_below(name, each) for _, name in LISTED_LATE_IMPORTS)] == []


@each_module
def test_module_has_a_docstring(root_package: str, path: Path) -> None:
    assert ast.get_docstring(parse_module(path))
