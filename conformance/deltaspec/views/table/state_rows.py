"""Rows of a view over the state of the table: one per key and version in which the row changed."""

from collections.abc import Hashable, Iterable
from typing import Any

Row = dict[str, Any]


class StateRows:
    """Rows of one view along the history, each with the columns that differ from the preceding version."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._latest: dict[Hashable, Row] = {}

    def add(self, location: Row, content: Row, key: Hashable = (), *, is_new: bool = False) -> None:
        """Add the row of a key.

        Args:
            location: location columns of the row.
            content: its other columns.
            key: identifies the row in every version.
            is_new: whether the row is unrelated to the row of its key in the preceding version.
        """
        before = None if is_new else self._latest.get(key)
        self._latest[key] = content
        changed = None if before is None else _find_changed_columns(before, content)
        self.rows.append({**location, **content, "changed_columns": changed})

    def add_if_changed(self, location: Row, content: Row, key: Hashable) -> None:
        """Add the row of a key if it differs from the row in the preceding version."""
        if self._latest.get(key) != content:
            self.add(location, content, key)

    def replace(self, location: Row, contents: Iterable[tuple[Hashable, Row]]) -> None:
        """Replace the rows of all keys by the rows of the next version; only rows that differ are added.

        Args:
            location: location columns of the rows.
            contents: key and columns of each row; location columns are ignored. A key may occur repeatedly.
        """
        before, counts, current = self._latest, dict[Hashable, int](), dict[Hashable, Row]()
        for key, columns in contents:
            counts[key] = counts.get(key, 0) + 1
            if not location.keys().isdisjoint(columns):
                columns = {name: value for name, value in columns.items() if name not in location}
            current[key, counts[key]] = columns
        self._latest = {key: before[key] for key in current if key in before}
        for key, content in current.items():
            self.add_if_changed(location, content, key)

    def extend(self, location: Row, contents: Iterable[tuple[Hashable, Row]]) -> None:
        """Add further rows of the next version; arguments as in `replace`."""
        for key, columns in contents:
            number = 1
            while (key, number) in self._latest:
                number += 1
            content = {name: value for name, value in columns.items() if name not in location}
            self.add(location, content, (key, number))

    def forget(self) -> None:
        """Record that versions are unknown: later rows are compared with nothing."""
        self._latest = {}


def _find_changed_columns(before: Row, after: Row) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]
