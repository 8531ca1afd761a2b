"""Tables whose names are hostile: bytes that are not UTF-8, white space, globs, escapes and options."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deltaspec.cli import main
from deltaspec.commands.report_formats import FORMATS

GOLDEN = Path(__file__).parents[3] / "golden-tables/log/log.append-remove/delta"
FRAGMENTS = [
    *(b"\xe9", b"\xc3\xa9", b"\xff\xfe", b"\xed\xb3\xa9", b" ", b"\t", b"\n", b"\r", b"\\", b"%", b"%41", b"%E9"),
    *(b"*", b"[a]", b"[!a]", b"{table}", b"-", b"--level=x", b"~", b":", b"s3:", b"file:", b"'", b'"', b"<b>"),
    *(b"\x1b[31m", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xc2\x85", b"a", b".", b"_x", b";", b"|"),
    *(b"#", b"?", b"&", b"@", b"=", b"+"),
]
NAMES = (
    st.lists(st.sampled_from(FRAGMENTS) | st.binary(min_size=1, max_size=4), min_size=1, max_size=5)
    .map(b"".join)
    .map(lambda name: name.replace(b"/", b"").replace(b"\0", b""))
    .filter(lambda name: 0 < len(name) < 100 and name not in (b".", b".."))
)
TREES = st.lists(st.lists(NAMES, min_size=1, max_size=2), min_size=1, max_size=4)


def has_table_above(base: bytes, names: list[bytes]) -> bool:
    above = [os.path.join(base, *names[:number]) for number in range(1, len(names))]
    return any(os.path.lexists(os.path.join(each, b"_delta_log")) for each in above)


def make_tables(base: bytes, trees: list[list[bytes]]) -> set[str]:
    """Copy a table to folders, of which none is in a table, and return their real paths."""
    made: set[bytes] = set()
    for names in trees:
        place = os.path.join(base, *names)
        if not os.path.lexists(place) and not has_table_above(base, names):
            shutil.copytree(GOLDEN, os.fsdecode(place))
            made.add(os.path.realpath(place))
    return set(map(os.fsdecode, made))


def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, bytes, str]:
    result = CliRunner().invoke(main, list(arguments), input=stdin)
    return result.exit_code, result.stdout_bytes, result.stderr


@settings(max_examples=8, deadline=None)
@given(trees=TREES, is_relative=st.booleans())
@example(trees=[[b"caf\xe9"], [b"-a", b"\n"], [b"#"], [b" "], [b"%E9"], [b"file:"]], is_relative=True)
def test_every_location_that_discover_prints_can_be_validated(trees: list[list[bytes]], is_relative: bool) -> None:
    before = os.getcwd()
    with TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            made = make_tables(os.fsencode(directory), trees)
            code, printed, _ = run("discover", "--hidden", "." if is_relative else directory)
            assert code == 0
            locations = os.fsdecode(printed).splitlines() if printed.isascii() else printed.decode().split("\n")[:-1]
            assert len(locations) == len(made)
            code, listed, errors = run("validate", "--tables-from", "-", "--format", "json", stdin=printed)
            assert (code, errors) == (0, "")
            tables = json.loads(listed)["tables"]
            assert len(tables) == len(made)
            assert {each["verdict"] for each in tables} == {"conforms"}, tables
            for each in locations:
                code, report, errors = run("validate", each, "--level", "log", "--format", "json")
                assert (code, errors) == (0, ""), each
                assert json.loads(report)["table"] in {table["table"] for table in tables}, f"{each=}"
                code, report, errors = run(
                    "validate", json.loads(report)["table"], "--level", "log", "--format", "json"
                )
                assert (code, errors) == (0, ""), "a report names a location"
            code, found, _ = run("discover", "--hidden", directory, "--format", "json")
            assert len(json.loads(found)["tables"]) == len(made)
            code, found, _ = run("validate", f"{directory}/**", "--format", "json")
            assert len(json.loads(found)["tables"]) == len([each for each in made if not is_hidden(each, directory)])
        finally:
            os.chdir(before)


def is_hidden(path: str, directory: str) -> bool:
    return any(each.startswith(("_", ".")) for each in os.path.relpath(path, os.path.realpath(directory)).split("/"))


def read_parquet(data: bytes) -> None:
    import io

    assert pq.read_table(io.BytesIO(data)).num_rows > 0


READERS: dict[str, Callable[[bytes], object]] = {
    "json": json.loads,
    "sarif": json.loads,
    "junit": ElementTree.fromstring,
    "parquet": read_parquet,
    **dict.fromkeys(("text", "markdown", "html", "github"), bytes.decode),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder whose name is not UTF-8, with a table that has a violation: its name is not UTF-8, either."""
    here = os.fsdecode(os.fsencode(tmp_path) + b"/w\xff\n")
    table = here + os.fsdecode(b"/caf\xe9")
    shutil.copytree(GOLDEN, table)
    os.remove(f"{table}/_delta_log/00000000000000000000.json")
    monkeypatch.chdir(here)
    return here


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_is_valid(output_format: str, folder: str) -> None:
    """Also with a baseline, a file of findings and a state whose paths are not UTF-8."""
    table = folder + os.fsdecode(b"/caf\xe9")
    baseline = folder + os.fsdecode(b"/b\xff.json")
    report = folder + os.fsdecode(b"/r\xff")
    findings = ["--findings-out", folder + os.fsdecode(b"/f\xff.parquet")]
    state = ["--state", folder + os.fsdecode(b"/s\xff")]
    for level in ("log", "rows"):
        code, printed, errors = run("validate", table, "--level", level, "--format", output_format)
        assert (code, errors) == (1, ""), f"{level=}"
        READERS[output_format](printed)
    assert run("baseline", "update", baseline, table)[0] == 0
    for more in (findings, state):
        code, _, errors = run("validate", table, "--baseline", baseline, "--report", f"{output_format}:{report}", *more)
        assert code == 0, errors
        READERS[output_format](Path(report).read_bytes())
    assert Path(findings[1]).stat().st_size > 0
    code, _, errors = run(
        "validate", "c*", folder, "--report", f"{output_format}:{folder}/{{table}}", "--format", "json"
    )
    assert code == 2
    assert "bug" not in errors


def test_level_rows_reads_data_files_of_such_a_table(tmp_path: Path) -> None:
    table = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    shutil.copytree(GOLDEN, table)
    code, printed, _ = run("validate", table, "--level", "rows", "--format", "json")
    report = json.loads(printed)
    assert (code, report["verdict"], report["checked"]["not_checked"]) == (0, "conforms", [])
    assert report["table"] == f"file://{tmp_path}/caf%E9"


def test_glob_in_a_uri_is_below_a_decoded_folder(tmp_path: Path) -> None:
    make_tables(os.fsencode(tmp_path), [[b"a b\xe9", b"caf\xe9"], [b"a b\xe9", b"x"]])
    assert len(json.loads(run("validate", f"file://{tmp_path}/a%20b%E9/c*%E9", "--format", "json")[1])["tables"]) == 1


def test_missing_table_is_named_by_a_location(tmp_path: Path) -> None:
    make_tables(os.fsencode(tmp_path), [[b"caf\xe9"]])
    code, _, errors = run("validate", f"file://{tmp_path}/caf%E8")
    expected = f"file://{tmp_path}/caf%E8: no such file or directory; did you mean file://{tmp_path}/caf%E9?"
    assert (code, errors) == (2, f"deltaspec: {expected}\n")


def test_summary_of_such_tables_is_valid_in_a_process(tmp_path: Path) -> None:
    """The standard streams of a process are those of the system."""
    make_tables(os.fsencode(tmp_path), [[b"caf\xe9"], [b"a\nb"], [b"plain"]])
    command = [sys.executable, "-m", "deltaspec"]
    listed = subprocess.run([*command, "discover", tmp_path], capture_output=True, check=True).stdout
    for more in (["--jobs", "2"], []):
        done = subprocess.run(
            [*command, "validate", "--tables-from", "-", "--format", "json", *more],
            input=listed,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), f"{more=}"
        assert len(json.loads(done.stdout)["tables"]) == 3, f"{more=}"
