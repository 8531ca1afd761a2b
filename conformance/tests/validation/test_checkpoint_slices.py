"""Large files of checkpoints are split into slices on Spark; the report is that of one reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.backends import compare_reports, list_backend, table_in_temporary_directory

from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.validation.spark import driver
from deltaspec.validation.spark.checkpoint_slices import CombinedPart, combine_slices, split_parts
from deltaspec.validation.spark.log_tasks import PartResult, PartUnit
from deltaspec.wire.log.checkpoint_reader import CheckpointPart, PartSummary
from deltaspec.wire.log.checkpoint_summary import CheckpointFileSummary
from deltaspec.wire.log.row_slices import RowSlice
from planted_tables.bases.log_only import build_checkpointed_table

MIB = 1 << 20


@pytest.fixture
def combined(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """For each job: the number of slices that were combined, and whether they were combined."""
    found: list[tuple[int, bool]] = []

    def combine_and_record(results: Sequence[PartResult]) -> dict[int, CombinedPart] | None:
        parts = combine_slices(results)
        found.append((max((each.rows.count for each in results), default=0), parts is not None))
        return parts

    monkeypatch.setattr(driver, "combine_slices", combine_and_record)
    return found


def test_report_does_not_depend_on_slices(combined: list[tuple[int, bool]]) -> None:
    with table_in_temporary_directory(build_checkpointed_table()) as uri:
        assert compare_reports(uri, {"lists": list_backend(2, 1)}, history="all") == []
    assert combined == [(2, True)]


def test_broken_slice_is_read_again_without_slices(combined: list[tuple[int, bool]], tmp_path: Path) -> None:
    with table_in_temporary_directory(build_checkpointed_table()) as uri:
        (checkpoint,) = Path(uri).glob("_delta_log/*.checkpoint.parquet")
        data = bytearray(checkpoint.read_bytes())
        middle = data.index(b".parquet") + 4
        data[middle] = 0xFF  # no UTF-8
        checkpoint.write_bytes(data)
        assert compare_reports(uri, {"lists": list_backend(2, 1)}, history="all") == []
    assert combined == [(2, False), (1, True)]


def result(index: int, count: int = 2, checksum: int | None = 7, **more: Any) -> PartResult:
    contents = CheckpointFileSummary("checkpoint", "file", adds=index + 1)
    return PartResult(0, RowSlice(index, count), PartSummary(contents, checksum=checksum), **more)


def test_counts_of_slices_are_added() -> None:
    combined = combine_slices([result(1, misplaced_files=2), result(0, misplaced_files=3)])
    assert combined is not None
    summary, misplaced = combined[0].summary, combined[0].misplaced_files
    assert summary.contents is not None
    assert (summary.contents.adds, misplaced) == (3, 5)


def test_part_with_a_missing_slice_has_no_result() -> None:
    assert combine_slices([result(0, 3), result(2, 3)]) == {}


@pytest.mark.parametrize("second", [result(1, checksum=8), result(1, is_complete=False)])
def test_slices_of_a_changed_or_broken_file_are_not_combined(second: PartResult) -> None:
    assert combine_slices([result(0), second]) is None


def test_file_that_is_not_split_may_be_broken() -> None:
    broken = PartResult(0, RowSlice(), PartSummary(unreadable="broken"), is_complete=False)
    assert combine_slices([broken]) == {0: CombinedPart(broken.summary)}


@pytest.mark.parametrize(
    ("sizes", "parallelism", "slices"),
    [
        ([4 * MIB], 8, [1]),
        ([119 * MIB], 2, [2]),
        ([119 * MIB], 8, [8]),
        ([119 * MIB], 800, [15]),
        ([5 * 1024 * MIB], 2, [40]),
        ([30 * MIB] * 800, 8, [1] * 800),
        ([1000 * MIB, 10 * MIB], 8, [8, 1]),
    ],
)
def test_slices_have_similar_sizes(sizes: list[int], parallelism: int, slices: list[int]) -> None:
    names = [f"{number}.parquet" for number in range(len(sizes))]
    checkpoint = Checkpoint(1, "multipart", tuple(names))
    units = [PartUnit(n, checkpoint, CheckpointPart(name), None, "") for n, name in enumerate(names)]  # type: ignore[arg-type]
    found = split_parts(units, dict(zip(names, sizes, strict=True)), parallelism)
    assert [sum(unit.number == n for unit in found) for n in range(len(sizes))] == slices
