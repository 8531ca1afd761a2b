"""Make a table smaller: drop versions, files, actions, columns and fields while it still shows a finding."""

from __future__ import annotations

import io
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.extraction.delta_debugging import Unit, minimize
from deltaspec.extraction.draft import Files, FindingTest
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    LastCheckpointName,
    MultipartCheckpoint,
    OtherFile,
    StagedCommit,
    UuidCheckpoint,
    parse_log_file_name,
)
from deltaspec.protocol.property_names import PHYSICAL_NAME
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_LOG = f"{LOG_DIRECTORY}/"
_MAX_FIELDS = 300
"""Fields of the remaining actions that are tried one by one."""
_MAX_ROWS = 100_000
"""Rows of data files up to which rows are dropped."""
_MAX_DEPTH = 3
"""Depth of these fields: an entry of the configuration is `metaData.configuration.name`."""


def reduce_files(files: Files, test: FindingTest) -> Files:
    """Return the smallest files that were found to show the finding, within the validations that the test has left."""
    files = _guess(files, test)
    for step in (_drop_files, _drop_versions, _drop_data_paths, _drop_lines, _drop_files, _drop_versions):
        files = step(files, test)
    return files


def reduce_content(files: Files, test: FindingTest) -> Files:
    """Return files with fewer columns, rows and fields that show the finding. All data files have been read."""
    for step in (_drop_columns, _drop_rows, _drop_fields):
        files = step(files, test)
    return files


def _guess(files: Files, test: FindingTest) -> Files:
    """Try the smallest tables that usually show a finding: only commits, and only the data file of the finding."""
    visible = {path for path in files if path.startswith(_LOG) or not re.search(r"(^|/)\.", path)}
    commits = {path for path in visible if not path.startswith(_LOG) or isinstance(_parse(path), CommitName)}
    stored = unquote(test.finding.path) if test.finding.path is not None else None
    of_finding = {path for path in visible if path.startswith(_LOG) or path.endswith(".bin") or path == stored}
    for chosen, kept in (
        (commits & of_finding, {None, test.finding.path}),
        (of_finding, {None, test.finding.path}),
        (commits, None),
        (visible, None),
    ):
        smaller = {path: files[path] for path in files if path in chosen}
        if kept is not None:
            smaller = _keep_paths(smaller, kept)
        if test.holds(smaller):
            return smaller
    return files


def _reduce(
    files: Files, test: FindingTest, units: Iterable[Unit], build: Callable[[Files, Collection[Unit]], Files]
) -> Files:
    """Drop as many units as possible; `build` returns the files without the units that are not kept."""
    units = list(units)

    def holds(kept: list[Unit]) -> bool:
        try:
            return test.holds(build(files, kept))
        except pa.ArrowException:  # the Parquet file cannot be written without the dropped units
            return False

    kept = minimize(units, holds)
    return files if len(kept) == len(units) else build(files, kept)


def _drop_files(files: Files, test: FindingTest) -> Files:
    """Drop files of the log that are not commits, and data files."""
    commits = {path for path in files if isinstance(_parse(path), CommitName)}
    others = sorted(files.keys() - commits, key=lambda path: (not path.startswith(_LOG), path))
    return _reduce(
        files, test, others, lambda all_, kept: {path: all_[path] for path in all_ if path in commits or path in kept}
    )


def _parse(path: str) -> Any:
    """Parse the name of a file in the log; data files are an `OtherFile`."""
    return parse_log_file_name(path.removeprefix(_LOG)) if path.startswith(_LOG) else OtherFile(path)


# versions


def _drop_versions(files: Files, test: FindingTest) -> Files:
    """Drop commits or join them with the preceding one, and number the others without gaps.

    A gap in the log counts as one version.
    """
    versions = sorted({version for path in files for version in _list_versions(_parse(path))})
    gaps = [before + 1 for before, after in pairwise(versions) if after - before > 1]
    files = _reduce(files, test, sorted({*versions, *gaps}), renumber)
    versions = sorted({version for path in files for version in _list_versions(_parse(path))})
    return _reduce(files, test, versions, lambda all_, kept: renumber(all_, kept, joins=True))


def _list_versions(name: Any) -> tuple[int, ...]:
    if isinstance(name, CompactionName):
        return (name.start, name.end)
    return (name.version,) if hasattr(name, "version") else ()


def renumber(files: Files, kept: Collection[int], *, joins: bool = False) -> Files:
    """Return the files with only these versions, numbered from 0.

    Other files of a dropped version move to the preceding one; with `joins` also the actions of its commit.
    """
    slots = sorted(kept)
    result: Files = {}

    def number(version: int) -> int:
        return max(bisect_right(slots, version) - 1, 0)

    for path, data in sorted(files.items(), key=lambda item: item[0]):
        name = _parse(path)
        is_dropped = isinstance(name, CommitName) and name.version not in kept
        if is_dropped and not joins:
            continue
        renamed = _LOG + _rename(path.removeprefix(_LOG), name, number) if path.startswith(_LOG) else path
        content = _renumber_content(data, name, number) if isinstance(data, bytes) else data
        if is_dropped and isinstance(before := result.get(renamed), bytes) and isinstance(content, bytes):
            content = before.rstrip(b"\n") + b"\n" + content
        result[renamed] = content
    return result


def _rename(text: str, name: Any, number: Callable[[int], int]) -> str:
    """Replace the versions in the name of a log file, which are 20 digits each."""
    match name:
        case CompactionName(start, end):
            return f"{number(start):020d}.{number(end):020d}.compacted.json"
        case StagedCommit(version):
            return text.replace(f"{version:020d}", f"{number(version):020d}", 1)
        case (
            CommitName(version)
            | ClassicCheckpoint(version)
            | MultipartCheckpoint(version)
            | UuidCheckpoint(version)
            | ChecksumName(version)
        ):
            return f"{number(version):020d}" + text[20:]
    return text


def _renumber_content(data: bytes, name: Any, number: Callable[[int], int]) -> bytes:
    """Replace the versions that log files contain: in the hint, in JSON checkpoints, and of row commits."""
    if isinstance(name, LastCheckpointName):
        return _edit_lines(data, lambda value: _set_version(value, number))
    if isinstance(name, CommitName | CompactionName) or (isinstance(name, UuidCheckpoint) and name.format == "json"):
        return _edit_lines(data, lambda value: sum(_set_version(each, number) for each in value.values()))
    return data


def _set_version(value: Any, number: Callable[[int], int]) -> bool:
    """Replace versions of the log in a JSON object; return whether there were any. The version of `txn` is not one."""
    if not isinstance(value, dict) or "appId" in value:
        return False
    names = [name for name in ("version", "defaultRowCommitVersion") if type(value.get(name)) is int]
    for name in names:
        value[name] = number(value[name])
    return bool(names)


def _edit_lines(data: bytes, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """Edit each line that is a JSON object. Lines that `edit` returns a false value for keep their bytes."""
    lines = []
    for line in data.split(b"\n"):
        value = parse_object(line)
        lines.append(encode_object(value) if value is not None and edit(value) else line)
    return b"\n".join(lines)


def parse_object(text: bytes | str) -> dict[str, Any] | None:
    """Parse a JSON object without duplicate keys; None if it is anything else."""
    try:
        value = json.loads(text, object_pairs_hook=_require_unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def encode_object(value: Any) -> bytes:
    """Encode a JSON value without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# actions


def _drop_data_paths(files: Files, test: FindingTest) -> Files:
    """Drop every action on a data file, in all files of the log at once, so that checkpoints still equal replay."""
    paths = {path for data in _parse_logs(files).values() for path in data if path is not None}
    return _reduce(files, test, sorted(paths), lambda all_, kept: _keep_paths(all_, {*kept, None}))


def _keep_paths(files: Files, kept: Collection[str | None]) -> Files:
    result = dict(files)
    for name, paths in _parse_logs(files).items():
        chosen = [index for index, path in enumerate(paths) if path in kept]
        if len(chosen) < len(paths):
            result[name] = _keep_rows(files[name], name, chosen)
    return result


def _parse_logs(files: Files) -> dict[str, list[str | None]]:
    """Return the data path of each action, by log file; None for other actions."""
    found: dict[str, list[str | None]] = {}
    for name, data in files.items():
        if not name.startswith(_LOG) or not isinstance(data, bytes):
            continue
        if name.endswith(".json"):
            found[name] = [_find_path(parse_object(line)) for line in data.split(b"\n")]
        elif name.endswith(".parquet") and (table := read_parquet(data)) is not None:
            columns = [each for each in ("add", "remove") if each in table.column_names]
            rows = table.select(columns).to_pylist() if columns else [{}] * table.num_rows
            found[name] = [_find_path(row) for row in rows]
    return found


def _find_path(action: dict[str, Any] | None) -> str | None:
    paths = [each.get("path") for each in (action or {}).values() if isinstance(each, dict)]
    return next((path for path in paths if isinstance(path, str)), None)


def read_parquet(data: bytes) -> pa.Table | None:
    """Read a Parquet file; None if it is damaged."""
    try:
        return pq.ParquetFile(io.BytesIO(data)).read()
    except (pa.ArrowException, OSError, ValueError):
        return None


def write_parquet(table: pa.Table) -> bytes:
    """Encode a small Parquet file, without the schema of Arrow."""
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False)
    return sink.getvalue()


def _keep_rows(data: Any, name: str, rows: list[int]) -> bytes:
    """Return a log file with only some of its lines or rows."""
    if name.endswith(".json"):
        lines = data.split(b"\n")
        return b"\n".join(lines[index] for index in rows)
    table = read_parquet(data)
    assert table is not None
    return write_parquet(table.take(pa.array(rows, pa.int64())))


def _drop_lines(files: Files, test: FindingTest) -> Files:
    """Drop single actions."""
    units = [(name, index) for name, paths in _parse_logs(files).items() for index in range(len(paths))]
    return _reduce(files, test, units, _keep_lines)


def _keep_lines(files: Files, kept: Collection[tuple[str, int]]) -> Files:
    result = dict(files)
    for name, paths in _parse_logs(files).items():
        chosen = [index for index in range(len(paths)) if (name, index) in kept]
        if len(chosen) < len(paths):
            result[name] = _keep_rows(files[name], name, chosen)
    return result


# columns and fields


def _drop_columns(files: Files, test: FindingTest) -> Files:
    """Drop columns of the table from schemas, statistics, partition values and data files."""
    found: dict[str, None] = {}
    for data in _list_commits(files).values():
        for line in data.split(b"\n"):
            metadata = (parse_object(line) or {}).get("metaData")
            schema = parse_object(str(metadata.get("schemaString"))) if isinstance(metadata, dict) else None
            for name in _list_columns(schema):
                found[name] = None
    return _reduce(files, test, found, lambda all_, kept: _without_columns(all_, found.keys() - {*kept}))


def _get_actions(action: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the file actions in a line of the log."""
    return [body for body in map(action.get, ("add", "remove", "cdc")) if isinstance(body, dict)]


def _list_commits(files: Files) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if path.endswith(".json") and isinstance(data, bytes)}


def _list_columns(schema: dict[str, Any] | None) -> list[str]:
    fields = (schema or {}).get("fields")
    names = [each.get("name") for each in fields if isinstance(each, dict)] if isinstance(fields, list) else []
    return [name for name in names if isinstance(name, str)]


def _without_columns(files: Files, dropped: Collection[str]) -> Files:
    """Remove columns from JSON files of the log, and from Parquet files that were read."""
    stored = set(dropped)
    result = dict(files)
    sizes: dict[str, tuple[int, int]] = {}
    for content in _list_commits(files).values():  # collects the physical names
        _edit_lines(content, lambda action: _drop_from_metadata(action, dropped, stored))
    for name, data in files.items():
        if not name.startswith(_LOG) and isinstance(data, bytes) and (table := read_parquet(data)) is not None:
            left = [each for each in table.column_names if each not in stored]
            if 0 < len(left) < len(table.column_names):
                result[name] = smaller = write_parquet(table.select(left))
                sizes[name] = len(data), len(smaller)
    for name, content in _list_commits(files).items():
        result[name] = _edit_lines(content, lambda action: _drop_from_action(action, dropped, stored, sizes))
    return result


def _drop_from_metadata(action: dict[str, Any], dropped: Collection[str], stored: set[str]) -> bool:
    """Remove columns from a `metaData` action, and add their physical names to `stored`."""
    metadata = action.get("metaData")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("schemaString"), str):
        return False
    schema = parse_object(metadata["schemaString"])
    if schema is None or not _list_columns(schema):
        return False
    fields = schema["fields"]
    for each in fields:
        if isinstance(each, dict) and each.get("name") in dropped and isinstance(each.get("metadata"), dict):
            stored.add(str(each["metadata"].get(PHYSICAL_NAME, each["name"])))
    schema["fields"] = [each for each in fields if not isinstance(each, dict) or each.get("name") not in dropped]
    metadata["schemaString"] = encode_object(schema).decode()
    if isinstance(columns := metadata.get("partitionColumns"), list):
        metadata["partitionColumns"] = [each for each in columns if each not in dropped]
    return True


def _drop_from_action(
    action: dict[str, Any], dropped: Collection[str], stored: set[str], sizes: dict[str, tuple[int, int]]
) -> bool:
    """Remove columns from an action, and update the size of a data file that became smaller."""
    changed = _drop_from_metadata(action, dropped, stored)
    for body in _get_actions(action):
        before, after = sizes.get(unquote(str(body.get("path"))), (None, 0))
        if before is not None and body.get("size") == before:
            body["size"], changed = after, True
        stats = parse_object(body["stats"]) if isinstance(body.get("stats"), str) else None
        maps = [body.get("partitionValues"), *map((stats or {}).get, ("minValues", "maxValues", "nullCount"))]
        for each in maps:
            if isinstance(each, dict) and (found := each.keys() & stored):
                changed = True
                for name in found:
                    del each[name]
        if stats is not None and changed:
            body["stats"] = encode_object(stats).decode()
    return changed


def _drop_rows(files: Files, test: FindingTest) -> Files:
    """Drop rows of data files, and update the sizes and row counts that the log has."""
    tables = {
        path: table
        for path, data in files.items()
        if not path.startswith(_LOG) and isinstance(data, bytes) and (table := read_parquet(data)) is not None
    }
    if sum(table.num_rows for table in tables.values()) > _MAX_ROWS:
        return files
    units = [(path, row) for path, table in tables.items() for row in range(table.num_rows)]

    def build(all_: Files, kept: Collection[tuple[str, int]]) -> Files:
        result = dict(all_)
        chosen = set(kept)
        changed: dict[str, tuple[int, int, int]] = {}
        for path, table in tables.items():
            rows = [row for row in range(table.num_rows) if (path, row) in chosen]
            if len(rows) < table.num_rows:
                before, after = all_[path], write_parquet(table.take(pa.array(rows, pa.int64())))
                assert isinstance(before, bytes)
                result[path] = after
                changed[path] = len(before), len(after), len(rows)
        for name, data in _list_commits(all_).items():
            result[name] = _edit_lines(data, lambda action: _update_rows(action, changed))
        return result

    return _reduce(files, test, units, build)


def _update_rows(action: dict[str, Any], changed: dict[str, tuple[int, int, int]]) -> bool:
    """Set size and row count of a data file that has fewer rows. A wrong size stays wrong."""
    found = False
    for body in _get_actions(action):
        known = changed.get(unquote(str(body.get("path"))))
        if known is None:
            continue
        before, after, rows = known
        if body.get("size") == before:
            body["size"], found = after, True
        stats = parse_object(body["stats"]) if isinstance(body.get("stats"), str) else None
        if stats is not None and "numRecords" in stats:
            stats["numRecords"] = rows
            body["stats"], found = encode_object(stats).decode(), True
    return found


def _drop_fields(files: Files, test: FindingTest) -> Files:
    """Drop fields of actions, such as statistics, tags, and entries of the configuration."""
    units = [
        (name, index, path)
        for name, data in _list_commits(files).items()
        for index, line in enumerate(data.split(b"\n"))
        for path in _list_field_paths(parse_object(line) or {})
    ]
    return _reduce(files, test, units[:_MAX_FIELDS], lambda all_, kept: _keep_fields(all_, units[:_MAX_FIELDS], kept))


def _list_field_paths(value: dict[str, Any], above: tuple[str, ...] = ()) -> Iterable[tuple[str, ...]]:
    """Yield the paths of fields below the name of the action, outer fields first."""
    for name, each in value.items():
        if above:
            yield (*above, name)
        if isinstance(each, dict) and len(above) + 1 < _MAX_DEPTH:
            yield from _list_field_paths(each, (*above, name))


_Field = tuple[str, int, tuple[str, ...]]


def _keep_fields(files: Files, units: list[_Field], kept: Collection[_Field]) -> Files:
    result = dict(files)
    dropped: dict[str, dict[int, list[tuple[str, ...]]]] = {}
    for name, index, path in {*units} - {*kept}:
        dropped.setdefault(name, {}).setdefault(index, []).append(path)
    for name, lines in dropped.items():
        content = files[name]
        assert isinstance(content, bytes)
        edited = content.split(b"\n")
        for index, paths in lines.items():
            value = parse_object(edited[index])
            for path in paths:
                _delete(value, path)
            edited[index] = encode_object(value)
        result[name] = b"\n".join(edited)
    return result


def _delete(value: Any, path: tuple[str, ...]) -> None:
    """Delete a nested field; nothing happens if an outer one has been deleted."""
    for name in path[:-1]:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, dict):
        value.pop(path[-1], None)
