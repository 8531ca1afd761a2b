"""Files that a user keeps are complete or absent, and an earlier file survives: full disk, kill, permissions."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.cli import run, single_error_line
from helpers.restricted_runs import FullDisk, open_full_disk, run_with_permissions

from deltaspec.errors import InvalidUsage
from deltaspec.output_files import fill_directory, is_temporary, replace_file, require_writable, write_file
from deltaspec.validation import run as embedded_run
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table

CHECKOUT = Path(__file__).parents[2]
OLD = b"the earlier file\n" * 300
NO_SPACE = "cannot be written: No space left on device"
SLOW_WRITE = """
import sys, time
from deltaspec import cli, output_files

def wait(path):
    print("written", flush=True)
    time.sleep(60)

output_files._sync = wait
cli.main(sys.argv[1:])
"""
"""`deltaspec`, which stops before it replaces a file."""


def make_table(directory: Path) -> Path:
    """Write a table with a violation."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2)]
    write_table(files, directory)
    return directory


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    for name in ("sales", "stock"):
        make_table(root / name)
    return root


@pytest.fixture(scope="module")
def module_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDisk]:
    with open_full_disk(tmp_path_factory.mktemp("full")) as disk:
        yield disk


@pytest.fixture
def disk(module_disk: FullDisk) -> FullDisk:
    """A disk without files."""
    module_disk.clear()
    return module_disk


ONE_FILE = {
    "json report": ("validate", "{sales}", "--report", "json:{out}"),
    "parquet report": ("validate", "{sales}", "--report", "parquet:{out}"),
    "output": ("validate", "{sales}", "--output", "{out}"),
    "estimate": ("validate", "{sales}", "--estimate", "--output", "{out}"),
    "summary": ("validate", "{sales}", "{stock}", "--output", "{out}"),
    "joined report": ("validate", "{sales}", "{stock}", "--report", "sarif:{out}"),
    "findings": ("validate", "{sales}", "--findings-out", "{out}"),
    "known failures": ("known", "update", "{out}", "{checkout}/reports/engines/deltalake.json"),
}


@pytest.mark.parametrize("arguments", ONE_FILE.values(), ids=ONE_FILE)
def test_earlier_file_survives_a_full_disk(arguments: tuple[str, ...], disk: FullDisk, tables: Path) -> None:
    old = b"" if arguments[0] == "known" else OLD
    disk.write("out", old)
    places = {"sales": tables / "sales", "stock": tables / "stock", "out": disk.path / "out", "checkout": CHECKOUT}
    done = disk.run(0, *(each.format(**places) for each in arguments))
    assert disk.read_files() == {"out": old}
    assert (done.returncode, done.stderr) == (2, f"deltaspec: {disk.path}/out: {NO_SPACE}\n")


def test_json_report_is_complete_or_absent_whatever_the_room(disk: FullDisk, tables: Path) -> None:
    outcomes = set()
    for room in (1, 6, 40):
        disk.clear()
        done = disk.run(room, "validate", tables / "sales", "--report", f"json:{disk.path}/r.json")
        files = disk.read_files()
        if files:
            assert json.loads(files["r.json"])["verdict"] == "violations", f"{room=}"
        else:
            assert done.stderr.splitlines()[-1] == f"deltaspec: {disk.path}/r.json: {NO_SPACE}", f"{room=}"
        assert done.returncode == (1 if files else 2), f"{room=}"
        outcomes.add(done.returncode)
    assert outcomes == {1, 2}


def test_nightly_run_continues_after_a_night_with_a_full_disk(disk: FullDisk, tmp_path: Path) -> None:
    """`--since` and `--report` name one file, as in the README."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    write_table(files, tmp_path / "sales")
    report = disk.path / "r.json"
    assert disk.run(100, "validate", tmp_path / "sales", "--report", f"json:{report}").returncode == 0
    nightly = ("validate", tmp_path / "sales", "--since", report, "--report", f"json:{report}")
    before = disk.read_files()
    assert disk.run(3, *nightly).returncode == 2
    assert disk.read_files() == before
    assert disk.run(100, *nightly).returncode == 0
    assert "since" in json.loads(disk.read_files()["r.json"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("golden", "export", "{out}", "log.*", "--format", "folder", "--cases", "{checkout}/golden-tables"),
        ("golden", "export", "{out}", "log.*", "--format", "dat", "--cases", "{checkout}/golden-tables"),
        ("golden", "export", "{out}", "log.*", "--format", "archive", "--cases", "{checkout}/golden-tables"),
        ("extract", "{sales}", "COM003", "--output", "{out}"),
    ],
    ids=["folder", "dat", "archive", "extract"],
)
def test_new_directory_is_complete_or_absent(arguments: tuple[str, ...], disk: FullDisk, tables: Path) -> None:
    places = {"out": disk.path / "new", "checkout": CHECKOUT, "sales": tables / "sales"}
    done = disk.run(1, *(each.format(**places) for each in arguments))
    assert (done.returncode, disk.read_files()) == (2, {}), done.stderr
    assert done.stderr.splitlines()[-1] == f"deltaspec: {disk.path}/new: {NO_SPACE}"
    assert not (disk.disk.host_path / "new").exists()
    done = disk.run(4_000, *(each.format(**places) for each in arguments))
    assert (done.returncode, bool(disk.read_files())) == (0, True), done.stderr


def test_events_on_a_full_disk_are_named_in_the_message(disk: FullDisk) -> None:
    events = disk.path / "events.ndjson"
    arguments = ("test", "reference", "--suite", "snapshot", "--tables", 5, "--events", events)
    done = disk.run(1, *arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"deltaspec: {events}: {NO_SPACE}"
    done = disk.run(4_000, *arguments, "--resume")
    assert done.returncode == 0, done.stderr
    assert [line for line in disk.read_files()["events.ndjson"].splitlines() if not json.loads(line)] == []


def test_kill_before_the_replacement_leaves_the_earlier_file(tables: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    report.write_bytes(OLD)
    arguments = ["validate", str(tables / "sales"), "--report", f"json:{report}"]
    with subprocess.Popen([sys.executable, "-c", SLOW_WRITE, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert report.read_bytes() == OLD
    (left,) = {path.name for path in tmp_path.iterdir()} - {"r.json"}
    assert is_temporary(left)
    assert run(*arguments).exit_code == 1
    assert json.loads(report.read_bytes())["verdict"] == "violations"


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_interrupt_before_the_replacement_removes_the_temporary_file(
    kind: signal.Signals, tables: Path, tmp_path: Path
) -> None:
    arguments = ["validate", str(tables / "sales"), "--report", f"json:{tmp_path}/r.json"]
    with subprocess.Popen([sys.executable, "-c", SLOW_WRITE, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.send_signal(kind)
    assert process.returncode == (143 if kind == signal.SIGTERM else 130)
    assert list(tmp_path.iterdir()) == []


def test_findings_of_a_failed_run_do_not_replace_earlier_ones(
    tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "found.parquet"
    assert run("validate", tables / "sales", "--findings-out", found).exit_code == 1
    assert pq.read_table(found).num_rows > 0
    before = found.read_bytes()
    monkeypatch.setattr(embedded_run, "check_table", None)
    assert run("validate", tables / "sales", "--findings-out", found).exit_code == 4
    assert found.read_bytes() == before
    assert os.listdir(tmp_path) == ["found.parquet"]


def test_permissions_of_an_earlier_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "r"
    before = os.umask(0o027)
    try:
        write_file(path, b"1")
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o604)
        write_file(path, b"2")
        assert path.stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(before)
    assert path.read_bytes() == b"2"
    assert os.listdir(tmp_path) == ["r"]


@pytest.mark.parametrize("exists", [True, False])
def test_target_of_a_link_is_replaced(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "real").mkdir()
    if exists:
        (tmp_path / "real" / "r").write_bytes(OLD)
    (tmp_path / "link").symlink_to("real/r")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "r").read_bytes() == b"new"


def test_fifo_and_open_files_are_written_directly(tmp_path: Path, tables: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "fifo").read_bytes()))
    reader.start()
    write_file(tmp_path / "fifo", b"data")
    reader.join()
    assert read == [b"data"]
    for place in ("/dev/stdout", "/dev/fd/1"):
        with open(tmp_path / "captured", "wb") as captured:
            command = [sys.executable, "-m", "deltaspec", "validate", str(tables / "sales"), "--output", place]
            subprocess.run(command, stdout=captured, stderr=subprocess.PIPE, check=False)
            assert os.fstat(captured.fileno()).st_nlink == 1, f"{place=}"
        assert b"VIOLATIONS" in (tmp_path / "captured").read_bytes(), f"{place=}"
    write_file("/dev/null", b"data")
    assert not Path("/dev/null").is_file()


def test_file_that_is_a_mount_point_is_overwritten(tmp_path: Path) -> None:
    """As a single file that is mounted into a container."""
    for name in ("outer", "inner"):
        (tmp_path / name).write_bytes(OLD)
    program = "from deltaspec.output_files import write_file; write_file('inner', b'new')"
    script = 'mount --bind outer inner && exec "$0" -c "$1"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, sys.executable, program]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "outer").read_bytes() == b"new"
    assert (tmp_path / "inner").read_bytes() == OLD
    assert sorted(os.listdir(tmp_path)) == ["inner", "outer"]


@pytest.mark.parametrize("fault", [ValueError(), KeyboardInterrupt()])
def test_failed_block_leaves_nothing(tmp_path: Path, fault: BaseException) -> None:
    def write_half(path: Path) -> None:
        path.write_bytes(b"half")
        raise fault

    with pytest.raises(type(fault)), replace_file(tmp_path / "r") as temporary:
        write_half(Path(temporary))
    with pytest.raises(type(fault)), fill_directory(tmp_path / "d") as content:
        write_half(content / "a")
    assert os.listdir(tmp_path) == []


def test_entries_of_an_existing_directory_are_replaced(tmp_path: Path) -> None:
    target = tmp_path / "d"
    (target / "a").mkdir(parents=True)
    (target / "a" / "old").touch()
    (target / "other").touch()
    (target / "f").write_bytes(b"old")
    with fill_directory(target) as content:
        (content / "a").mkdir()
        (content / "a" / "new").touch()
        (content / "f").write_bytes(b"new")
    assert sorted(str(each.relative_to(target)) for each in target.rglob("*")) == ["a", "a/new", "f", "other"]
    assert (target / "f").read_bytes() == b"new"


def test_directory_without_permission_is_reported_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "old.json").write_bytes(OLD)
    (tmp_path / "read-only.json").write_bytes(OLD)
    (tmp_path / "read-only.json").chmod(0o444)
    (tmp_path / "shut").chmod(0o555)
    refused = f"no permission to create files in {tmp_path}/shut"
    for name, reason in (
        ("shut/new.json", refused),
        ("shut/old.json", refused),
        ("read-only.json", "Permission denied"),
    ):
        done = run_with_permissions(tmp_path, "validate", "no table", "--report", f"json:{name}")
        assert (done.returncode, done.stderr) == (2, f"deltaspec: {name}: cannot be written: {reason}\n")
    assert (tmp_path / "shut" / "old.json").read_bytes() == OLD


def test_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidUsage, match=r"r: cannot be written: .*/file is not a directory"):
        require_writable(str(tmp_path / "file" / "r"))
    result = run("validate", "no table", "--report", f"json:{tmp_path}/file/r")
    assert single_error_line(result).endswith("/file is not a directory")
