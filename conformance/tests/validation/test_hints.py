"""Hints: live files with the same content, which may be the same data added twice. They are never findings."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from helpers.backends import compare_reports, embedded_backend, list_backend
from helpers.cli import run

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec.report.report_types import Hints, Report
from deltaspec.validation.data import same_content_search
from deltaspec.validation.stopping import RunStopped
from deltaspec.views.data.data_files import DataFile
from deltaspec.wire.storage.interface import StorageError
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows, compute_statistics
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    write_table,
)

PLAIN = {"parquet_options": {"compression": "none"}}
"""Files of equal rows then have the same size."""
ONE, OTHER = build_rows(0, 5), build_rows(5, 5)


def build_table(*tables: pa.Table, vectors: Sequence[Sequence[int]] = (), partitions: Sequence[str] = ()) -> TableFiles:
    """Build a table with a commit for each data file: `a0.parquet`, `a1.parquet` and so on."""
    files = TableFiles()
    fields = [*FIELDS, ("p", "string")] if partitions else FIELDS
    features = ["deletionVectors"]
    metadata = metadata_action(
        fields, partition_columns=["p"] if partitions else [], configuration={DELETION_VECTORS: "true"}
    )
    files.commits[0] = [commit_info_action(0), protocol_action(3, 7, features, features), metadata]
    for number, table in enumerate(tables):
        files.commits[number + 1] = [
            commit_info_action(number + 1),
            add_data_file(files, f"a{number}.parquet", table, **PLAIN),
        ]
        if any(vectors[number : number + 1]):
            stats = json.dumps({**compute_statistics(table), "tightBounds": False})
            vector = inline_vector_descriptor(vectors[number])
            get_action(files, number + 1, "add").update(deletionVector=vector, stats=stats)
        if partitions:
            get_action(files, number + 1, "add")["partitionValues"] = {"p": partitions[number]}
    return files


def find_hints(files: TableFiles, directory: Path, **options: Any) -> Hints:
    write_table(files, directory)
    report = deltaspec.validate(str(directory), level="rows", hints=True, **options)
    assert (report.verdict, report.totals) == ("conforms", {})
    assert report.hints is not None
    return report.hints


def test_files_with_the_same_content_are_a_hint_and_no_finding(tmp_path: Path) -> None:
    hints = find_hints(build_table(ONE, OTHER, ONE, ONE), tmp_path)
    assert msgspec.to_builtins(hints.same_content) == [
        {
            "paths": ["a0.parquet", "a2.parquet", "a3.parquet"],
            "count": 3,
            "size": len(build_table(ONE).data["a0.parquet"]),
            "rows": 5,
            "repeated_rows": 10,
        }
    ]
    assert (hints.groups, hints.files, hints.not_compared, hints.reason) == (1, 3, 0, None)


def test_number_of_rows_comes_from_the_files_if_the_log_has_no_statistics(tmp_path: Path) -> None:
    files = build_table(ONE, ONE)
    get_action(files, 2, "add").pop("stats")
    (same,) = find_hints(files, tmp_path).same_content
    assert (same.rows, same.repeated_rows) == (5, 5)


@pytest.mark.parametrize(
    ("files", "compared"),
    [
        pytest.param(build_table(ONE, OTHER), 2, id="other rows"),
        pytest.param(build_table(ONE, build_rows(0, 4)), 0, id="fewer rows"),
        pytest.param(build_table(ONE, ONE, partitions=["x", "y"]), 0, id="other partition"),
        pytest.param(build_table(build_rows(0, 0), build_rows(0, 0)), 0, id="no rows"),
    ],
)
def test_files_that_repeat_no_row_are_no_hint(files: TableFiles, compared: int, tmp_path: Path) -> None:
    """Files that the log tells apart are not read."""
    assert find_hints(files, tmp_path) == Hints(compared=compared)


@pytest.mark.parametrize(
    ("vectors", "repeated"),
    [
        pytest.param([[0, 1], [1, 2]], 2, id="row 1 is deleted in both, rows 0 and 2 in one"),
        pytest.param([[0, 1]], 3, id="one vector"),
        pytest.param([[0, 1], [2, 3, 4]], None, id="the live rows of one are deleted in the other"),
        pytest.param([[0, 1, 2, 3, 4]], None, id="all rows of one are deleted"),
    ],
)
def test_deleted_rows_are_not_repeated(vectors: list[list[int]], repeated: int | None, tmp_path: Path) -> None:
    found = find_hints(build_table(ONE, ONE, vectors=vectors), tmp_path).same_content
    assert [each.repeated_rows for each in found] == ([] if repeated is None else [repeated])


def test_large_files_with_equal_ends_are_read_completely(tmp_path: Path) -> None:
    table = pa.table({"id": range(40_000), "name": ["x"] * 40_000})
    files = build_table(table, table)
    content = bytearray(files.data["a1.parquet"])
    assert len(content) > 2 * (64 << 10)
    assert len(find_hints(files, tmp_path / "same").same_content) == 1
    content[100] ^= 1  # a value of the first page
    files.data["a1.parquet"] = bytes(content)
    write_table(files, tmp_path / "changed")
    report = deltaspec.validate(str(tmp_path / "changed"), level="rows", hints=True)
    assert report.hints == Hints(compared=2)


def test_file_that_cannot_be_read_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compute_hash = same_content_search.ContentSearch.hash_file

    def fail(search: Any, file: DataFile, start: int) -> bytes:
        if file.path == "a1.parquet":
            raise StorageError("a1.parquet: the disk is broken")
        return compute_hash(search, file, start)

    monkeypatch.setattr(same_content_search.ContentSearch, "hash_file", fail)
    hints = find_hints(build_table(ONE, ONE, ONE), tmp_path)
    assert [each.paths for each in hints.same_content] == [["a0.parquet", "a2.parquet"]]
    assert (hints.compared, hints.not_compared, hints.reason) == (3, 1, "a1.parquet: the disk is broken")


def test_hints_are_in_text_pages_and_json_and_leave_the_exit_code(tmp_path: Path) -> None:
    write_table(build_table(ONE, ONE), tmp_path / "t")
    command = ("validate", str(tmp_path / "t"), "--level", "rows", "--hints", "--fail-on", "divergence")
    expected = "a0.parquet, a1.parquet have the same content (5 rows each, 5 repeated)"
    for form in ("text", "html", "markdown"):
        found = run(*command, "--format", form)
        assert (found.exit_code, expected in " ".join(found.output.split())) == (0, True), form
    report = msgspec.json.decode(run(*command, "--format", "json").output, type=Report)
    assert (report.hints, report.verdict) == (
        deltaspec.validate(str(tmp_path / "t"), level="rows", hints=True).hints,
        "conforms",
    )
    assert deltaspec.validate(str(tmp_path / "t"), level="rows").hints is None


def test_backends_give_the_same_hints(tmp_path: Path) -> None:
    write_table(build_table(ONE, OTHER, ONE, OTHER), tmp_path)
    backends = {
        "spilled": embedded_backend(rows_in_memory=0, count=4),
        "spark": list_backend(3, seed=1),
        "spark on the driver": list_backend(2, seed=2, executors_can_read=False),
    }
    assert compare_reports(str(tmp_path), backends, level="rows", hints=True) == []


def test_missing_hints_have_a_reason(tmp_path: Path) -> None:
    table, report = str(tmp_path / "t"), tmp_path / "report.json"
    write_table(build_table(ONE, ONE), Path(table))
    with pytest.raises(InvalidUsage, match="--hints needs --level rows, not files"):
        deltaspec.validate(table, hints=True)
    deltaspec.validate(table, level="rows").save(report)
    since = deltaspec.validate(table, level="rows", hints=True, since=str(report))
    assert since.hints == Hints(reason="--since reads only new files")

    def stop(phase: str, done: int, total: int | None) -> None:
        if phase == "files with the same content":
            raise RunStopped("enough")

    stopped = deltaspec.validate(table, level="rows", hints=True, progress=stop)
    assert (stopped.stopped, stopped.hints) == ("enough", Hints(reason="enough"))
    (tmp_path / "t/_delta_log/00000000000000000001.json").unlink()
    broken = deltaspec.validate(table, level="rows", hints=True)
    assert broken.hints == Hints(reason="the live files are not known")
