"""Sail performs operations of `apply`, and its refusals have the right category."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaspec.candidates.host import Host, Refused
from deltaspec.candidates.messages import Apply
from deltaspec.candidates.reference.engine import Engine as Reference
from deltaspec.candidates.registry import open_candidate
from deltaspec.candidates.write_operations import CommitOptions, parse_operation
from deltaspec.faults.workload import TABLE, build_delete, build_update

pytest.importorskip("pysail")


@pytest.fixture(scope="module")
def sail() -> Iterator[Host]:
    """Sail in its own process: after a classic session of Spark, PySpark opens no Connect session in the same one."""
    with open_candidate("sail") as host:
        yield host


def write_rows(path: Path, *ids: int) -> str:
    rows = pa.table({"id": pa.array(ids, pa.int64()), "part": ["a"] * len(ids), "value": ["v"] * len(ids)})
    with pa.ipc.new_file(path, rows.schema) as file:
        file.write_table(rows)
    return str(path)


def read_ids(table: Path) -> list[int]:
    answer = Reference().scan(str(table), at=None, columns=[["id"]], predicate=None, predicate_tree=None, row_ids=False)
    return sorted(answer["rows"]["id"].to_pylist())


class Table:
    def __init__(self, location: Path, candidate: Host) -> None:
        self.location, self.candidate = location, candidate

    def apply(self, kind: str, *, commit: CommitOptions | None = None, **fields: Any) -> None:
        operation = parse_operation({"kind": kind, **fields})
        assert self.candidate.apply(Apply(str(self.location), operation, commit)).committed


@pytest.fixture
def table(tmp_path: Path, sail: Host) -> Table:
    created = Table(tmp_path / "table", sail)
    rows = write_rows(tmp_path / "1.arrow", 1, 2, 3)
    created.apply("create", schema=TABLE.render_schema(), partition_by=["part"], rows=rows)
    return created


def test_operations_change_rows(table: Table, tmp_path: Path) -> None:
    table.apply(**build_delete(2, 3).operation)
    table.apply(**build_update(3, 4, 1).operation)
    assert read_ids(table.location) == [1, 3]
    merge = {"rows": write_rows(tmp_path / "2.arrow", 3, 4), "on": ["id"], "matched": "delete"}
    table.apply("merge", **merge, not_matched="insert")
    assert read_ids(table.location) == [1, 4]
    table.apply("overwrite", rows=write_rows(tmp_path / "3.arrow", 9))
    assert read_ids(table.location) == [9]


def test_table_of_another_writer_is_altered(table: Table, sail: Host, tmp_path: Path) -> None:
    other = tmp_path / "moved"
    table.location.rename(other)
    Table(other, sail).apply("set-properties", properties={"delta.appendOnly": "true"})
    assert '"delta.appendOnly":"true"' in max((other / "_delta_log").glob("*.json")).read_text("utf-8")


def test_refusals_have_categories(table: Table, tmp_path: Path) -> None:
    table.apply("add-constraint", name="positive", sql="id > 0")
    refusals: list[tuple[str, dict[str, Any], str]] = [
        ("append", {"rows": write_rows(tmp_path / "4.arrow", -1)}, "constraint"),
        ("purge", {}, "unsupported"),
        ("append", {"rows": write_rows(tmp_path / "5.arrow", 5), "commit": CommitOptions(hooks=False)}, "unsupported"),
    ]
    for kind, fields, category in refusals:
        with pytest.raises(Refused) as caught:
            table.apply(kind, **fields)
        assert caught.value.refusal.category == category, f"{kind}: {caught.value}"
    assert read_ids(table.location) == [1, 2, 3]
