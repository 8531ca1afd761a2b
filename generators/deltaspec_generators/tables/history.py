"""Draw a valid table with data: rows of every type, written, changed and deleted over several commits.

`logs()` draws logs of every form without data files. These tables are complete: sizes, statistics, deletion vectors,
row ids and change data are true of the files.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import ROWS_PRESERVED_TAG
from deltaspec.protocol.schema import column_mapping
from deltaspec_generators.choices import Choices
from deltaspec_generators.data_files.parquet_encodings import draw_parquet_encoding
from deltaspec_generators.data_files.statistics import draw_statistics_style
from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.layouts.log_directory import draw_dangling_hint
from deltaspec_generators.layouts.table_layout import draw_last_checkpoint, draw_layout
from deltaspec_generators.operations.all_operations import list_operations
from deltaspec_generators.operations.registry import Operation
from deltaspec_generators.table_files import LOG, TableFiles, commit_info_action
from deltaspec_generators.table_state import Body, WrittenState
from deltaspec_generators.tables import endings
from deltaspec_generators.tables.builder import DataTableBuilder
from deltaspec_generators.tables.features import (
    CLUSTERING,
    IN_COMMIT_TIMESTAMPS,
    build_domain,
    build_row_id_mark,
)
from deltaspec_generators.tables.file_writer import DataFiles
from deltaspec_generators.tables.readable import ExpectedVersion
from deltaspec_generators.tables.table_specs import TableOptions, draw_table_spec

_COMMITS_PER_STOP = 8
"""Every such choice whether to write one more commit ends the table."""


class GeneratedTable(msgspec.Struct, frozen=True):
    """A valid table with its state and rows at each version, and how its files were written."""

    files: TableFiles
    states: list[WrittenState]
    versions: list[ExpectedVersion]
    stored: list[StoredFile]
    """Every data file ever added; the newest description of a file comes last."""
    history: list[str]
    """One line per operation."""
    reached: set[str]
    """Names of `dimensions` that the table exercises."""


def draw_generated_table(choices: Choices, options: TableOptions) -> GeneratedTable:
    """Draw a valid table with data and the rows of every version."""
    operations = list_operations(options.extras, options.focus)
    # Operations are drawn before the schema, so that columns can shrink without changing the operations.
    starts_empty = not choices.chance(2, 3)
    plan: list[int] = []
    while len(plan) < options.max_commits and choices.choose(_COMMITS_PER_STOP):
        with choices.span(f"operation {len(plan)}", before=1):
            plan.append(choices.choose(len(operations)))
    spec = draw_table_spec(choices, options)
    counted = bool({"deletionVectors", "rowTracking"} & spec.features)
    encodings = [
        draw_parquet_encoding(choices, times=options.times, rare=options.rare_encodings) for _ in choices.repeat(1, 2)
    ]
    styles = [
        draw_statistics_style(
            choices,
            counted=counted,
            bounded="clustering" in spec.features,
            exact="typeWidening" in spec.features,
            non_conforming=options.non_conforming,
        )
        for _ in choices.repeat(1, 2)
    ]
    builder = DataTableBuilder(choices, options, spec, encodings=encodings, styles=styles)
    builder.writer = DataFiles(builder)
    builder.actions = [{"protocol": spec.protocol}, builder.metadata_action()]
    builder.history.append("0: create the table")
    if "clustering" in spec.features:
        builder.actions.append(_build_clustering_action(builder))
    if not starts_empty:
        _apply(builder, operations[0])
    _finalize_commit(builder)
    for number, index in enumerate(plan):
        with choices.span(f"operation {number}"):
            _apply(builder, _next_applicable(builder, operations, index))
            _finalize_commit(builder)
    with choices.span():
        draw_layout(builder)
    if options.endings:
        with choices.span():
            _draw_endings(builder)
    return GeneratedTable(
        builder.files,
        builder.states,
        builder.versions,
        list(builder.stored.values()),
        builder.history,
        builder.reached,
    )


def _draw_endings(builder: DataTableBuilder) -> None:
    """Draw the last commits, a checkpoint of the last of them, and the hint; see `endings`."""
    laid_out = builder.version
    if builder.choices.chance(1, 3):
        _end(builder, "append values that are equal to others", endings.draw_equal_values)
    if endings.can_remove(builder) and builder.choices.chance(1, 6):
        _end(builder, "remove a file in a transaction", endings.draw_removal_in_transaction)
    if builder.version > laid_out:
        draw_last_checkpoint(builder)
    draw_dangling_hint(builder.choices, builder.files)


def _end(builder: DataTableBuilder, what: str, act: Callable[[DataTableBuilder], None]) -> None:
    builder.history.append(f"{builder.version}: {what}")
    act(builder)
    _finalize_commit(builder)


def _apply(builder: DataTableBuilder, operation: Operation) -> None:
    builder.history.append(f"{builder.version}: {operation.name.replace('_', ' ')}")
    builder.record(f"operation:{operation.name.replace('_', '-')}")
    operation.act(builder)


def _next_applicable(builder: DataTableBuilder, operations: list[Operation], index: int) -> Operation:
    """Return the operation with this number, or another that applies; to an empty table, an append more often."""
    if operations[index].applies(builder):
        return operations[index]
    applicable = [each for each in dict.fromkeys(operations) if each.applies(builder)]
    return applicable[index % len(applicable) if builder.has_rows else 0]


def _finalize_commit(builder: DataTableBuilder) -> None:
    """Add row id mark and commitInfo, draw the order of actions, and record state and rows after the commit."""
    if builder.high_water_mark > builder.state.row_id_mark:
        builder.actions.append(build_row_id_mark(builder.revision, builder.high_water_mark))
    if builder.choices.chance(1, 2):
        builder.actions.reverse()
    version = builder.version
    timestamp = builder.timestamp_ms
    written = timestamp
    info: dict[str, Any] = {}
    if builder.is_enabled(IN_COMMIT_TIMESTAMPS):
        # The table was copied later, so modification times of these commits are misleading.
        written, info = builder.start_ms + 10**9 - timestamp % 10**6, {"inCommitTimestamp": timestamp}
    builder.files.written_ms[LOG + commit_name(version)] = written
    tags = {"tags": {ROWS_PRESERVED_TAG: "true"}} if "rowTracking" in builder.features else {}
    commit_info = commit_info_action(version, **tags, **info)
    builder.finish_commit([commit_info, *builder.actions], timestamp)
    builder.live_by_version.append(dict(builder.live))
    builder.stored.update({(path, each.deleted): each for path, each in builder.live.items()})
    builder.describe_commit()


def _build_clustering_action(builder: DataTableBuilder) -> Body:
    """Build the domain that makes `id` the clustering column."""
    field = next(each for each in builder.schema.fields if each.name == "id")
    columns = [[column_mapping.physical_name(field, builder.mapping)]]
    configuration = {"clusteringColumns": columns, "domainName": CLUSTERING}
    return {"domainMetadata": build_domain(builder.revision, CLUSTERING, configuration)}
