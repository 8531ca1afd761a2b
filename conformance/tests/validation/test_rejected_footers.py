"""Parquet files that Arrow rejects although other readers may accept them: read another way, or not checked."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cli import run

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.data_files.legacy_nesting import store_as
from deltaspec_generators.table_files import TableFiles, encode_table, get_action, protocol_action, write_table
from planted_tables.bases import log_only
from planted_tables.bases.nested_types import map_type
from planted_tables.bases.single_file import FILE_PATH, build_single_file_table

Edit = Callable[[bytes], bytes]
UNKNOWN, STRING = b"\x4c\xbc\x00\x00", b"\x4c\x1c\x00\x00"
"""Logical types of a group, as encoded."""


def build_checkpoint(naming: Any) -> TableFiles:
    if naming in ("classic", "multipart"):
        files = log_only.build_checkpointed_table(naming)
        if naming == "multipart":
            files.checkpoints[0] = CheckpointFiles(1, naming, rows=files.checkpoints[0].rows, parts=2)
        return files
    return log_only.build_v2_checkpointed_table(naming)


def edit_parquet_files(files: TableFiles, edit: Edit) -> TableFiles:
    """Edit the Parquet files of the log."""
    for path, data in encode_table(files).items():
        if path.endswith(".parquet"):
            files.extra[path] = edit(data)
    return files


def validate(files: TableFiles, root: Path, level: Any = "log", **options: Any) -> Report:
    write_table(files, root)
    return deltaspec.validate(str(root), level=level, **options)


def store_unknown_maps(data: bytes) -> bytes:
    return store_as(data, "unknown-maps")


def annotate_as_strings(data: bytes) -> bytes:
    return store_unknown_maps(data).replace(UNKNOWN, STRING)


def state_lzo(data: bytes) -> bytes:
    """State the codec LZO for the first column chunk, which is stored without compression."""
    sink = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(data)), sink, compression="none", store_schema=False)
    changed = sink.getvalue().replace(b"\x15\x00\x16", b"\x15\x06\x16")
    assert changed != sink.getvalue()
    return changed


def encrypt_footer(data: bytes) -> bytes:
    return data[:-4] + b"PARE"


def damage_pages(data: bytes) -> bytes:
    return data[:4] + b"\xff" * 200 + data[204:]


NAMINGS = ["classic", "multipart", "uuid-parquet", "uuid-json"]
EDITED = {"CKP070": "the parts are not in hash order", "CKP023": "the sidecar action states the size before the edit"}
"""Findings that the edit of the files causes."""


def test_arrow_rejects_the_annotation() -> None:
    files = edit_parquet_files(build_checkpoint("classic"), store_unknown_maps)
    (data,) = (data for path, data in files.extra.items() if path.endswith(".parquet"))
    with pytest.raises(OSError, match="Null cannot be applied to group node"):
        pq.ParquetFile(io.BytesIO(data))


@pytest.mark.parametrize("naming", NAMINGS)
@pytest.mark.parametrize("history", ["latest", "all", "1"])
def test_files_of_parquet_mr_1_11_are_read(tmp_path: Path, naming: str, history: str) -> None:
    files = edit_parquet_files(build_checkpoint(naming), store_unknown_maps)
    report = validate(files, tmp_path, history=history)
    assert report.totals.keys() <= EDITED.keys()
    assert report.checked.not_checked == []


def test_fault_in_a_file_of_parquet_mr_1_11_is_found(tmp_path: Path) -> None:
    files = build_checkpoint("classic")
    files.checkpoints[0].rows[2]["add"]["size"] += 1
    report = validate(edit_parquet_files(files, store_unknown_maps), tmp_path, history="all")
    assert report.totals.keys() == {"FIL052"}


def test_table_is_read_from_a_checkpoint_of_parquet_mr_1_11(tmp_path: Path) -> None:
    files = edit_parquet_files(build_checkpoint("classic"), store_unknown_maps)
    del files.commits[0]
    write_table(files, tmp_path)
    assert run("show", str(tmp_path)).exit_code == 0
    report = deltaspec.validate(str(tmp_path), level="log")
    assert "CKP001" not in report.totals
    assert report.verdict != "incomplete"


@pytest.mark.parametrize("level", ["footers", "rows"])
def test_data_file_of_parquet_mr_1_11_is_read(tmp_path: Path, level: str) -> None:
    rows = pa.table({"m": pa.array([{"a": 1}, None], pa.map_(pa.string(), pa.int64()))})
    files = build_single_file_table(rows, [("m", map_type("string", "long"))])
    files.data[FILE_PATH] = store_unknown_maps(files.data[FILE_PATH])
    add = get_action(files, 1, "add")
    add["size"] = len(files.data[FILE_PATH])
    report = validate(files, tmp_path / "sound", level)
    assert (report.verdict, report.totals) == ("conforms", {})
    add["stats"] = '{"numRecords":3}'
    assert validate(files, tmp_path / "faulty", level).totals.keys() == {"PQT002"}


@pytest.mark.parametrize("protocol", [protocol_action(1, 1), protocol_action(1, 2), protocol_action(1, 7, None, [])])
def test_rules_of_other_features_are_not_listed(tmp_path: Path, protocol: dict[str, Any]) -> None:
    """Also for a protocol that supports no feature at all."""
    rows = pa.table({"m": pa.array([{"a": 1}, None], pa.map_(pa.string(), pa.int64()))})
    files = build_single_file_table(rows, [("m", map_type("string", "long"))], protocol=protocol)
    files.data[FILE_PATH] = annotate_as_strings(files.data[FILE_PATH])
    get_action(files, 1, "add")["size"] = len(files.data[FILE_PATH])
    report = validate(files, tmp_path, "footers")
    assert (report.verdict, report.totals) == ("incomplete", {})
    listed = {each.rule[:3] for each in report.checked.not_checked}
    assert "PQT" in listed
    assert not listed & {"ICE", "CMP", "RID"}


@pytest.mark.parametrize("edit", [annotate_as_strings, state_lzo, encrypt_footer])
@pytest.mark.parametrize("naming", NAMINGS)
def test_file_that_others_may_read_is_not_checked(tmp_path: Path, edit: Edit, naming: str) -> None:
    report = validate(edit_parquet_files(build_checkpoint(naming), edit), tmp_path, history="all")
    assert report.totals.keys() <= EDITED.keys()
    rule = "CKP024" if naming == "uuid-json" else "CKP001"
    reasons = {each.reason for each in report.checked.not_checked if each.rule == rule}
    assert reasons
    assert [each for each in reasons if not ("Arrow" in each or "encrypted" in each)] == []


@pytest.mark.parametrize("edit", [lambda data: data[:-6], damage_pages])
@pytest.mark.parametrize("naming", NAMINGS)
def test_file_that_no_reader_reads_is_a_violation(tmp_path: Path, edit: Edit, naming: str) -> None:
    report = validate(edit_parquet_files(build_checkpoint(naming), edit), tmp_path, history="all")
    expected = "CKP024" if naming == "uuid-json" else "CKP001"
    assert expected in report.totals
