"""Files that only the log describes. Up to two rows stand for all rows of a new file, and no data file is written."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from deltaspec.protocol.files import paths
from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive
from deltaspec_generators.data_files.statistics import StatisticsStyle, compute_row_statistics
from deltaspec_generators.data_files.stored_files import Row, StoredFile, convert_rows
from deltaspec_generators.schemas.column_features import CONSTANT, COPY, HIGH_WATER_MARK, START, STEP
from deltaspec_generators.table_history.files import CHANGE_DATA
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables.file_writer import (
    build_partition_folder,
    draw_partition,
    draw_partition_texts,
    draw_path,
    draw_rows,
    draw_vector_options,
)
from deltaspec_generators.tables.log_builder import LogBuilder

_ROW_FIELDS = ("baseRowId", "defaultRowCommitVersion")
_SIZES = (700, 9999, 2**40)
_LARGE = (1000, 70_000)
"""Row counts of files that are not small."""


class LoggedFiles:
    """Writer of files that only the log describes."""

    def __init__(self, builder: LogBuilder) -> None:
        self._builder = builder

    def draw_new_file(self) -> None:
        """Add a file of new rows."""
        builder, choices = self._builder, self._builder.choices
        count = choices.pick((0, 0, *_LARGE)) or choices.integer(int("clustering" in builder.features), 9)
        rows = draw_rows(builder, min(count, 2))
        _fill_special_columns(builder, rows, count)
        self._add(rows, count, draw_partition_texts(builder, draw_partition(builder)), data_change=True)

    def draw_deleted_rows(self, stored: StoredFile) -> list[int]:
        """Draw one to three rows."""
        found: list[int] = []
        for _ in self._builder.choices.repeat(1, min(3, stored.live_count - 1)):
            row = self._builder.choices.choose(stored.row_count)
            while row in stored.deleted or row in found:
                row = (row + 1) % stored.row_count
            found.append(row)
        return found

    def delete_rows(self, deleted: Mapping[str, Sequence[int]]) -> None:
        """Remove each file with its old vector, and add it with a larger one; its bounds become wide."""
        builder = self._builder
        files = [builder.live[path] for path in deleted]
        rows = [stored.deleted | {*deleted[stored.add["path"]]} for stored in files]
        vectors = builder.write_vectors(rows, draw_vector_options(builder))
        for stored, all_deleted, vector in zip(files, rows, vectors, strict=True):
            remove_logged_file(builder, stored, data_change=True)
            style = replace(stored.style.for_deleted(), tightness="wide")
            stats = compute_row_statistics(stored.rows, stored.row_count, stored.schema, style)
            changed = {"deletionVector": vector, "dataChange": True, "stats": stats}
            add = {**stored.add, **changed, "modificationTime": builder.timestamp_ms}
            add_again(builder, replace(stored, style=style, deleted=frozenset(all_deleted)), add)

    def merge_files(self, files: Sequence[StoredFile]) -> None:
        """Replace files of one partition by one file with their live rows."""
        builder = self._builder
        rows = [row for stored in files for row in convert_rows(stored, builder.data_schema)]
        count = sum(stored.live_count for stored in files)
        for stored in files:
            remove_logged_file(builder, stored, data_change=False)
        self._add(rows[:count], count, files[0].add["partitionValues"], data_change=False)
        builder.copies_rows = True

    def can_widen_partition(self, data_type: DataType) -> bool:
        """Return whether the texts of narrower values are texts of this type too."""
        return isinstance(data_type, Decimal) or (
            isinstance(data_type, Primitive) and data_type.name in ("short", "integer", "long")
        )

    def _add(self, rows: list[Row], count: int, texts: dict[str, str | None], *, data_change: bool) -> None:
        builder, choices = self._builder, self._builder.choices
        _, path = draw_path(builder, "part", texts)
        style = _draw_style(builder)
        add: Body = {
            "path": path,
            "partitionValues": texts,
            "size": choices.pick(_SIZES),
            "modificationTime": builder.timestamp_ms,
            "dataChange": data_change,
        }
        stats = compute_row_statistics(rows, count, builder.data_schema, style)
        if stats is not None:
            add["stats"] = stats
        if choices.chance(1, 2):
            add["tags"] = choices.pick(({}, {"INSERTION_TIME": "1"}, {"note": None}))
        if builder.tracks_rows:
            assign_row_ids(builder, add, count)
        if builder.clustering and choices.chance(1, 2):
            add["clusteringProvider"] = "liquid"
        builder.live[path] = StoredFile(add, rows, builder.data_schema, style, repeated=count - len(rows))
        builder.actions.append({"add": add})


def _fill_special_columns(builder: LogBuilder, rows: list[Row], count: int) -> None:
    """Fill generated and identity columns of new rows; the last row stands for all others of `count` rows."""
    for each in builder.schema.fields:
        name = column_mapping.physical_name(each, builder.mapping)
        metadata = each.metadata
        if each.name == "id" and builder.spec.positive:
            for row in rows:
                row[name] = max(1, row[name] or 1)
        elif GENERATION_EXPRESSION in metadata:
            source = column_mapping.physical_name(builder.schema.fields[_find_id(builder)], builder.mapping)
            for row in rows:
                row[name] = row[source] if metadata[GENERATION_EXPRESSION] == COPY else CONSTANT.strip("'")
        elif START in metadata and rows:
            first = metadata[START] if HIGH_WATER_MARK not in metadata else metadata[HIGH_WATER_MARK] + metadata[STEP]
            last = first + metadata[STEP] * (count - 1)
            rows[0][name], rows[-1][name] = first, last
            builder.replace_field(each.name, replace(each, metadata={**metadata, HIGH_WATER_MARK: last}))
            builder.moves_identity_marks = True


def _find_id(builder: LogBuilder) -> int:
    return [each.name for each in builder.schema.fields].index("id")


def _draw_style(builder: LogBuilder) -> StatisticsStyle:
    counted = builder.tracks_rows or builder.iceberg_version or "deletionVectors" in builder.features
    contents: tuple[Any, ...] = (
        ("all",) if "clustering" in builder.features else ("rows", "all") if counted else ("rows", "all", "none")
    )
    return StatisticsStyle(
        content=builder.choices.pick(contents),
        tightness=builder.choices.pick(("unsaid", "tight", "unsaid", "wide")),
        string_length=None,
        singles="double",
    )


def assign_row_ids(builder: LogBuilder, add: Body, rows: int) -> None:
    """Assign fresh row ids and the current version as default row commit version to an add."""
    add["baseRowId"] = builder.high_water_mark + 1
    builder.high_water_mark += rows
    if "rowTracking" in builder.features:
        add["defaultRowCommitVersion"] = builder.version


def add_again(builder: LogBuilder, stored: StoredFile, add: Body) -> None:
    """Add a known file again with this body; r1 requires row ids in every add of a table that tracks rows."""
    if builder.tracks_rows and "baseRowId" not in add and builder.revision is Revision.R1:
        stored = count_rows(stored, add)
        assign_row_ids(builder, add, stored.row_count)
    builder.removed.pop(add["path"], None)
    builder.live[add["path"]] = replace(stored, add=add)
    builder.actions.append({"add": add})


def count_rows(stored: StoredFile, add: Body) -> StoredFile:
    """State the number of rows in an add without statistics."""
    if "stats" in add:
        return stored
    style = StatisticsStyle(content="rows")
    add["stats"] = compute_row_statistics(stored.rows, stored.row_count, stored.schema, style)
    return replace(stored, style=style)


def remove_logged_file(builder: LogBuilder, stored: StoredFile, *, data_change: bool) -> None:
    """Remove a live file; most fields are optional."""
    choices, add = builder.choices, stored.add
    body: Body = {"path": add["path"], "dataChange": data_change}
    if not choices.chance(1, 4):
        body["deletionTimestamp"] = builder.timestamp_ms
    if choices.chance(1, 2):
        body["extendedFileMetadata"] = True
        copied = ("partitionValues", "size", "tags", *(("stats",) if builder.revision.since(Revision.R3) else ()))
        body |= {name: add[name] for name in copied if name in add}
    elif choices.chance(1, 2):
        body["extendedFileMetadata"] = False
    body |= {name: add[name] for name in ("deletionVector", *_ROW_FIELDS) if name in add}
    builder.removed[add["path"]] = builder.live.pop(add["path"])
    builder.actions.append({"remove": body})


def draw_change_file(builder: LogBuilder) -> Body:
    """Draw the body of a `cdc` action."""
    texts = draw_partition_texts(builder, draw_partition(builder))
    folder = paths.encode(build_partition_folder(texts))
    body: Body = {
        "path": f"{CHANGE_DATA}{folder}cdc-{builder.next_number():05d}.parquet",
        "partitionValues": texts,
        "size": builder.choices.integer(100, 999),
        "dataChange": False,
    }
    if builder.choices.chance(1, 2):
        body["tags"] = {"kind": "change"}
    return body
