"""Strategies of valid tables with data: rows of every type, written, changed and deleted over several commits.

Beside `logs()`, which draws every form a log can have and no data, these are whole tables: sizes, statistics, deletion
vectors, row ids and change data are all true of the files.
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
    """A valid table, what it says version by version, and how its files were written."""

    files: TableFiles
    states: list[TableState]
    versions: list[TableVersion]
    stored: list[StoredFile]
    """Every data file ever added, newest description of each last."""


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
    """Valid tables with data, each with the rows that it holds at every version.

    Args:
        max_commits: most commits after the first, which creates the table.
        features: table features that may be used, of `FEATURES`.
        required: those of `FEATURES` that every table has.
        names: primitive types that columns may have; timestamps without zone and variants only with their features.
        depth: how deep structs, arrays and maps may nest.
        partitioned: whether tables may be partitioned.
        times: physical forms of timestamps, as in `ParquetEncoding`.
        non_conforming: whether statistics may be spelled in ways that only engines know, as in `statistics_styles`.
    """
    # What commits do is drawn before what they do it to, so that columns can shrink away without changing it.
    begins_empty = draw(st.sampled_from((True, False)))
    fewest = draw(st.sampled_from((0, max_commits)))
    plan = draw(st.lists(st.integers(0, len(OPERATIONS) - 1), min_size=fewest, max_size=max_commits))
    spec = draw(
        data_table_specs(features=features, required=required, names=names, depth=depth, partitioned=partitioned)
    )
    counted = bool({"deletionVectors", "rowTracking"} & spec.features)
    spellings = draw(st.lists(parquet_encodings(times=times), min_size=1, max_size=2))
    styles = draw(st.lists(statistics_styles(counted=counted, non_conforming=non_conforming), min_size=1, max_size=2))
    builder = DataTableBuilder(
        draw, spec, spellings, styles, spec.schema, dict(spec.configuration), ColumnIdSequence(spec.last_id)
    )
    builder.actions = [{"protocol": spec.protocol}, builder.metadata_action()]
    if not begins_empty:
        OPERATIONS[0].act(builder)
    _finalize_commit(builder)
    for wanted in plan:
        _next_applicable(builder, wanted).act(builder)
        _finalize_commit(builder)
    _draw_checkpoint(builder)
    return GeneratedTable(builder.files, builder.states, builder.versions, list(builder.stored.values()))


def data_tables(**options: Any) -> st.SearchStrategy[TableFiles]:
    """Valid tables with data. Arguments as `data_tables_with_states`."""
    return data_tables_with_states(**options).map(lambda drawn: drawn.files)


def _next_applicable(builder: DataTableBuilder, wanted: int) -> Operation:
    """The operation of this number; where the table does not allow it, an append if it has no rows, else the next."""
    order = [*OPERATIONS[wanted:], *OPERATIONS[:wanted]]
    if not order[0].applies(builder) and not any(stored.live_indexes for stored in builder.live.values()):
        return OPERATIONS[0]
    return next(each for each in order if each.applies(builder))


def _finalize_commit(builder: DataTableBuilder) -> None:
    """The row-id mark, provenance and the order of lines; then the table's state and rows after the commit."""
    mark = f'{{"rowIdHighWaterMark":{builder.high_water_mark}}}'
    before = builder.state.domains.get(ROW_TRACKING)
    if builder.high_water_mark >= 0 and (before is None or before["configuration"] != mark):
        builder.actions.append(domain_action(ROW_TRACKING, mark))
    if builder.draw(st.booleans()):
        builder.actions.reverse()
    version = builder.version
    said = {"tags": {"delta.rowTracking.preserved": "true"}} if "rowTracking" in builder.features else {}
    builder.files.commits[version] = [commit_info_action(version, **said), *builder.actions]
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
        every = convert_rows(stored, builder.data_schema)
        rows += [_to_logical_row(builder, {**every[index], **stored.partition}) for index in stored.live_indexes]
        ids += [stored.row_ids[index] for index in stored.live_indexes] if stored.row_ids else []
    changes = [(kind, _to_logical_row(builder, row)) for kind, row in builder.changes]
    assert all(list(row) == names for row in rows)
    return TableVersion(builder.schema, rows, ids, changes)


def _to_logical_row(builder: DataTableBuilder, row: dict[str, Any]) -> dict[str, Any]:
    """A row by logical names, in the order of the schema, columns without values among them."""
    held: dict[str, Any] = rename_to_logical(row, drop_void_columns(builder.schema), builder.mapping)
    return {each.name: held.get(each.name) for each in builder.schema.fields}


def _draw_checkpoint(builder: DataTableBuilder) -> None:
    """A classic checkpoint of one version, now and then."""
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
