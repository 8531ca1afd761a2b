"""Exports of golden cases: the layouts of other clients, and the release archive."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest
from golden.golden_folders import GOLDEN, write_case, write_manifest, write_two_cases
from helpers.cli import run

from deltaspec import __version__
from deltaspec.golden import corpus
from deltaspec.golden.corpus import load_corpus
from deltaspec.golden.export.archive import build_archive


def list_files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def export(root: Path, target: Path, layout: str, *patterns: str) -> str:
    result = run("golden", "export", str(target), *patterns, "--format", layout, "--cases", str(root))
    assert result.exit_code == 0, result.output
    return result.output


def test_layout_of_dat(tmp_path: Path) -> None:
    output = export(write_two_cases(tmp_path / "golden"), tmp_path / "dat", "dat")
    assert list_files(tmp_path / "dat") == {
        "log.rows/test_case_info.json",
        "log.rows/delta/_delta_log/00000000000000000000.json",
        "log.rows/expected/latest/table_content/rows.parquet",
        "log.rows/expected/v1/table_content/rows.parquet",
        "log.rows/expected/v1/table_version_metadata.json",
    }
    old = tmp_path / "dat/log.rows/expected/v1"
    assert (old / "table_content/rows.parquet").read_bytes() == b"old rows"
    assert json.loads((old / "table_version_metadata.json").read_bytes()) == {
        "version": 1,
        "properties": {"delta.appendOnly": "true"},
        "min_reader_version": 1,
        "min_writer_version": 2,
    }
    reason = "DAT has no tables that a reader refuses"
    assert output.splitlines() == [
        "1 of 3 cases written",
        f"left out: checkpoints.refused: {reason}",
        f"left out: checkpoints.violated: {reason}",
    ]


def test_layout_of_acceptance_workloads(tmp_path: Path) -> None:
    output = export(write_two_cases(tmp_path / "golden"), tmp_path / "workloads", "acceptance")
    assert list_files(tmp_path / "workloads") == {
        "log.rows/delta/_delta_log/00000000000000000000.json",
        *(f"log.rows/specs/{name}.json" for name in ("all", "old", "old-part", "old-state")),
        "log.rows/expected/all/expected_data/rows.parquet",
        "log.rows/expected/old/expected_data/rows.parquet",
        "checkpoints.refused/delta/_delta_log/00000000000000000000.json",
        "checkpoints.refused/specs/refused.json",
    }
    assert "left out: checkpoints.violated: no question for a reader" in output


def test_cases_are_selected_by_chapter_and_glob(tmp_path: Path) -> None:
    root = write_two_cases(tmp_path / "golden")
    export(root, tmp_path / "workloads", "acceptance", "checkpoints")
    assert {path.name for path in (tmp_path / "workloads").iterdir()} == {"checkpoints.refused"}
    listed = run("golden", "list", "*.r*", "--format", "json", "--cases", str(root)).output
    assert [case["id"] for case in json.loads(listed)] == ["checkpoints.refused", "log.rows"]


def read_archive(path: Path) -> dict[str, bytes]:
    size = 100_000_000
    data = pa.input_stream(io.BytesIO(path.read_bytes()), compression="zstd").read(size)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = {member.name: archive.extractfile(member) for member in archive.getmembers()}
    return {name: file.read() for name, file in members.items() if file is not None}


def test_archive_has_every_case_and_an_index(tmp_path: Path) -> None:
    root = write_two_cases(tmp_path / "golden")
    export(root, tmp_path / "out", "archive")
    prefix = f"deltaspec-golden-{__version__}"
    found = read_archive(tmp_path / "out" / f"{prefix}.tar.zst")
    assert found[f"{prefix}/README.md"] == b"README.md"
    index = json.loads(found[f"{prefix}/index.json"])
    assert (index["version"], index["license"]) == (__version__, "Apache-2.0")
    case = index["cases"][2]
    assert {name: case[name] for name in ("id", "path", "kind", "requirements", "reader_features")} == {
        "id": "log.rows",
        "path": "log/log.rows",
        "kind": "rows",
        "requirements": ["log.versions-contiguous"],
        "reader_features": ["deletionVectors"],
    }
    for each in index["cases"]:
        for path, file in each["files"].items():
            data = found[f"{prefix}/{each['path']}/{path}"]
            assert (file["sha256"], file["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data)), f"{each=}"
    assert len(found) == 3 + sum(len(each["files"]) for each in index["cases"])


def test_archive_is_reproducible(tmp_path: Path) -> None:
    first, second = (load_corpus(write_two_cases(tmp_path / name)) for name in ("a", "b"))
    for path in (tmp_path / "b").rglob("*"):
        path.chmod(0o755)
    assert build_archive(first, first.cases, "1") == build_archive(second, second.cases, "1")


def test_content_of_the_archive_is_a_corpus_itself(tmp_path: Path) -> None:
    root = write_two_cases(tmp_path / "golden")
    export(root, tmp_path / "release", "folder")
    again = load_corpus(tmp_path / "release")
    assert [case.description for case in again.cases] == [case.description for case in load_corpus(root).cases]
    export(tmp_path / "release", tmp_path / "dat", "dat")
    assert "log.rows/expected/v1/table_content/rows.parquet" in list_files(tmp_path / "dat")


def test_changed_file_is_not_exported(tmp_path: Path) -> None:
    root = write_two_cases(tmp_path / "golden")
    (root / "log/log.rows/specs/all.json").write_text("[]")
    result = run("golden", "export", str(tmp_path / "out"), "--format", "archive", "--cases", str(root))
    assert result.exit_code == 2
    assert "specs/all.json: the SHA-256 is not the one that the list of cases states" in result.output


@pytest.mark.parametrize("path", ["../outside", "/tmp/outside", "a/../../outside", "..\\outside", ""])
def test_list_of_cases_names_only_paths_below_it(path: str, tmp_path: Path) -> None:
    entry = write_case(tmp_path, "log.rows", {})
    for hostile in ({**entry, "path": path}, {**entry, "sha256": {path: "0"}}, {**entry, "id": path}):
        write_manifest(tmp_path, hostile)
        result = run("golden", "export", str(tmp_path / "out"), "--format", "dat", "--cases", str(tmp_path))
        assert result.exit_code == 2, f"{hostile=}"
        assert "is not a path below it" in result.output, f"{hostile=}"


def test_used_directory_is_not_written_to(tmp_path: Path) -> None:
    root = write_two_cases(tmp_path / "golden")
    result = run("golden", "export", str(tmp_path), "--format", "dat", "--cases", str(root))
    assert (result.exit_code, result.output) == (2, f"deltaspec: {tmp_path} exists and is not empty\n")


def test_page_of_a_case_shows_question_and_answer() -> None:
    output = run("golden", "show", "log.commit-gap").output
    assert "A reader fails in phase snapshot at the latest: log.versions-contiguous is violated." in output
    assert "defect    commit 1 is missing; otherwise equal to log.append-remove" in output
    document = json.loads(run("golden", "show", "log.commit-gap", "--format", "json").output)
    assert document["case"]["expect"]["codes"] == ["invalid_log"]
    assert "delta/_delta_log/00000000000000000003.json" in document["sha256"]


def test_committed_cases_are_listed() -> None:
    manifest = json.loads((GOLDEN / "manifest.json").read_bytes())
    listed = json.loads(run("golden", "list", "--format", "json").output)
    assert {case["id"] for case in listed} == {case["id"] for case in manifest["cases"]}
    lines = [" ".join(line.split()) for line in run("golden", "list", "log").output.splitlines()]
    assert "rows log.append-remove Two files are appended, the first is removed; one path has an escape." in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("list", "nothing.*"), "no golden case matches nothing.*; `deltaspec golden list` lists all"),
        (("show", "nothing"), "unknown golden case nothing; `deltaspec golden list` lists all"),
        (("list", "--cases", "/nowhere"), "/nowhere/manifest.json: cannot be read: No such file or directory"),
    ],
)
def test_wrong_names_are_explained(arguments: tuple[str, ...], message: str) -> None:
    result = run("golden", *arguments)
    assert (result.exit_code, result.output) == (2, f"deltaspec: {message}\n")


def test_imported_directory_is_listed(tmp_path: Path) -> None:
    case = tmp_path / "ca\x1b`se/specs"
    case.mkdir(parents=True)
    (case / "feed.json").write_text('{"type": "crc"}')
    (case / "read.json").write_text('{"type": "read", "error": {"errorCode": "X"}}')
    assert run("golden", "import", str(tmp_path)).output.splitlines() == [
        "acceptance  ca\\x1b'se  1 refuse, 1 not asked",
        "",
        "1 cases, 1 refuse, 1 not asked",
        "not asked: specs of type crc are not imported (1)",
    ]
    (listed,) = json.loads(run("golden", "import", str(tmp_path), "--format", "json").output)
    assert listed["questions"] == [
        {"name": "feed", "kind": "not asked", "reason": "specs of type crc are not imported"},
        {"name": "read", "kind": "refuse"},
    ]


def test_cases_of_the_installed_package_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "deltaspec_golden"
    export(write_two_cases(tmp_path / "golden"), package / "cases", "folder")
    source = GOLDEN.parent / "conformance/golden_distribution/src/deltaspec_golden/__init__.py"
    (package / "__init__.py").write_bytes(source.read_bytes())
    monkeypatch.setattr(corpus, "find_checkout", lambda: None)
    missing = run("golden", "list")
    assert (missing.exit_code, missing.output) == (
        2,
        (
            "deltaspec: no golden tables are installed; use --cases with the folder golden-tables of a checkout, "
            "or install the wheel of deltaspec-golden that `nox -s golden_distribution` builds there\n"
        ),
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert [line.split()[1] for line in run("golden", "list").output.splitlines()] == [
        "checkpoints.refused",
        "checkpoints.violated",
        "log.rows",
    ]
    import deltaspec_golden  # type: ignore[import-not-found]

    assert deltaspec_golden.find_cases() == package / "cases"
    assert len(deltaspec_golden.load_index()["cases"]) == 3


def test_absolute_paths_lead_to_the_exported_table(tmp_path: Path) -> None:
    log = {"delta/_delta_log/00000000000000000000.json": b'{"add":{"path":"deltaspec-table:///a%20b.parquet"}}'}
    cloned = b"deltaspec-elsewhere:///a.parquet deltaspec-elsewhere:/b.parquet"
    outside = {"delta/_delta_log/00000000000000000000.json": cloned, "delta.elsewhere/a.parquet": b"PAR1"}
    questions = {"specs/all.json": b'{"type": "read"}'}
    checkpoint = {"delta/_delta_log/00000000000000000000.checkpoint.parquet": b"PAR1"}
    write_manifest(
        tmp_path,
        write_case(tmp_path, "paths.absolute", {**log, **questions}, portability=("absolute-paths",)),
        write_case(tmp_path, "paths.elsewhere", {**outside, **questions}, portability=("absolute-paths",)),
        write_case(tmp_path, "paths.stored", {**log, **questions, **checkpoint}, portability=("absolute-paths",)),
    )
    target = tmp_path / "out dir"
    output = export(tmp_path, target, "acceptance")
    uri = (target / "paths.absolute/delta").as_uri()
    written = (target / "paths.absolute/delta/_delta_log/00000000000000000000.json").read_text("utf-8")
    assert written == f'{{"add":{{"path":"{uri}/a%20b.parquet"}}}}'
    uri = (target / "paths.elsewhere/delta.elsewhere").as_uri()
    written = (target / "paths.elsewhere/delta/_delta_log/00000000000000000000.json").read_text("utf-8")
    assert written == f"{uri}/a.parquet {uri.replace('///', '/')}/b.parquet"
    assert (target / "paths.elsewhere/delta.elsewhere/a.parquet").read_bytes() == b"PAR1"
    assert "left out: paths.stored: absolute paths in a checkpoint cannot be replaced" in output
