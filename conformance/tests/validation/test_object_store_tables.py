"""Tables in an object store have the same report as on a local disk; faults of the store leave a run incomplete."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from fuzz.subjects import SUBJECTS
from fuzz.worker import write_files
from helpers.faulty_s3 import BUCKET, KEY_ID, SECRET, TOKEN, Fault, FaultyS3, run_faulty_s3, set_environment
from helpers.raw_logs import RawLog, count_findings_by_rule, write_sidecar_checkpoint

import deltaspec
from deltaspec.cli import main
from deltaspec.report.report_types import Report
from deltaspec.wire.storage import data_access
from deltaspec_generators.small_tables import (
    add_data_file,
    build_rows,
    build_table_with_change_data,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import CheckpointFiles, SidecarFile, TableFiles, commit_info_action, encode_table

LEVELS = ("log", "files", "footers", "rows")
COMMIT_2 = "t/_delta_log/00000000000000000002.json"


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with run_faulty_s3() as s3:
        yield s3


@pytest.fixture
def s3(server: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyS3]:
    """Yield the server with an empty bucket and without faults."""
    set_environment(monkeypatch, server)
    server.clear()
    yield server
    server.clear()


def build_table_with_encoded_paths() -> TableFiles:
    files = build_table_with_data()
    paths = {"a%20b/50%2525.parquet": "a b/50%25.parquet", "x%2By/%C3%BC.parquet": "x+y/ü.parquet"}
    files.commits[3] = [commit_info_action(3), *(add_data_file(files, path, build_rows(30)) for path in paths)]
    for path, name in paths.items():
        files.data[name] = files.data.pop(path)
    return files


def build_broken_table() -> TableFiles:
    """Build a table with a missing file, a file that is too long, one without footer and a wrong vector checksum."""
    files = build_table_with_stored_vectors()
    for name in ("d", "e", "f"):
        files.commits[4] = [
            *files.commits.get(4, [commit_info_action(4)]),
            add_data_file(files, f"{name}.parquet", build_rows(30)),
        ]
    files.missing.add("d.parquet")
    for name, change in {"e": lambda data: data + b"more", "f": lambda data: data[:-1] + b"?"}.items():
        data = files.data[f"{name}.parquet"]
        assert isinstance(data, bytes), f"{name=}"
        files.data[f"{name}.parquet"] = change(data)
    (vectors,) = (name for name in files.extra if name.endswith(".bin"))
    files.extra[vectors] = files.extra[vectors][:-1] + b"?"
    return files


TABLES: dict[str, Callable[[], dict[str, bytes]]] = {
    "encoded paths": lambda: encode_table(build_table_with_encoded_paths()),
    "vectors": lambda: encode_table(build_table_with_stored_vectors()),
    "changes": lambda: encode_table(build_table_with_change_data()),
    "broken": lambda: encode_table(build_broken_table()),
    "every type": SUBJECTS["dictionaries"].build,
    "checkpoints and sidecars": SUBJECTS["log"].build,
}


def store_table(s3: FaultyS3, files: dict[str, bytes]) -> str:
    """Store a table; return its URI."""
    for path, data in files.items():
        s3.put(f"t/{path}", data)
    return f"s3://{BUCKET}/t"


def report_to_builtins(report: Report) -> Any:
    """Return a report as plain values, without the location of the table and what names its files by time."""
    values = msgspec.to_builtins(report)
    del values["table"], values["continuation"]
    return values


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", TABLES)
def test_report_equals_that_of_the_same_table_on_disk(name: str, level: str, s3: FaultyS3, tmp_path: Path) -> None:
    files = TABLES[name]()
    uri = store_table(s3, files)
    write_files(tmp_path, files)
    s3.page = 3
    report = deltaspec.validate(uri, level=level, history="all")
    assert report_to_builtins(report) == report_to_builtins(
        deltaspec.validate(str(tmp_path), level=level, history="all")
    )
    assert (count_findings_by_rule(report) == {}) == (
        name not in ("broken", "checkpoints and sidecars") or level == "log"
    )


def test_run_needs_few_requests(s3: FaultyS3) -> None:
    """Three commits, three live files of more than 64 KiB, no vectors."""
    files = build_table_with_data(
        tables=[build_rows(0, 20_000), build_rows(20_000, 20_000), build_rows(40_000, 20_000)]
    )
    uri = store_table(s3, encode_table(files))
    requests = {}
    for level in LEVELS:
        s3.requests.clear()
        assert deltaspec.validate(uri, level=level).verdict == "conforms"
        requests[level] = (s3.count("list"), s3.count("get"), s3.count("head", "range"))
    assert requests["log"] == (1, 3, 0)
    assert requests["files"] == (2, 3, 0)
    assert requests["footers"] == (2, 3, 2)  # one for each live file
    assert requests["rows"] == (2, 3, 2)  # small files are read completely, for their footers and their rows


def test_only_so_many_small_files_are_kept_for_their_rows(s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    files = build_table_with_data()
    adds = [add_data_file(files, f"p{number}.parquet", build_rows(30)) for number in range(8)]
    files.commits[3] = [commit_info_action(3), *adds]
    uri = store_table(s3, encode_table(files))
    monkeypatch.setattr(data_access, "MAX_KEPT_BYTES", 3 * max(add["add"]["size"] for add in adds))
    assert deltaspec.validate(uri, level="rows").verdict == "conforms"
    counts = Counter(each.key for each in s3.requests if each.kind == "range")
    assert set(counts.values()) == {1, 2}, "some are read once, the others twice: their footers, then their rows"


def test_footers_and_rows_of_several_files_are_read_concurrently(s3: FaultyS3) -> None:
    files = build_table_with_data()
    files.commits[3] = [
        commit_info_action(3),
        *(add_data_file(files, f"p{number}.parquet", build_rows(30)) for number in range(40)),
    ]
    uri = store_table(s3, encode_table(files))
    s3.delay_seconds = 0.05
    for level in ("footers", "rows"):
        s3.max_concurrent.clear()
        assert deltaspec.validate(uri, level=level).verdict == "conforms"
        assert s3.max_concurrent["range"] >= 4, f"{level=}"


def test_sidecars_are_read_concurrently(s3: FaultyS3) -> None:
    log = RawLog("rich")

    def move_rows_to_sidecars(checkpoint: CheckpointFiles) -> None:
        (sidecar,) = checkpoint.sidecars
        checkpoint.sidecars = [
            SidecarFile(f"{number:08x}-437a-438e-8683-9a9a4a79a395.parquet", [row])
            for number, row in enumerate(sidecar.rows)
        ]

    write_sidecar_checkpoint(log, move_rows_to_sidecars)
    uri = store_table(s3, {f"_delta_log/{name}": data for name, data in log.files.items()})
    expected = report_to_builtins(deltaspec.validate(uri, level="log", history="all"))
    s3.delay_seconds = 0.1
    s3.max_concurrent.clear()
    assert report_to_builtins(deltaspec.validate(uri, level="log", history="all")) == expected
    assert s3.count("range", key=lambda key: "_sidecars/" in key) >= 4
    assert s3.max_concurrent["range"] >= 3


# temporary faults


@pytest.mark.parametrize("what", ["500", "503", "reset", "cut"])
@pytest.mark.parametrize("kind", ["list", "get", "range"])
def test_temporary_fault_does_not_change_the_report(kind: str, what: str, s3: FaultyS3) -> None:
    uri = store_table(s3, TABLES["broken"]())
    expected = report_to_builtins(deltaspec.validate(uri, level="rows"))
    s3.faults = [Fault(what, kinds=(kind,), turns=lambda turn: turn in (1, 4))]
    assert report_to_builtins(deltaspec.validate(uri, level="rows")) == expected
    assert s3.faults[0].match_counts


@pytest.mark.parametrize("what", ["hang", "stall"])
def test_temporary_timeout_does_not_change_the_report(what: str, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, s3, impatient=True)
    uri = store_table(s3, TABLES["vectors"]())
    s3.faults = [Fault(what, turns=lambda turn: turn == 1)]
    report = deltaspec.validate(uri, level="rows")
    assert (report.verdict, count_findings_by_rule(report)) == ("conforms", {})
    assert len(s3.faults[0].match_counts) > 5


# permanent faults


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize("what", ["403", "500", "503", "reset", "cut", "hang", "stall"])
def test_store_without_data_leaves_the_run_incomplete(what: str, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, s3, impatient=what in ("hang", "stall"))
    uri = store_table(s3, TABLES["vectors"]())
    s3.faults = [Fault(what, key=lambda key: "_delta_log" not in key)]
    for level in ("rows",) if what in ("hang", "stall") else ("files", "rows"):
        started = time.monotonic()
        report = deltaspec.validate(uri, level=level)
        assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {}), f"{level=}"
        assert time.monotonic() - started < 45, f"{level=}"


@pytest.mark.parametrize("what", ["403", "503", "reset", "cut"])
@pytest.mark.parametrize("page", [1, 2])
def test_incomplete_listing_does_not_prove_missing_files(what: str, page: int, s3: FaultyS3) -> None:
    uri = store_table(s3, TABLES["encoded paths"]())
    s3.page = 4
    s3.faults = [Fault(what, kinds=("list",), key=lambda key: key == "t/", turns=lambda turn: turn >= page)]
    for level in ("files", "rows"):
        s3.faults[0].match_counts.clear()
        report = deltaspec.validate(uri, level=level)
        assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {}), f"{level=}"
        assert any("cannot be listed" in each.reason for each in report.checked.not_checked), f"{level=}"


@pytest.mark.parametrize("what", ["403", "503", "cut"])
@pytest.mark.parametrize(
    "key", ["t/b.parquet", "t/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", COMMIT_2], ids=["b", "dv", "2"]
)
def test_unreadable_object_is_not_checked(key: str, what: str, s3: FaultyS3) -> None:
    uri = store_table(s3, TABLES["vectors"]())
    s3.faults = [Fault(what, kinds=("get", "range", "head"), key=lambda requested: requested == key)]
    report = deltaspec.validate(uri, level="rows")
    assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})
    assert invoke("validate", uri, "--level", "rows").exit_code == 3


@pytest.mark.parametrize("what", ["403", "500", "503", "reset", "cut", "hang", "stall"])
def test_unlistable_log_is_one_error_line(what: str, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, s3, impatient=what in ("hang", "stall"))
    uri = store_table(s3, TABLES["vectors"]())
    s3.faults = [Fault(what, kinds=("list",))]
    started = time.monotonic()
    result = invoke("validate", uri, "--level", "rows")
    assert (result.exit_code, result.stdout) == (2 if what == "403" else 5, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"deltaspec: {uri}: _delta_log cannot be listed: ")
    assert time.monotonic() - started < 15


# secrets


@pytest.mark.slow(
    "conformance/deltaspec/wire/storage", "conformance/deltaspec/commands", "conformance/deltaspec/report"
)
@pytest.mark.parametrize("form", ["text", "json", "junit"])
@pytest.mark.parametrize("what", [None, "403", "503", "reset", "cut"])
def test_no_output_contains_a_secret(what: str | None, form: str, s3: FaultyS3, tmp_path: Path) -> None:
    store_table(s3, TABLES["broken"]())
    uri = f"s3://{KEY_ID}:{SECRET}@{BUCKET}/t"
    output = tmp_path / "report"
    for kinds in (("get", "range", "head"), ("list",)):
        s3.faults = [Fault(what, kinds=kinds)] if what else []
        for arguments in (["validate", uri, "--level", "rows", "--format", form], ["show", uri]):
            for more in ([], ["--output", str(output)] if arguments[0] == "validate" else []):
                result = invoke(*arguments, *more)
                assert result.exit_code in (0, 1, 2, 3, 5), f"{kinds=}, {arguments[0]} {more}"
                written = result.output + (output.read_text() if output.exists() else "")
                assert written, f"{kinds=}, {arguments[0]} {more}"
                assert [each for each in (KEY_ID, SECRET, TOKEN, "X-Amz", "AWS4-HMAC") if each in written] == [], (
                    f"{kinds=}, {arguments[0]} {more}"
                )


def test_secrets_in_absolute_paths_are_not_reported(s3: FaultyS3) -> None:
    """The log itself may contain a URL with a secret. Reasons in the ledger must not repeat it."""
    files = build_table_with_data()
    files.commits[3] = [
        commit_info_action(3),
        add_data_file(files, f"s3://{KEY_ID}:{SECRET}@elsewhere/p.parquet", build_rows(30)),
    ]
    files.data.popitem()
    uri = store_table(s3, encode_table(files))
    report = deltaspec.validate(uri, level="rows", allow_outside=True)
    assert SECRET not in "".join(each.reason for each in report.checked.not_checked)


def test_emptied_log_is_a_finding_if_anything_of_it_is_listed(s3: FaultyS3) -> None:
    """A store has no empty directories: without a file in the log, there is no table."""
    uri = store_table(s3, {"part-0.parquet": b"rows"})
    without_log = invoke("validate", uri)
    assert (without_log.exit_code, "has no _delta_log directory" in without_log.stderr) == (2, True)
    store_table(s3, {"_delta_log/00000000000000000002.crc": b"{}"})
    (finding,) = deltaspec.validate(uri, level="log").findings
    assert (finding.rule, finding.file) == ("LOG001", "_delta_log")
