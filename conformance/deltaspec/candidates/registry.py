"""Candidates by name: adapters that ship with the kit, commands, and Python classes.

    deltalake                     an adapter of `candidates.adapters`, in a process of its own
    cmd:java -jar harness.jar     any program that speaks the candidate protocol
    py:acme.harness:Engine        a class with the methods of `serve.Engine`, in a process of its own

A command runs in a temporary directory, because engines leave files behind. Its program, and arguments that name
existing files, are first made absolute. A class is imported with the `sys.path` of this process.

Environment variables:

    DELTASPEC_HARNESSES     directory with the programs `kernel_rust`, `kernel_java` and `delta_standalone`, each an
                            executable file or a `.jar`, built by `nox -s harness_rust` and `nox -s harness_java`.
                            Default: `conformance/harnesses/build` of the checkout.
    DELTASPEC_PYTHON_NAME   Python of another environment, with deltaspec installed, for the adapter NAME, such as
                            DELTASPEC_PYTHON_DAFT.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec
from packaging.version import Version

from deltaspec.candidates.host import MEMORY_LIMIT, Host
from deltaspec.candidates.process import HELLO_SECONDS, Launch
from deltaspec.errors import InvalidUsage, suggest_name
from deltaspec.installation import build_install_command, build_nox_command, find_checkout

JVM_HELLO_SECONDS = 180.0
_HARNESSES_VARIABLE = "DELTASPEC_HARNESSES"
_BUILD_DIRECTORY = Path("conformance/harnesses/build")
"""Where a checkout has the programs that its sessions of nox build."""


class Adapter(msgspec.Struct, frozen=True):
    """An adapter that ships with the kit: a Python module or a program."""

    name: str
    engine: str
    """Name of the engine for people."""
    source: str
    """What installs its requirements: an extra of deltaspec, or for a program a session of nox; empty for nothing."""
    modules: tuple[str, ...] = ()
    """Modules that it imports; empty for a program."""
    is_program: bool = False
    needs_java: bool = False
    oldest: tuple[str, str] | None = None
    """Distribution of the engine, and the oldest release with what the adapter calls."""

    @property
    def install(self) -> str:
        """Command that installs its requirements."""
        return build_nox_command(self.source) if self.is_program else build_install_command(self.source)


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter("reference", "the reader of deltaspec", "", ("deltaspec",)),
        Adapter("deltalake", "delta-rs", "deltalake", ("deltalake",), oldest=("deltalake", "1.0")),
        Adapter("delta_spark", "Delta Spark", "spark", ("pyspark", "delta"), needs_java=True),
        Adapter("kernel_java", "Kernel Java", "harness_java", is_program=True, needs_java=True),
        Adapter("kernel_rust", "delta-kernel-rs", "harness_rust", is_program=True),
        Adapter("delta_standalone", "Delta Standalone", "harness_java", is_program=True, needs_java=True),
        Adapter("sail", "Sail", "sail", ("pysail", "grpc")),
        Adapter("duckdb", "DuckDB", "duckdb", ("duckdb", "duckdb_extension_delta")),
        Adapter("chdb", "chdb (ClickHouse)", "chdb", ("chdb",)),
        Adapter("polars", "Polars", "deltalake", ("polars", "deltalake")),
        Adapter("daft", "Daft", "daft", ("daft", "deltalake")),
    )
}


def open_candidate(spec: str, *, timeout_scale: float = 1.0, memory_limit: int | None = MEMORY_LIMIT) -> Host:
    """Start a candidate.

    Args:
        spec: name of an adapter, `cmd:COMMAND`, or `py:MODULE:CLASS`.
        timeout_scale: factor of all deadlines.
        memory_limit: bytes of memory that the candidate's processes may use; None for no limit.

    Raises:
        InvalidUsage: the candidate is unknown, or something that it needs is not installed.
        Died: it did not answer `hello`.
    """
    return Host(find_launch(spec), timeout_scale=timeout_scale, memory_limit=memory_limit)


def find_launch(spec: str) -> Launch:
    """Return how to start a candidate.

    Raises:
        InvalidUsage: the candidate is unknown, or something that it needs is not installed.
    """
    kind, colon, rest = spec.partition(":")
    if colon and kind == "cmd":
        return _find_command_launch(rest)
    if colon and kind == "py":
        return _find_class_launch(rest)
    adapter = find_adapter(spec)
    reason = find_missing_requirement(adapter)
    if reason is not None:
        raise InvalidUsage(f"candidate {adapter.name} cannot run: {reason}; to get it: {adapter.install}")
    return _find_adapter_launch(adapter)


def find_adapter(name: str) -> Adapter:
    """Return the adapter of a name; hyphens and underscores are equivalent.

    Raises:
        InvalidUsage: there is none.
    """
    adapter = ADAPTERS.get(name.replace("-", "_").lower())
    if adapter is None:
        hint = suggest_name(name, ADAPTERS)
        raise InvalidUsage(f"unknown candidate {name[:200]!r} ({hint}, or use cmd:COMMAND or py:MODULE:CLASS)")
    return adapter


def find_missing_requirement(adapter: Adapter) -> str | None:
    """Return why an adapter cannot run here, or None. The engine is neither imported nor started."""
    if adapter.needs_java and shutil.which(_get_java()) is None:
        return "Java not found (set JAVA_HOME or PATH)"
    if adapter.is_program:
        path = find_program(adapter.name)
        return None if path is not None else f"program not found: {_get_harnesses() / adapter.name}"
    python = os.environ.get(_get_python_variable(adapter))
    if python is not None:
        if shutil.which(python) is None:
            return f"{_get_python_variable(adapter)}={python} is not a program"
        return _find_old_release(adapter, python)
    missing = [module for module in adapter.modules if find_spec(module) is None]
    return f"{', '.join(missing)} is not installed" if missing else _find_old_release(adapter)


def _find_old_release(adapter: Adapter, python: str | None = None) -> str | None:
    """Return why the release that is installed here, or for another Python, is too old; None if it is not."""
    if adapter.oldest is None:
        return None
    package, oldest = adapter.oldest
    found = version(package) if python is None else _ask_version(python, package)
    if not found:
        return f"{package} is not installed for {python}"
    return f"{package} {found} is installed; it needs {oldest} or later" if Version(found) < Version(oldest) else None


def _ask_version(python: str, package: str) -> str:
    """Return the version of a distribution that another Python has; an empty text if it has none."""
    command = (python, "-c", "import sys, importlib.metadata as found; print(found.version(sys.argv[1]))", package)
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=HELLO_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def find_program(name: str) -> Path | None:
    """Return the program of a harness: an executable file or a `.jar`, or None if it was not built."""
    for path in (_get_harnesses() / name, _get_harnesses() / f"{name}.jar"):
        if path.is_file() and (path.suffix == ".jar" or os.access(path, os.X_OK)):
            return path
    return None


def list_adapters() -> Iterator[tuple[Adapter, str | None]]:
    """Yield every adapter and why it cannot run here, or None."""
    for adapter in ADAPTERS.values():
        yield adapter, find_missing_requirement(adapter)


def _find_adapter_launch(adapter: Adapter) -> Launch:
    seconds = JVM_HELLO_SECONDS if adapter.needs_java else HELLO_SECONDS
    if adapter.is_program:
        path = find_program(adapter.name)
        command = (_get_java(), "-jar", str(path)) if path and path.suffix == ".jar" else (str(path),)
        return Launch(command, hello_seconds=seconds)
    name = f"deltaspec.candidates.adapters.{adapter.name}:Engine"
    python = os.environ.get(_get_python_variable(adapter))
    if python is not None:
        return Launch((shutil.which(python) or python, "-m", "deltaspec.candidates.serve", name), hello_seconds=seconds)
    return Launch(_serve(name), _get_import_path(), seconds)


def _find_class_launch(name: str) -> Launch:
    module, _, attribute = name.partition(":")
    if not attribute or not all(part.isidentifier() for part in module.split(".")) or not attribute.isidentifier():
        raise InvalidUsage(f"py:{name}: expected py:MODULE:CLASS")
    package = module.partition(".")[0]
    if find_spec(package) is None and PathFinder.find_spec(package, [os.getcwd()]) is None:
        raise InvalidUsage(f"py:{name}: module not found: {module} (set PYTHONPATH, or run in its directory)")
    return Launch(_serve(name), _get_import_path())


def _find_command_launch(text: str) -> Launch:
    try:
        words = shlex.split(text)
    except ValueError as fault:
        raise InvalidUsage(f"cmd:{text}: the command cannot be split into words: {fault}") from fault
    if not words:
        raise InvalidUsage("cmd: expected a command")
    program = shutil.which(words[0])
    if program is None:
        raise InvalidUsage(f"cmd:{text}: program not found: {words[0]}")
    command = (os.path.abspath(program), *map(_make_absolute, words[1:]))
    is_java = Path(program).name == "java"
    return Launch(command, hello_seconds=JVM_HELLO_SECONDS if is_java else HELLO_SECONDS)


def _make_absolute(word: str) -> str:
    return os.path.abspath(word) if os.path.isfile(word) else word


def _serve(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "deltaspec.candidates.serve", name)


def _get_import_path() -> dict[str, str]:
    """Return a PYTHONPATH with which a process imports what this process imports."""
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(os.path.abspath(each) for each in [*sys.path, ""]))}


def _get_harnesses() -> Path:
    return Path(os.environ.get(_HARNESSES_VARIABLE) or (find_checkout() or Path()) / _BUILD_DIRECTORY).absolute()


def _get_python_variable(adapter: Adapter) -> str:
    return f"DELTASPEC_PYTHON_{adapter.name.upper()}"


def _get_java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"
