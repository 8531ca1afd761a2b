"""Split large Parquet files of checkpoints into slices, which tasks read in parallel, and combine what tasks report.

If a slice cannot be read completely, all files are read again without slices. The report then has what one reader finds
up to the fault, as with the embedded backend.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from deltaspec.validation.spark.log_tasks import PartResult, PartUnit
from deltaspec.wire.log.checkpoint_reader import PartSummary
from deltaspec.wire.log.row_slices import RowSlice

SMALLEST_SLICE_BYTES = 8 << 20
"""About 70,000 files, which one task checks in 0.2 s."""
LARGEST_SLICE_BYTES = 128 << 20


class CombinedPart(msgspec.Struct, frozen=True):
    """What the slices of a file of a checkpoint report together."""

    summary: PartSummary
    misplaced_files: int | None = None


def split_parts(parts: Iterable[PartUnit], sizes: Mapping[str, int], parallelism: int) -> list[PartUnit]:
    """Split Parquet files into slices, so that all tasks have about the same number of bytes.

    Args:
        parts: files of checkpoints.
        sizes: size in bytes of each, by name relative to `_delta_log`.
        parallelism: number of tasks that run at once.
    """
    units = list(parts)
    known = {unit.part.name: sizes.get(unit.part.name, 0) for unit in units}
    share = sum(known.values()) // parallelism + 1
    slice_bytes = min(max(share, SMALLEST_SLICE_BYTES), LARGEST_SLICE_BYTES)
    found = []
    for unit in units:
        is_parquet = unit.part.name.endswith(".parquet")
        count = max(1, -(-known[unit.part.name] // slice_bytes)) if is_parquet else 1
        found += [replace(unit, rows=RowSlice(index, count)) for index in range(count)]
    return found


def combine_slices(results: Sequence[PartResult]) -> dict[int, CombinedPart] | None:
    """Combine the results of slices by the number of their part; a part without all its slices is omitted.

    Returns:
        None if a slice could not be read completely, or if slices are of different files.
    """
    by_part: dict[int, dict[RowSlice, PartResult]] = defaultdict(dict)
    for result in results:
        by_part[result.number][result.rows] = result
    found = {}
    for number, slices in by_part.items():
        first, *others = (slices[rows] for rows in sorted(slices, key=lambda rows: rows.index))
        if others or first.rows.count > 1:
            checksums = {each.summary.checksum for each in slices.values()}
            if not all(each.is_complete for each in slices.values()) or len(checksums) > 1:
                return None
        if len(slices) < first.rows.count:
            continue
        misplaced = first.misplaced_files
        for each in others:
            first.summary.take(each.summary)
            misplaced = None if misplaced is None or each.misplaced_files is None else misplaced + each.misplaced_files
        found[number] = CombinedPart(first.summary, misplaced)
    return found
