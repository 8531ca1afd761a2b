"""Write tables that grow in one direction: versions, files, columns, metaData actions, expressions, deletion vectors.

Each function returns a writer of a log with a given number of these. Twice the number must take about twice the time.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

_FIRST_MS = 1_700_000_000_000
_TYPES = ("long", "string", "double", "date")
_INFO = {"timestamp": _FIRST_MS, "operation": "WRITE", "engineInfo": "deltaspec-bench"}
_VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg0rr91",
    "sizeInBytes": 34,
    "cardinality": 1,
}
_LEGACY = {"minReaderVersion": 1, "minWriterVersion": 4}
Write = Callable[[Path], None]


def write_metadata_actions(count: int, columns: int) -> Write:
    """Write versions that each have a metaData action with the same schema and another property."""

    def write(log: Path) -> None:
        fields = _build_fields(columns)
        for version in range(count):
            head = [{"protocol": _LEGACY}] if version == 0 else []
            _write_commit(log, version, [*head, _build_metadata(fields, {"note": str(version)})])

    return write


def write_added_columns(count: int) -> Write:
    """Write versions that each add a column to the schema."""

    def write(log: Path) -> None:
        for version in range(count):
            head = [{"protocol": _LEGACY}] if version == 0 else []
            _write_commit(log, version, [*head, _build_metadata(_build_fields(version + 1))])

    return write


def write_columns(count: int) -> Write:
    """Write 1,000 adds with statistics of many columns."""

    def write(log: Path) -> None:
        fields = _build_fields(count)
        _write_commit(log, 0, [{"protocol": _LEGACY}, _build_metadata(fields)])
        for version in range(1, 11):
            _write_commit(log, version, (_build_add(version * 100 + each, fields) for each in range(100)))

    return write


def write_clustering_columns(count: int) -> Write:
    """Write one version that clusters a table by all of its columns."""

    def write(log: Path) -> None:
        features = ["clustering", "domainMetadata"]
        protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
        fields = _build_fields(count)
        domain = {
            "domain": "delta.clustering",
            "configuration": json.dumps({"clusteringColumns": [[each["name"]] for each in fields]}),
            "removed": False,
        }
        _write_commit(log, 0, [{"protocol": protocol}, _build_metadata(fields), {"domainMetadata": domain}])

    return write


def write_expressions(count: int, columns: int) -> Write:
    """Write one version with CHECK constraints."""

    def write(log: Path) -> None:
        names = [each["name"] for each in _build_fields(columns)]
        settings = {f"delta.constraints.c{each}": f"{names[each % columns]} IS NOT NULL" for each in range(count)}
        _write_commit(log, 0, [{"protocol": _LEGACY}, _build_metadata(_build_fields(columns), settings)])

    return write


def write_files(count: int, *, with_vectors: bool) -> Write:
    """Write versions of sparse files in a table with deletion vectors, each with an inline vector or none with one."""

    def write(log: Path) -> None:
        names = ["deletionVectors"]
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
        fields = _build_fields(1)
        settings = {"delta.enableDeletionVectors": "true"}
        more = {"deletionVector": _VECTOR} if with_vectors else {}
        _write_commit(log, 0, [{"protocol": protocol}, _build_metadata(fields, settings)])
        for version in range(1, 11):
            numbers = range((version - 1) * count // 10, version * count // 10)
            files = (_build_file(log, each, fields, more) for each in numbers)
            _write_commit(log, version, files)

    return write


def write_missing_files(count: int) -> Write:
    """Write versions of files that do not exist."""

    def write(log: Path) -> None:
        fields = _build_fields(4)
        _write_commit(log, 0, [{"protocol": _LEGACY}, _build_metadata(fields)])
        for version in range(1, 11):
            numbers = range((version - 1) * count // 10, version * count // 10)
            _write_commit(log, version, (_build_add(each, fields) for each in numbers))

    return write


def _build_fields(count: int) -> list[dict[str, Any]]:
    return [
        {"name": f"c{each}", "type": _TYPES[each % len(_TYPES)], "nullable": True, "metadata": {}}
        for each in range(count)
    ]


def _build_metadata(fields: list[dict[str, Any]], configuration: dict[str, str] | None = None) -> dict[str, Any]:
    action = {
        "id": str(UUID(int=7, version=4)),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}, separators=(",", ":")),
        "partitionColumns": [],
        "configuration": configuration or {},
        "createdTime": _FIRST_MS,
    }
    return {"metaData": action}


_BOUNDS = {"long": (1, 9), "string": ("a", "b"), "double": (0.5, 1.5), "date": ("2024-01-01", "2024-02-01")}


def _build_add(number: int, fields: list[dict[str, Any]], more: dict[str, Any] | None = None) -> dict[str, Any]:
    lower, upper = ({each["name"]: _BOUNDS[each["type"]][side] for each in fields} for side in (0, 1))
    counts = {each["name"]: 0 for each in fields}
    stats = {"numRecords": 10, "minValues": lower, "maxValues": upper, "nullCount": counts}
    if more:
        stats["tightBounds"] = False
    return {
        "add": {
            "path": f"part-{number:08}.snappy.parquet",
            "partitionValues": {},
            "size": 1000,
            "modificationTime": _FIRST_MS,
            "dataChange": True,
            "stats": json.dumps(stats, separators=(",", ":")),
            **(more or {}),
        }
    }


def _build_file(log: Path, number: int, fields: list[dict[str, Any]], more: dict[str, Any]) -> dict[str, Any]:
    """Build the action of a data file, and write a sparse file of its size."""
    action = _build_add(number, fields, more)
    with (log.parent / action["add"]["path"]).open("wb") as file:
        file.truncate(action["add"]["size"])
    return action


def _write_commit(log: Path, version: int, actions: Iterable[dict[str, Any]]) -> None:
    lines: Iterator[str] = (
        json.dumps(each, separators=(",", ":")) + "\n" for each in ({"commitInfo": _INFO}, *actions)
    )
    (log / f"{version:020d}.json").write_text("".join(lines), encoding="utf-8")
