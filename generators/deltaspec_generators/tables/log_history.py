"""Draw a valid log without data files: several operations in a commit, any revision, any feature.

Tables with data have one operation in a commit and a fixed form of `commitInfo` (`history`).
"""

from collections.abc import Collection
from typing import Any

import msgspec

from deltaspec.protocol.property_names import CHECKPOINT_PROTECTION, ROWS_PRESERVED_TAG
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.time_units import DAY_MS
from deltaspec_generators.choices import Choices
from deltaspec_generators.layouts import log_directory
from deltaspec_generators.layouts.decorations import decorate_lines
from deltaspec_generators.layouts.staged_commits import draw_staged_commits
from deltaspec_generators.names import build_uuid
from deltaspec_generators.operations.all_operations import list_log_operations
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import Body, WrittenState
from deltaspec_generators.tables.features import CHANGE_FEED, IN_COMMIT_TIMESTAMPS, build_row_id_mark
from deltaspec_generators.tables.log_builder import LogBuilder
from deltaspec_generators.tables.log_files import LoggedFiles, draw_change_file
from deltaspec_generators.tables.log_specs import draw_clustering, draw_log_spec
from deltaspec_generators.tables.table_specs import TableOptions
from deltaspec_generators.values.arrow_values import PRIMITIVES

_ROOTS = ("s3://other/table/", "file:///other/table/")
_GAPS_MS = (60_000, 1, 2 * DAY_MS, 9 * DAY_MS)


class GeneratedLog(msgspec.Struct, frozen=True):
    """A valid table and its state at each version."""

    files: TableFiles
    states: list[WrittenState]
    """State at each version from 0 on, including versions that cleanup made unreadable."""


def draw_log(
    choices: Choices,
    features: Collection[str],
    *,
    max_commits: int = 6,
    decorated: bool = True,
    blank_lines: bool = True,
    revision: Revision = Revision.CURRENT,
) -> GeneratedLog:
    """Draw a valid table of at most `max_commits` commits that uses only these features; see `logs`."""
    options = TableOptions(
        features=features,
        extras=("nested", "paths", "absolute"),
        names=PRIMITIVES,
        timestamp_texts="zoned" if revision is Revision.CURRENT else "spaced",
        root=choices.pick(_ROOTS),
    )
    builder = LogBuilder(choices, options, draw_log_spec(choices, features, revision))
    builder.writer = LoggedFiles(builder)
    for _ in range(choices.integer(1, max_commits)):
        choices.group(lambda: _draw_commit(builder))
    files = builder.files
    protected = int(builder.configuration.get(CHECKPOINT_PROTECTION, "0"))
    log_directory.draw_log_files(builder, files, first_deletable=protected)
    managed = "catalogManaged" in builder.features
    if decorated and choices.chance(1, 2):
        for lines in files.commits.values():
            decorate_lines(choices, lines, blank_lines=blank_lines)
        files.extra.update(log_directory.draw_unknown_files(choices, catalog_managed=managed))
    if managed and choices.chance(1, 2):
        timestamp = max(builder.state.timestamp_ms, builder.in_commit_timestamp_ms + 1)
        files.extra.update(draw_staged_commits(builder, timestamp))
    return GeneratedLog(files, builder.states)


def _draw_commit(builder: LogBuilder) -> None:
    choices = builder.choices
    gap = choices.pick(_GAPS_MS) if builder.version else 0
    builder.now_ms = (builder.state.timestamp_ms or builder.start_ms) + gap
    builder.actions, builder.copies_rows, builder.moves_identity_marks = [], False, False
    if not builder.version:
        builder.actions += [{"protocol": builder.spec.protocol}, builder.metadata_action()]
        builder.actions += [draw_clustering(builder)] if builder.spec.clustered else []
    for _ in range(choices.integer(0, 4)):
        choices.group(lambda: _draw_operation(builder))
    _finalize_commit(builder)


def _draw_operation(builder: LogBuilder) -> None:
    """Draw one operation from a fixed list, so that it stays the same when another operation disappears.

    The first of a commit often changes the metadata, because that is not possible any more after a file was added.
    """
    first = bool(builder.version) and not builder.actions
    operations = list_log_operations(files=not (first and builder.choices.chance(1, 2)))
    index = builder.choices.choose(len(operations))
    chosen = operations[index]
    if not chosen.applies(builder):
        applicable = {each.name for each in dict.fromkeys(operations) if each.applies(builder)}
        others = [each for each in operations if each.name in applicable]
        chosen = others[index % len(others)]
    chosen.act(builder)


def _finalize_commit(builder: LogBuilder) -> None:
    """Add change data, marks and commitInfo, draw the order of actions, and record the state after the commit."""
    choices = builder.choices
    changed = any("remove" in action and action["remove"]["dataChange"] for action in builder.actions)
    if changed and "changeDataFeed" in builder.features and builder.is_enabled(CHANGE_FEED) and choices.chance(1, 2):
        builder.actions.append({"cdc": draw_change_file(builder)})
    if builder.moves_identity_marks:
        builder.actions = [each for each in builder.actions if "metaData" not in each]
        builder.actions.append(builder.metadata_action())
    _record_row_id_mark(builder)
    if choices.chance(1, 2):
        builder.actions = choices.shuffle(builder.actions)
    timestamps = "inCommitTimestamp" in builder.features and builder.is_enabled(IN_COMMIT_TIMESTAMPS)
    if timestamps or not builder.actions or choices.chance(1, 2):
        info = _draw_commit_info(builder)
        if timestamps:
            builder.in_commit_timestamp_ms = builder.next_in_commit_timestamp_ms
            info = {"inCommitTimestamp": builder.in_commit_timestamp_ms, **info}
        builder.actions.insert(0 if timestamps else choices.integer(0, len(builder.actions)), {"commitInfo": info})
    builder.finish_commit(builder.actions, builder.now_ms)


def _record_row_id_mark(builder: LogBuilder) -> None:
    """Record the row id high-water mark if it rose; in r1, in every commit that adds a file."""
    adds = builder.revision is Revision.R1 and "add" in builder.action_kinds
    rises = builder.high_water_mark > builder.state.row_id_mark
    if builder.tracks_rows and (rises or adds):
        keys = ("rowIdHighWaterMark", "highWaterMark") if builder.revision is Revision.R3 else ("rowIdHighWaterMark",)
        key, preserved = builder.choices.pick(keys), _draw_preserved(builder)
        builder.actions.append(build_row_id_mark(builder.revision, builder.high_water_mark, key, preserved))


def _draw_preserved(builder: LogBuilder) -> bool:
    """Draw whether the commit states that copied rows kept their ids; always true without copied rows."""
    return not builder.copies_rows or builder.choices.chance(1, 2)


def _draw_commit_info(builder: LogBuilder) -> Body:
    info: dict[str, Any] = {
        "timestamp": builder.now_ms,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
    }
    if "catalogManaged" in builder.features or builder.choices.chance(1, 2):
        info |= {"engineInfo": "drawn/1.0", "isBlindAppend": False, "txnId": build_uuid(builder.next_number())}
    if "rowTracking" in builder.features:
        info["tags"] = {ROWS_PRESERVED_TAG: str(_draw_preserved(builder)).lower()}
    return info
