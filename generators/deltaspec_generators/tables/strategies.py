"""Strategies for valid tables with data: rows of every type, written, changed and deleted over several commits.

`logs()` draws logs of every form without data files. These tables are complete: sizes, statistics, deletion vectors,
row ids and change data are true of the files.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.logs.state import TableState, apply_actions
from deltaspec_generators.table_files import CheckpointFiles, TableFiles, domain_action
from deltaspec_generators.tables.builder import DataTableBuilder, TableVersion
from deltaspec_generators.tables.operations import OPERATIONS, Operation
from deltaspec_generators.tables.parquet_encodings import parquet_encodings
from deltaspec_generators.tables.schemas import ColumnIdSequence, drop_void_columns, rename_to_logical
from deltaspec_generators.tables.statistics import statistics_styles
from deltaspec_generators.tables.stored_files import StoredFile, convert_rows
from deltaspec_generators.tables.table_specs import FEATURES, NAMES, data_table_specs

ROW_TRACKING = "delta.rowTracking"


@dataclass(frozen=True)
class GeneratedTable:
    """A valid table with its state and rows at each version, and how its files were written."""

    files: TableFiles
    states: list[TableState]
    versions: list[TableVersion]
    stored: list[StoredFile]
    """Every data file ever added; the newest description of a file comes last."""


@st.composite
def data_tables_with_states(
    draw: st.DrawFn,
    *,
    max_commits: int = 4,
    features: Collection[str] = FEATURES,
    required: Collection[str] = (),
    names: Sequence[str] = NAMES,
    depth: int = 2,
    partitioned: bool = True,
    times: Sequence[str] = ("micros", "int96"),
    non_conforming: bool = False,
) -> GeneratedTable:
    """Draw valid tables with data and the rows of every version.

    Args:
        max_commits: maximum number of commits after the first, which creates the table.
        features: table features that may be used, a subset of `FEATURES`.
        required: features that every table supports, a subset of `FEATURES`.
        names: primitive types of columns; `timestamp_ntz` and `variant` are used only with their features.
        depth: maximum nesting depth of structs, arrays and maps.
        partitioned: whether tables may be partitioned.
        times: physical types of timestamps, as in `ParquetEncoding`.
        non_conforming: whether to include statistics styles that the protocol forbids, as in `statistics_styles`.
    """
    # Operations are drawn before the schema, so that columns can shrink without changing the operations.
    starts_empty = draw(st.sampled_from((True, False)))
    min_operations = draw(st.sampled_from((0, max_commits)))
    plan = draw(st.lists(st.integers(0, len(OPERATIONS) - 1), min_size=min_operations, max_size=max_commits))
    spec = draw(
        data_table_specs(features=features, required=required, names=names, depth=depth, partitioned=partitioned)
    )
    counted = bool({"deletionVectors", "rowTracking"} & spec.features)
    encodings = draw(st.lists(parquet_encodings(times=times), min_size=1, max_size=2))
    styles = draw(st.lists(statistics_styles(counted=counted, non_conforming=non_conforming), min_size=1, max_size=2))
    builder = DataTableBuilder(
        draw, spec, encodings, styles, spec.schema, dict(spec.configuration), ColumnIdSequence(spec.last_id)
    )
    builder.actions = [{"protocol": spec.protocol}, builder.metadata_action()]
    if not starts_empty:
        OPERATIONS[0].act(builder)
    _finalize_commit(builder)
    for index in plan:
        _next_applicable(builder, index).act(builder)
        _finalize_commit(builder)
    _draw_checkpoint(builder)
    return GeneratedTable(builder.files, builder.states, builder.versions, list(builder.stored.values()))


def data_tables(**options: Any) -> st.SearchStrategy[TableFiles]:
    """Draw valid tables with data; arguments as in `data_tables_with_states`."""
    return data_tables_with_states(**options).map(lambda drawn: drawn.files)


def _next_applicable(builder: DataTableBuilder, index: int) -> Operation:
    """Return the operation with this number, or an append to an empty table, or the next that applies."""
    order = [*OPERATIONS[index:], *OPERATIONS[:index]]
    if not order[0].applies(builder) and not any(stored.live_indexes for stored in builder.live.values()):
        return OPERATIONS[0]
    return next(each for each in order if each.applies(builder))


def _finalize_commit(builder: DataTableBuilder) -> None:
    """Add row id mark and commitInfo, draw the order of actions, and record state and rows after the commit."""
    mark = f'{{"rowIdHighWaterMark":{builder.high_water_mark}}}'
    before = builder.state.domains.get(ROW_TRACKING)
    if builder.high_water_mark >= 0 and (before is None or before["configuration"] != mark):
        builder.actions.append(domain_action(ROW_TRACKING, mark))
    if builder.draw(st.booleans()):
        builder.actions.reverse()
    version = builder.version
    tags = {"tags": {"delta.rowTracking.preserved": "true"}} if "rowTracking" in builder.features else {}
    builder.files.commits[version] = [commit_info_action(version, **tags), *builder.actions]
    builder.state = apply_actions(builder.state, builder.actions, builder.timestamp_ms)
    builder.states.append(builder.state)
    builder.versions.append(_build_version(builder))
    builder.stored.update({(path, len(each.deleted)): each for path, each in builder.live.items()})
    builder.actions, builder.changes = [], []


def _build_version(builder: DataTableBuilder) -> TableVersion:
    rows: list[dict[str, Any]] = []
    ids: list[int] = []
    names = [each.name for each in builder.schema.fields]
    for stored in builder.live.values():
        converted = convert_rows(stored, builder.data_schema)
        rows += [_to_logical_row(builder, {**converted[index], **stored.partition}) for index in stored.live_indexes]
        ids += [stored.row_ids[index] for index in stored.live_indexes] if stored.row_ids else []
    changes = [(kind, _to_logical_row(builder, row)) for kind, row in builder.changes]
    assert all(list(row) == names for row in rows)
    return TableVersion(builder.schema, rows, ids, changes)


def _to_logical_row(builder: DataTableBuilder, row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row to logical names in schema order, including columns without values."""
    values: dict[str, Any] = rename_to_logical(row, drop_void_columns(builder.schema), builder.mapping)
    return {each.name: values.get(each.name) for each in builder.schema.fields}


def _draw_checkpoint(builder: DataTableBuilder) -> None:
    """Draw whether to add a classic checkpoint of one version."""
    if builder.draw(st.sampled_from((False, False, True))):
        state = builder.states[builder.draw(st.integers(0, len(builder.states) - 1))]
        rows: list[Any] = [{"protocol": state.protocol}, {"metaData": state.metadata}]
        rows += [{"domainMetadata": body} for body in state.domains.values()]
        rows += [{"add": {**body, "dataChange": False}} for body in state.live.values()]
        rows += [{"remove": {**body, "dataChange": False}} for body in state.tombstones.values()]
        builder.files.checkpoints.append(CheckpointFiles(state.version, "classic", rows=rows))
        if builder.draw(st.booleans()):
            hint = {"version": state.version, "size": len(rows)}
            builder.files.last_checkpoint = encode_json(hint)
