"""delta-rs performs operations of `apply`, and its refusals have the right category."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaspec.candidates.host import Refused
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Apply, ApplyAnswer
from deltaspec.candidates.reference.engine import Engine as Reference
from deltaspec.candidates.write_operations import CommitOptions, parse_operation
from deltaspec.faults.workload import TABLE, build_delete, build_update

pytest.importorskip("deltalake")


def write_rows(path: Path, *ids: int) -> str:
    rows = pa.table({"id": pa.array(ids, pa.int64()), "part": ["a"] * len(ids), "value": ["v"] * len(ids)})
    with pa.ipc.new_file(path, rows.schema) as file:
        file.write_table(rows)
    return str(path)


class Table:
    def __init__(self, location: Path) -> None:
        from deltaspec.candidates.adapters.deltalake import Engine

        self.location, self.candidate = location, InProcess(Engine())

    def apply(self, kind: str, *, note: str | None = None, **fields: Any) -> ApplyAnswer:
        operation = parse_operation({"kind": kind, **fields})
        commit = CommitOptions(user_metadata=note) if note else None
        return self.candidate.apply(Apply(str(self.location), operation, commit))

    def read_ids(self) -> list[int]:
        answer = Reference().scan(
            str(self.location), at=None, columns=[["id"]], predicate=None, predicate_tree=None, row_ids=False
        )
        return sorted(answer["rows"]["id"].to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> Table:
    created = Table(tmp_path / "table")
    assert created.apply("create", schema=TABLE.render_schema(), partition_by=["part"]).version == 0
    assert created.apply("append", rows=write_rows(tmp_path / "1.arrow", 1, 2, 3), note="first").version == 1
    return created


def test_operations_change_rows(table: Table, tmp_path: Path) -> None:
    assert '"userMetadata":"first"' in (table.location / "_delta_log/00000000000000000001.json").read_text("utf-8")
    delete, update = build_delete(2, 3), build_update(3, 4, 1)
    assert table.apply(**delete.operation) == ApplyAnswer(committed=True, version=2)
    assert table.apply(**delete.operation) == ApplyAnswer(committed=False)
    assert table.read_ids() == [1, 3]
    assert table.apply(**update.operation).version == 3
    merge = {"rows": write_rows(tmp_path / "2.arrow", 3, 4), "on": ["id"], "matched": "delete"}
    assert table.apply("merge", **merge, not_matched="insert").version == 4
    assert table.read_ids() == [1, 4]
    assert not table.apply("checkpoint").committed
    assert (table.location / "_delta_log/00000000000000000004.checkpoint.parquet").exists()
    assert table.apply("overwrite", rows=write_rows(tmp_path / "3.arrow", 9)).version == 5
    assert table.apply("restore", version=1).version == 6
    assert table.read_ids() == [1, 2, 3]


def test_refusals_have_categories(table: Table, tmp_path: Path) -> None:
    table.apply("add-constraint", name="positive", sql="id > 0")
    refusals = [
        ("append", {"rows": write_rows(tmp_path / "4.arrow", -1)}, "constraint"),
        ("purge", {}, "unsupported"),
        ("checkpoint", {"form": "v2"}, "unsupported"),
        ("create", {"schema": TABLE.render_schema()}, "conflict"),
    ]
    for kind, fields, category in refusals:
        with pytest.raises(Refused) as caught:
            table.apply(kind, **fields)
        assert caught.value.refusal.category == category, f"{kind}: {caught.value}"
    assert table.read_ids() == [1, 2, 3]


def test_older_release_is_told_which_one_is_needed(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaspec.candidates.adapters.deltalake_writes.TableFeatures", object())
    with pytest.raises(Refused, match=r"does not have the feature variantType; it needs 1\.6") as caught:
        table.apply("add-feature", feature="variantType")
    assert (caught.value.refusal.category, caught.value.refusal.code) == ("unsupported", "operation")
