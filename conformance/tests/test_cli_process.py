"""The command line in a separate process: start, pipes, encodings, terminals, signals."""

import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table
from planted_tables.bases.checkpoints import build_partitioned_checkpoint_table

HEAVY = ("polars", "pyarrow", "obstore", "rich", "jsonschema", "pyroaring")
UNNEEDED = ("rich", "jsonschema", "pyarrow.compute", "pyarrow.parquet", "deltaspec.sql.parser")
DELTASPEC = [sys.executable, "-m", "deltaspec"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("größe", "long")])]
    root = tmp_path_factory.mktemp("process") / "sales"
    write_table(files, root)
    return root


def environment(**changes: str) -> dict[str, str]:
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    return inherited | changes


def run(*args: object, **changes: str) -> "subprocess.CompletedProcess[bytes]":
    command = [*DELTASPEC, *map(str, args)]
    return subprocess.run(command, capture_output=True, env=environment(**changes), timeout=120, check=False)


@pytest.mark.parametrize("code", ["import deltaspec", "import deltaspec.cli", "HELP"])
def test_heavy_modules_are_imported_lazily(code: str) -> None:
    if code == "HELP":
        code = "import deltaspec.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\n"
    program = f"{code}\nimport sys\nprint([each for each in {HEAVY!r} if each in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert result.stdout.splitlines()[-1] == b"[]"


def test_module_can_be_run(table: Path) -> None:
    result = run("validate", table)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode().endswith("CONFORMS  nothing found · exit 0\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("name", ["", "nowhere"])
def test_closed_stream_does_not_change_the_exit_code(closed: str, name: str, table: Path) -> None:
    command = shlex.join([sys.executable, "-m", "deltaspec", "validate", str(table / name)])
    result = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, timeout=120, check=False)
    assert result.returncode == (2 if name else 0)


def test_functions_registered_for_the_exit_are_called(table: Path) -> None:
    code = "import atexit; atexit.register(print, 'end'); from deltaspec.__main__ import run; run()"
    command = [sys.executable, "-c", code, "validate", str(table), "--quiet"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    result = subprocess.run(command, capture_output=True, timeout=120, check=True, env=environment)
    assert result.stdout.endswith(b"end\n")


def test_profiler_sees_the_end(table: Path) -> None:
    command = [sys.executable, "-m", "cProfile", "-m", "deltaspec", "validate", str(table), "--quiet"]
    assert b"function calls" in subprocess.run(command, capture_output=True, timeout=120, check=True).stdout


@pytest.mark.parametrize("package", ["numpy", "pandas"])
@pytest.mark.parametrize("options", ["validate --level rows", "validate --estimate", "show"])
def test_package_that_arrow_would_import_is_left_out(options: str, package: str, table: Path) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    command = [sys.executable, "-X", "importtime", "-m", "deltaspec", *options.split(), str(table)]
    result = subprocess.run(command, capture_output=True, timeout=120, check=True)
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.decode().splitlines()}
    assert {"pyarrow.lib", "polars"} <= imported
    assert [name for name in imported if name.startswith(f"{package}.")] == []


@pytest.mark.parametrize("command", ["validate", "show"])
def test_terminal_without_unicode_gets_ascii(command: str, table: Path) -> None:
    result = run(command, table, PYTHONIOENCODING="ascii")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.isascii()


@pytest.mark.parametrize(("command", "form"), [("validate", "json"), ("validate", "junit"), ("show", "json")])
def test_machine_formats_are_always_utf8(command: str, form: str, table: Path) -> None:
    plain = run(command, table, "--format", form)
    assert run(command, table, "--format", form, PYTHONIOENCODING="latin-1").stdout == plain.stdout
    assert b"\\x" not in plain.stdout


@pytest.mark.parametrize("form", ["text", "json", "junit"])
def test_closed_pipe_changes_neither_exit_code_nor_stderr(form: str, table: Path, tmp_path: Path) -> None:
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2)]
    write_table(files, tmp_path / "broken")
    for root, code in ((table, 0), (tmp_path / "broken", 1)):
        assert run_with_closed_pipe("validate", root, "--format", form) == (code, b"")


def test_closed_pipe_does_not_change_the_exit_code_of_a_test() -> None:
    assert run_with_closed_pipe("test", "reference", "--tables", 1, "--select", "no case") == (2, b"")


def run_with_closed_pipe(*arguments: object) -> tuple[int, bytes]:
    """Run a command of which nobody reads stdout; return its exit code and stderr."""
    read, write = os.pipe()
    os.close(read)
    command = [*DELTASPEC, *map(str, arguments)]
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, env=environment()) as process:
        os.close(write)
        _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def test_full_disk_is_reported_in_one_line(table: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*DELTASPEC, "validate", str(table)],
            stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=120, check=False,
        )  # fmt: skip
    assert (result.returncode, result.stderr) == (
        2,
        b"deltaspec: stdout: cannot be written: No space left on device\n",
    )


def test_terminal_output_is_colored_unless_no_color_is_set(table: Path) -> None:
    assert b"\x1b[1;32mCONFORMS" in on_terminal(table)
    assert b"\x1b[1;32m" not in on_terminal(table, NO_COLOR="1")
    assert b"\x1b" not in on_terminal(table, "--color", "never")
    assert b"\x1b[1;32mCONFORMS" in on_terminal(table, "--color", "always", NO_COLOR="1")


@pytest.mark.parametrize(
    ("signal_number", "code", "message"), [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated")]
)
def test_signal_ends_the_run_with_one_line(
    tmp_path: Path, signal_number: signal.Signals, code: int, message: bytes
) -> None:
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    files.commits |= {version: [] for version in range(1, 8_000)}
    write_table(files, tmp_path / "long")
    with subprocess.Popen(
        [*DELTASPEC, "validate", str(tmp_path / "long")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    ) as process:  # fmt: skip
        wait_for_open_log(process.pid, tmp_path / "long")
        process.send_signal(signal_number)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == code
    # a run that has read its listing also writes a partial report, and how to resume
    assert errors.startswith(b"deltaspec: %s" % message)
    assert len(errors.splitlines()) == 1
    assert not output or f"INCOMPLETE  nothing found · exit {code}" in output.decode()


def wait_for_open_log(pid: int, table: Path) -> None:
    """Wait until the process reads the table, which happens after all imports."""
    for _ in range(3000):
        try:
            opened = [os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            opened = []
        if any(each.startswith(str(table)) for each in opened):
            return
        time.sleep(0.01)
    raise AssertionError("the process never opened the log")


def on_terminal(table: Path, *options: str, **changes: str) -> bytes:
    """Return what a run writes to a terminal."""
    master, slave = pty.openpty()
    command = [*DELTASPEC, "validate", str(table), *options]
    with subprocess.Popen(
        command, stdout=slave, stderr=slave, env=environment(TERM="xterm-256color", **changes)
    ) as process:
        os.close(slave)
        output = b""
        while piece := read_terminal(master):
            output += piece
        process.wait(120)
    os.close(master)
    return output


def read_terminal(master: int) -> bytes:
    try:
        return os.read(master, 1 << 16)
    except OSError:  # Linux reports a closed terminal this way
        return b""


def test_json_report_imports_only_what_it_needs(table: Path, tmp_path: Path) -> None:
    """Importing them would take longer than the validation."""
    write_table(build_partitioned_checkpoint_table(), tmp_path)
    assert find_imported(table, UNNEEDED) == []
    assert find_imported(tmp_path, UNNEEDED) == ["pyarrow.parquet"]


def find_imported(table: Path, modules: Sequence[str]) -> list[str]:
    """Return which of some modules are imported to validate the log of a table."""
    program = (
        "import sys; from deltaspec.cli import main\n"
        f"try: main(['validate', {str(table)!r}, '--level', 'log', '--format', 'json', '--output', {os.devnull!r}])\n"
        "except SystemExit: pass\n"
        f"print(*[each for each in {modules} if each in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True, text=True)
    return done.stdout.split()


def test_other_commands_and_package_metadata_are_imported_when_they_are_used(table: Path) -> None:
    """Polars imports `importlib.metadata`, and needs it only for Iceberg."""
    program = (
        "import atexit, sys\n"
        "def look():\n"
        "    print([each for each in ('email', 'deltaspec.commands.golden') if each in sys.modules])\n"
        "    from importlib.metadata import version\n"
        "    print(version('polars') == sys.modules['polars'].__version__)\n"
        "atexit.register(look)\n"
        "from deltaspec.__main__ import run\n"
        f"sys.argv = ['deltaspec', 'validate', {str(table)!r}, '--level', 'log', '--quiet']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-2:] == ["[]", "True"]


@pytest.mark.skipif(sys.platform != "linux", reason="it is chosen on Linux only")
@pytest.mark.parametrize(
    ("limit", "rows", "pool", "milliseconds"),
    [(9, False, "system", 10_000), (10, False, "jemalloc", 100), (10, True, "system", 100)],
)
def test_allocator_depends_on_the_size_of_the_checkpoint_and_on_rows(
    limit: int, rows: bool, pool: str, milliseconds: int, tmp_path: Path
) -> None:
    (tmp_path / "_delta_log" / "_sidecars").mkdir(parents=True)
    (tmp_path / "_delta_log" / "_sidecars" / "a.parquet").write_bytes(bytes(10))
    program = (
        "import os; from deltaspec.commands import startup\n"
        f"startup._LARGE_CHECKPOINT_BYTES = {limit}\n"
        f"startup.choose_allocator({str(tmp_path)!r}, reads_rows={rows})\n"
        "import pyarrow\n"
        "kept = {os.environ[name].rpartition(':')[2] for name in ('_RJEM_MALLOC_CONF', 'JE_ARROW_MALLOC_CONF')}\n"
        "print(pyarrow.default_memory_pool().backend_name, *kept)"
    )
    names = ("_RJEM_MALLOC_CONF", "JE_ARROW_MALLOC_CONF", "ARROW_DEFAULT_MEMORY_POOL")
    without = {name: value for name, value in environment().items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, env=without
    )
    assert done.stdout.split() == [pool, str(milliseconds)]


def test_parsing_a_clock_does_not_load_arrow() -> None:
    """Arrow chooses its allocator when it is loaded, after the command line has set it."""
    script = (
        "import sys; from deltaspec.commands import options, validate\n"
        "assert options.parse_clock(None, None, 'now') and options.parse_clock(None, None, None) is None\n"
        "assert not {'pyarrow', 'polars'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
