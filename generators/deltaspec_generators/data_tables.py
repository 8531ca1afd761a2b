"""Strategies of valid tables with data: rows of every type, written, changed and deleted over several commits.

Beside `logs()`, which draws every form a log can have and no data, these are whole tables: sizes, statistics, deletion
vectors, row ids and change data are all true of the files.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from deltaspec.model import schema
from deltaspec.model.data_types import Field, Struct
from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import CheckpointFiles, TableFiles, domain_action
from deltaspec_generators.data_files import StoredFile, rows_as_of
from deltaspec_generators.data_operations import OPERATIONS, Operation
from deltaspec_generators.data_outlines import FEATURES, NAMES, DataOutline, data_outlines
from deltaspec_generators.data_schemas import Numbering, renamed, void_less, without
from deltaspec_generators.data_statistics import StatisticsStyle, statistics_styles
from deltaspec_generators.json_lines import compact
from deltaspec_generators.log_state import Body, TableState, after
from deltaspec_generators.parquet_spellings import ParquetSpelling, parquet_spellings, physical

START_MS = 1_700_000_000_000
MODE = "delta.columnMapping.mode"
ROW_TRACKING = "delta.rowTracking"

__all__ = ["DataDraft", "DrawnTable", "TableVersion", "data_tables", "drawn_data_tables"]


@dataclass(frozen=True)
class TableVersion:
    """What a reader gets at one version."""

    schema: Struct
    rows: list[dict[str, Any]]
    """Plain values by logical column name, in no order."""
    row_ids: list[int]
    """Stable id of each row; empty without row tracking."""
    changes: list[tuple[str, dict[str, Any]]]
    """Kind of change and row, for every row that the change data files of this version hold."""


@dataclass(frozen=True)
class DrawnTable:
    """A valid table, what it says version by version, and how its files were written."""

    files: TableFiles
    states: list[TableState]
    versions: list[TableVersion]
    stored: list[StoredFile]
    """Every data file ever added, newest description of each last."""


@dataclass
class DataDraft:
    """A table while it is drawn."""

    draw: st.DrawFn
    outline: DataOutline
    spellings: Sequence[ParquetSpelling]
    styles: Sequence[StatisticsStyle]
    schema: Struct
    """Logical, with column ids where there is column mapping."""
    configuration: dict[str, str]
    numbering: Numbering
    files: TableFiles = field(default_factory=TableFiles)
    state: TableState = field(default_factory=TableState)
    states: list[TableState] = field(default_factory=list)
    versions: list[TableVersion] = field(default_factory=list)
    live: dict[str, StoredFile] = field(default_factory=dict)
    stored: dict[tuple[str, int], StoredFile] = field(default_factory=dict)
    """Every data file ever added, by path and number of deleted rows."""
    actions: list[Body] = field(default_factory=list)
    changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    description: str | None = None
    high_water_mark: int = -1
    numbers: int = 0

    @property
    def version(self) -> int:
        """Of the commit at hand."""
        return self.state.version + 1

    @property
    def timestamp_ms(self) -> int:
        """Of the commit at hand."""
        return START_MS + 60_000 * self.version

    @property
    def features(self) -> frozenset[str]:
        """Supported by the protocol."""
        return self.outline.features

    @property
    def mapping(self) -> str | None:
        """The column mapping mode; None where there is none."""
        mode = self.configuration.get(MODE)
        return mode if mode in ("id", "name") else None

    @property
    def physical_schema(self) -> Struct:
        """Columns that data files or partition values hold, by physical name."""
        found: Struct = physical(void_less(self.schema), self.mapping)
        return found

    @property
    def partition_fields(self) -> list[Field]:
        """Physical partition columns, in the order of `partitionColumns`."""
        named = dict(
            zip([each.name for each in void_less(self.schema).fields], self.physical_schema.fields, strict=True)
        )
        return [named[name] for name in self.outline.partition_columns]

    @property
    def data_schema(self) -> Struct:
        """Physical columns without partition columns."""
        return without(self.physical_schema, [each.name for each in self.partition_fields])

    def on(self, name: str) -> bool:
        """Whether a boolean property is true."""
        return self.configuration.get(name) == "true"

    def next_number(self) -> int:
        """A number not given out before."""
        self.numbers += 1
        return self.numbers

    def spelling(self) -> ParquetSpelling:
        """One of the table's ways to write Parquet."""
        return self.draw(st.sampled_from(self.spellings))

    def style(self) -> StatisticsStyle:
        """One of the table's ways to write statistics."""
        return self.draw(st.sampled_from(self.styles))

    def metadata_action(self) -> Body:
        """The `metaData` action of the commit at hand."""
        if self.mapping:
            self.configuration["delta.columnMapping.maxColumnId"] = str(self.numbering.last)
        body = {
            **self.outline.metadata,
            "schemaString": schema.serialize(self.schema),
            "partitionColumns": list(self.outline.partition_columns),
            "configuration": dict(self.configuration),
        }
        if self.description is not None:
            body["description"] = self.description
        return {"metaData": body}


@st.composite
def drawn_data_tables(
    draw: st.DrawFn,
    *,
    max_commits: int = 4,
    features: Collection[str] = FEATURES,
    required: Collection[str] = (),
    names: Sequence[str] = NAMES,
    depth: int = 2,
    partitioned: bool = True,
    times: Sequence[str] = ("micros", "int96"),
    divergent: bool = False,
) -> DrawnTable:
    """Valid tables with data, each with the rows that it holds at every version.

    Args:
        max_commits: most commits after the first, which creates the table.
        features: table features that may be used, of `FEATURES`.
        required: those of `FEATURES` that every table has.
        names: primitive types that columns may have; timestamps without zone and variants only with their features.
        depth: how deep structs, arrays and maps may nest.
        partitioned: whether tables may be partitioned.
        times: physical forms of timestamps, as in `ParquetSpelling`.
        divergent: whether statistics may be spelled in ways that only engines know, as in `statistics_styles`.
    """
    # What commits do is drawn before what they do it to, so that columns can shrink away without changing it.
    begins_empty = draw(st.sampled_from((True, False)))
    fewest = draw(st.sampled_from((0, max_commits)))
    plan = draw(st.lists(st.integers(0, len(OPERATIONS) - 1), min_size=fewest, max_size=max_commits))
    outline = draw(
        data_outlines(features=features, required=required, names=names, depth=depth, partitioned=partitioned)
    )
    counted = bool({"deletionVectors", "rowTracking"} & outline.features)
    spellings = draw(st.lists(parquet_spellings(times=times), min_size=1, max_size=2))
    styles = draw(st.lists(statistics_styles(counted=counted, divergent=divergent), min_size=1, max_size=2))
    draft = DataDraft(
        draw, outline, spellings, styles, outline.schema, dict(outline.configuration), Numbering(outline.last_id)
    )
    draft.actions = [{"protocol": outline.protocol}, draft.metadata_action()]
    if not begins_empty:
        OPERATIONS[0].act(draft)
    _finish(draft)
    for wanted in plan:
        _next_applicable(draft, wanted).act(draft)
        _finish(draft)
    _checkpoint(draft)
    return DrawnTable(draft.files, draft.states, draft.versions, list(draft.stored.values()))


def data_tables(**options: Any) -> st.SearchStrategy[TableFiles]:
    """Valid tables with data. Arguments as `drawn_data_tables`."""
    return drawn_data_tables(**options).map(lambda drawn: drawn.files)


def _next_applicable(draft: DataDraft, wanted: int) -> Operation:
    """The operation of this number; where the table does not allow it, an append if it has no rows, else the next."""
    order = [*OPERATIONS[wanted:], *OPERATIONS[:wanted]]
    if not order[0].applies(draft) and not any(stored.kept for stored in draft.live.values()):
        return OPERATIONS[0]
    return next(each for each in order if each.applies(draft))


def _finish(draft: DataDraft) -> None:
    """The row-id mark, provenance and the order of lines; then the table's state and rows after the commit."""
    mark = f'{{"rowIdHighWaterMark":{draft.high_water_mark}}}'
    before = draft.state.domains.get(ROW_TRACKING)
    if draft.high_water_mark >= 0 and (before is None or before["configuration"] != mark):
        draft.actions.append(domain_action(ROW_TRACKING, mark))
    if draft.draw(st.booleans()):
        draft.actions.reverse()
    version = draft.version
    said = {"tags": {"delta.rowTracking.preserved": "true"}} if "rowTracking" in draft.features else {}
    draft.files.commits[version] = [commit_info(version, **said), *draft.actions]
    draft.state = after(draft.state, draft.actions, draft.timestamp_ms)
    draft.states.append(draft.state)
    draft.versions.append(_version(draft))
    draft.stored.update({(path, len(each.deleted)): each for path, each in draft.live.items()})
    draft.actions, draft.changes = [], []


def _version(draft: DataDraft) -> TableVersion:
    rows: list[dict[str, Any]] = []
    ids: list[int] = []
    names = [each.name for each in draft.schema.fields]
    for stored in draft.live.values():
        every = rows_as_of(stored, draft.data_schema)
        rows += [logical(draft, {**every[index], **stored.partition}) for index in stored.kept]
        ids += [stored.row_ids[index] for index in stored.kept] if stored.row_ids else []
    changes = [(kind, logical(draft, row)) for kind, row in draft.changes]
    assert all(list(row) == names for row in rows)
    return TableVersion(draft.schema, rows, ids, changes)


def logical(draft: DataDraft, row: dict[str, Any]) -> dict[str, Any]:
    """A row by logical names, in the order of the schema, columns without values among them."""
    held: dict[str, Any] = renamed(row, void_less(draft.schema), draft.mapping)
    return {each.name: held.get(each.name) for each in draft.schema.fields}


def _checkpoint(draft: DataDraft) -> None:
    """A classic checkpoint of one version, now and then."""
    if draft.draw(st.sampled_from((False, False, True))):
        state = draft.states[draft.draw(st.integers(0, len(draft.states) - 1))]
        rows: list[Any] = [{"protocol": state.protocol}, {"metaData": state.metadata}]
        rows += [{"domainMetadata": body} for body in state.domains.values()]
        rows += [{"add": {**body, "dataChange": False}} for body in state.live.values()]
        rows += [{"remove": {**body, "dataChange": False}} for body in state.tombstones.values()]
        draft.files.checkpoints.append(CheckpointFiles(state.version, "classic", rows=rows))
        if draft.draw(st.booleans()):
            hint = {"version": state.version, "size": len(rows)}
            draft.files.last_checkpoint = compact(hint)
