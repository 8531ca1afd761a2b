"""Judge row ids and row commit versions of a table after each operation of a history."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from deltaspec_generators.histories.plain_table import ID, Effect


class RowIdJudge:
    """Row ids of a table after the operations so far."""

    def __init__(self) -> None:
        self._ids: dict[int, tuple[int, int]] = {}
        """Row id and row commit version of each row by its value of `id`."""
        self._used: set[int] = set()
        """Row ids that any row has had."""

    def find_problems(self, expected: Effect, rows: pa.Table, ids: pa.Table, versions: range) -> Iterator[str]:
        """Yield the faults after an operation, and store the row ids. Source: chapter Row Tracking, every revision.

        Args:
            expected: the expected result of the operation.
            rows: rows of the table after it, of which the column `id` identifies each.
            ids: two int64 columns of the same length, with row ids and row commit versions.
            versions: versions that the operation committed.
        """
        pairs = zip(*(ids.column(name).to_pylist() for name in ids.column_names), strict=True)
        found = dict(zip(rows.column(ID).to_pylist(), pairs, strict=True))
        numbers = [row_id for row_id, _ in found.values()]
        if any(None in each for each in found.values()):
            yield "a row has no row id or no row commit version"
        elif len(set(numbers)) < len(numbers):
            yield "two rows have the same row id"
        elif not expected.is_restore:
            removed = {row[ID]: row for row in expected.removed}
            changed = {row[ID] for row in expected.added if removed.get(row[ID]) != row}
            for key, (row_id, commit) in found.items():
                is_rewritten = key in removed and key not in changed
                text = self._find_fault(key, row_id, commit, versions, changed)
                if text is not None and not is_rewritten:
                    yield f"{text} ({ID} {key})"
        self._ids = found
        self._used |= set(numbers)

    def _find_fault(self, key: int, row_id: int, commit: int, versions: range, changed: Collection[int]) -> str | None:
        """Return the fault of the row id or row commit version of a row."""
        old = self._ids.get(key)
        if old is None and row_id in self._used:
            return f"a new row has row id {row_id}, which another row had"
        if old is not None and old[0] != row_id:
            return f"a row has row id {row_id}; it was {old[0]}"
        if key in changed and commit not in versions:
            return f"a row that version {versions[-1] if versions else None} changed has row commit version {commit}"
        if key not in changed and old is not None and old[1] != commit:
            return f"an unchanged row has row commit version {commit}; it was {old[1]}"
        return None
