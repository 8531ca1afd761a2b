"""Rows of `file_history` of few file actions, which are compared one by one.

A query takes 0.1 ms for each of its steps, however few rows there are. `file_history_rows` has the same as queries, for
many file actions; a test compares both.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from deltaspec.protocol.files.partition_values import find_changed_value
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.partition_facts import parse_partition_text
from deltaspec.views.table.enablement import EnablementHistory, get_enablement_at

_Row = dict[str, Any]
_OTHER_KIND = {"add": "remove", "remove": "add"}


def compare_few_actions(
    actions: Iterable[_Row], row_tracking: EnablementHistory, table_replacements: Sequence[int]
) -> list[_Row]:
    """Return the rows of `file_history` for all actions of some paths.

    Args:
        actions: adds, removes and cdc actions with the columns of `file_replay.REPLAY_COLUMNS`, ordered by version,
            file and line.
        row_tracking: versions at which support or suspension of row tracking changed.
        table_replacements: versions that change the table id.
    """
    earlier = _EarlierActions()
    found: list[_Row] = []
    for version, group in groupby(actions, itemgetter("version")):
        rows = [_with_helpers(row) for row in group]
        supported, suspended = get_enablement_at(row_tracking, version)
        _count_actions(rows)
        for row in rows:
            earlier.compare_with_previous(row)
            if row["source"] != "commit":
                continue
            is_new = row["kind"] == "add" and version in table_replacements
            if supported and not suspended and row["kind"] != "cdc" and not is_new:
                earlier.compare_row_ids(row)
            if row["kind"] == "remove":
                earlier.compare_with_added(row)
        earlier.find_unremoved_vectors(rows)
        earlier.keep(rows)
        found += rows
    return [{name: row.get(name) for name in file_history.columns} for row in found]


def _with_helpers(row: _Row) -> _Row:
    path, source = row["path"], row["source"]
    return row | {
        "path": row["path_key"] if path is None else path,
        "_vector": row["deletion_vector_id"] or "",
        "_group": "checkpoint" if source == "sidecar" else source,
    }


def _count_actions(rows: Iterable[_Row]) -> None:
    """Add the numbers of actions of the same path and file to the first of them: one defect is one finding."""
    of_path = itemgetter("_group", "path_key", "kind")
    of_file = itemgetter("_group", "path_key", "_vector", "kind")
    paths, files = Counter(map(of_path, rows)), Counter(map(of_file, rows))
    counted = set[tuple[str, ...]]()
    for row in rows:
        path, file = of_path(row), of_file(row)
        if path not in counted:
            row["same_path_same_kind"] = paths[path]
        if file not in counted:
            row["same_file_same_kind"] = files[file]
            other = (*file[:-1], _OTHER_KIND.get(row["kind"]))
            row["same_file_other_kind"] = 0 if row["path_key"] is None else files[other]
        counted |= {path, file}


class _EarlierActions:
    """Actions of earlier versions, by path or logical file."""

    def __init__(self) -> None:
        self._encodings: dict[str, str] = {}
        self._previous: dict[tuple[str, str], _Row] = {}
        """By path and kind; also of the same version."""
        self._adds: dict[str, _Row] = {}
        self._adds_of_files: dict[tuple[str, str], _Row] = {}
        self._removed_at: dict[tuple[str, str], int] = {}

    def compare_with_previous(self, row: _Row) -> None:
        """Add the other encoding of the path, and the size of the previous add."""
        path, kind = row["path_key"], row["kind"]
        encoding = self._encodings.get(path, row["path"])
        row["other_path_encoding"] = None if encoding == row["path"] else encoding
        previous = self._previous.get((path, kind))
        if previous and kind == "add" and row["source"] == "commit" and previous["version"] < row["version"]:
            row["size_before"] = previous["size"]
        self._encodings[path] = row["path"]
        self._previous[path, kind] = row

    def compare_row_ids(self, row: _Row) -> None:
        """Add the row ids of the last add of the path in an earlier version."""
        if added := self._adds.get(row["path_key"]):
            row["base_row_id_before"] = added["base_row_id"]
            row["default_row_commit_version_before"] = added["default_row_commit_version"]

    def compare_with_added(self, remove: _Row) -> None:
        """Add the values of the last add of the logical file in an earlier version."""
        if added := self._adds_of_files.get((remove["path_key"], remove["_vector"])):
            remove["had_tags"], remove["added_size"] = added["has_tags"], added["size"]
            remove["changed_partition_value"] = describe_changed_value(
                added["partition_text"], remove["partition_text"]
            )

    def find_unremoved_vectors(self, rows: Sequence[_Row]) -> None:
        """Add the other vector under which a path is live before the version and which the version does not remove."""
        added = {row["path_key"] for row in rows if row["kind"] == "add"}
        removed = {(row["path_key"], _name_vector(row)) for row in rows if row["kind"] == "remove"}
        for row in rows:
            path = row["path_key"]
            may_miss = row["kind"] == "remove" and row["source"] == "commit" and path not in added
            if row["kind"] != "add" and not may_miss:
                continue
            if (live := self._adds.get(path)) is None:
                continue
            vector = _name_vector(live)
            is_live = self._removed_at.get((path, vector), -1) <= live["version"]
            if is_live and (path, vector) not in removed and vector != _name_vector(row):
                row["unremoved_live_vector"] = vector

    def keep(self, rows: Iterable[_Row]) -> None:
        """Make the actions of a version the earlier ones of the next version."""
        for row in rows:
            if (path := row["path_key"]) is None:
                continue
            if row["kind"] == "add":
                self._adds[path] = self._adds_of_files[path, row["_vector"]] = row
            elif row["kind"] == "remove":
                self._removed_at[path, _name_vector(row)] = row["version"]


def _name_vector(row: _Row) -> str:
    vector: str = row["_vector"]
    return vector or "none"


def describe_changed_value(added: str | None, removed: str | None) -> str | None:
    """Describe the first partition value that differs in two texts as in `partition_text`; None without one."""
    if added is None or removed is None or added == removed:
        return None
    before, after = parse_partition_text(added), parse_partition_text(removed)
    name = find_changed_value(before, after)
    return None if name is None else f"{name}={after[name]}, added with {before[name]}"
