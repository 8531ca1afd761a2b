"""Draw how the log of a table is laid out: checkpoints, compactions, checksums, cleanup, ignored content."""

from typing import Any

from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.layouts import log_directory
from deltaspec_generators.layouts.decorations import decorate_lines
from deltaspec_generators.table_files import CheckpointFiles
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.tables.builder import DataTableBuilder


def draw_layout(builder: DataTableBuilder) -> None:
    """Draw the other files of the log."""
    extras, choices, files = builder.options.extras, builder.choices, builder.files
    if "layout" in extras:
        log_directory.draw_log_files(builder, files, cleanup="cleanup" in extras)
    else:
        _draw_checkpoint(builder)
    if "unknown" in extras:
        for lines in files.commits.values():
            decorate_lines(choices, lines, blank_lines=False)
        files.extra.update(log_directory.draw_unknown_files(choices))


def _draw_checkpoint(builder: DataTableBuilder) -> None:
    """Draw whether to add a classic checkpoint of one version."""
    if builder.choices.chance(1, 3):
        state = builder.states[builder.choices.choose(len(builder.states))]
        rows = _build_rows(state)
        builder.files.checkpoints.append(CheckpointFiles(state.version, "classic", rows=rows))
        if builder.choices.chance(1, 2):
            hint = {"version": state.version, "size": len(rows)}
            builder.files.last_checkpoint = encode_json(hint)


def _build_rows(state: WrittenState) -> list[Any]:
    rows: list[Any] = log_directory.build_table_rows(state)
    rows += [{"add": {**body, "dataChange": False}} for body in state.live.values()]
    return rows + [{"remove": {**body, "dataChange": False}} for body in state.tombstones.values()]


def draw_last_checkpoint(builder: DataTableBuilder) -> None:
    """Draw whether to add a checkpoint of the newest version, which has none yet."""
    if builder.choices.chance(1, 3):
        state = builder.state
        has_layout = "layout" in builder.options.extras
        classic = CheckpointFiles(state.version, "classic", rows=_build_rows(state))
        found = log_directory.draw_checkpoint(builder, state) if has_layout else classic
        builder.files.checkpoints.append(found)
