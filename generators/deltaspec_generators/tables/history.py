"""Draw a valid table with data: rows of every type, written, changed and deleted over several commits.

`logs()` draws logs of every form without data files. These tables are complete: sizes, statistics, deletion vectors,
row ids and change data are true of the files.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deltaspec.model.log.file_names import commit_name
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.logs.state import TableState, apply_actions
from deltaspec_generators.table_files import LOG, CheckpointFiles, TableFiles, domain_action
from deltaspec_generators.tables.builder import DataTableBuilder, TableVersion
from deltaspec_generators.tables.choices import Choices
from deltaspec_generators.tables.operations import OPERATIONS, Operation
from deltaspec_generators.tables.parquet_encodings import draw_parquet_encoding
from deltaspec_generators.tables.schema_changes import ColumnIdSequence, rename_to_logical
from deltaspec_generators.tables.statistics import draw_statistics_style
from deltaspec_generators.tables.stored_files import StoredFile, convert_rows
from deltaspec_generators.tables.table_specs import TableOptions, draw_table_spec

ROW_TRACKING = "delta.rowTracking"


@dataclass(frozen=True)
class GeneratedTable:
    """A valid table with its state and rows at each version, and how its files were written."""

    files: TableFiles
    states: list[TableState]
    versions: list[TableVersion]
    stored: list[StoredFile]
    """Every data file ever added; the newest description of a file comes last."""
    history: list[str]
    """One line per operation."""


def draw_generated_table(choices: Choices, options: TableOptions) -> GeneratedTable:
    """Draw a valid table with data and the rows of every version."""
    # Operations are drawn before the schema, so that columns can shrink without changing the operations.
    starts_empty = not choices.chance(1, 2)
    fewest = choices.pick((0, options.max_commits))
    plan = [choices.choose(len(OPERATIONS)) for _ in choices.repeat(fewest, options.max_commits)]
    spec = draw_table_spec(choices, options)
    counted = bool({"deletionVectors", "rowTracking"} & spec.features)
    encodings = [draw_parquet_encoding(choices, times=options.times) for _ in choices.repeat(1, 2)]
    styles = [
        draw_statistics_style(choices, counted=counted, non_conforming=options.non_conforming)
        for _ in choices.repeat(1, 2)
    ]
    builder = DataTableBuilder(
        choices, spec, encodings, styles, spec.schema, dict(spec.configuration), ColumnIdSequence(spec.last_id)
    )
    builder.actions = [{"protocol": spec.protocol}, builder.metadata_action()]
    builder.history.append("0: create the table")
    if not starts_empty:
        _apply(builder, OPERATIONS[0])
    _finalize_commit(builder)
    for index in plan:
        _apply(builder, _next_applicable(builder, index))
        _finalize_commit(builder)
    _draw_checkpoint(builder)
    return GeneratedTable(
        builder.files, builder.states, builder.versions, list(builder.stored.values()), builder.history
    )


def _apply(builder: DataTableBuilder, operation: Operation) -> None:
    builder.history.append(f"{builder.version}: {operation.name.replace('_', ' ')}")
    operation.act(builder)


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
    if builder.choices.chance(1, 2):
        builder.actions.reverse()
    version = builder.version
    builder.files.written_ms[LOG + commit_name(version)] = builder.timestamp_ms
    tags = {"tags": {"delta.rowTracking.preserved": "true"}} if "rowTracking" in builder.features else {}
    builder.files.commits[version] = [commit_info_action(version, **tags), *builder.actions]
    builder.state = apply_actions(builder.state, builder.actions, builder.timestamp_ms)
    builder.states.append(builder.state)
    builder.versions.append(_build_version(builder))
    builder.stored.update({(path, len(each.deleted)): each for path, each in builder.live.items()})
    builder.actions, builder.changes, builder.live_before = [], [], dict(builder.live)


def _build_version(builder: DataTableBuilder) -> TableVersion:
    rows: list[dict[str, Any]] = []
    ids: list[int] = []
    commits: list[int] = []
    for stored in builder.live.values():
        rows += _read_rows(builder, stored, stored.live_indexes)
        if stored.row_ids:
            ids += [stored.row_ids[index] for index in stored.live_indexes]
            commits += [stored.row_commit_versions[index] for index in stored.live_indexes]
    changes = [(kind, _to_logical_row(builder, row)) for kind, row in builder.changes]
    has_change_files = any("cdc" in action for action in builder.actions)
    return TableVersion(builder.schema, rows, ids, changes, commits, _build_implied_changes(builder), has_change_files)


def _read_rows(builder: DataTableBuilder, stored: StoredFile, indexes: Iterable[int]) -> list[dict[str, Any]]:
    """Return rows of a file with the current logical columns."""
    converted = convert_rows(stored, builder.data_schema)
    return [_to_logical_row(builder, {**converted[index], **stored.partition}) for index in indexes]


def _build_implied_changes(builder: DataTableBuilder) -> list[tuple[str, dict[str, Any]]]:
    """Return the changes that follow from the adds and removes of the current commit."""
    changed = {
        kind: {action[kind]["path"] for action in builder.actions if kind in action and action[kind]["dataChange"]}
        for kind in ("add", "remove")
    }
    before = {path: builder.live_before[path] for path in changed["remove"]}
    found: list[tuple[str, dict[str, Any]]] = []
    for path in sorted(changed["add"] | changed["remove"]):
        old = before[path].live_indexes if path in before else []
        new = builder.live[path].live_indexes if path in changed["add"] else []
        if path in before:
            found += [("delete", row) for row in _read_rows(builder, before[path], sorted({*old} - {*new}))]
        if path in changed["add"]:
            found += [("insert", row) for row in _read_rows(builder, builder.live[path], sorted({*new} - {*old}))]
    return found


def _to_logical_row(builder: DataTableBuilder, row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row to logical names in schema order, including columns without values."""
    values: dict[str, Any] = rename_to_logical(row, builder.schema, builder.mapping)
    return values


def _draw_checkpoint(builder: DataTableBuilder) -> None:
    """Draw whether to add a classic checkpoint of one version."""
    if builder.choices.chance(1, 3):
        state = builder.states[builder.choices.choose(len(builder.states))]
        rows: list[Any] = [{"protocol": state.protocol}, {"metaData": state.metadata}]
        rows += [{"domainMetadata": body} for body in state.domains.values()]
        rows += [{"add": {**body, "dataChange": False}} for body in state.live.values()]
        rows += [{"remove": {**body, "dataChange": False}} for body in state.tombstones.values()]
        builder.files.checkpoints.append(CheckpointFiles(state.version, "classic", rows=rows))
        if builder.choices.chance(1, 2):
            hint = {"version": state.version, "size": len(rows)}
            builder.files.last_checkpoint = encode_json(hint)
