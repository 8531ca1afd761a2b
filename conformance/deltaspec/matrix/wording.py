"""Names and sentences that Markdown and HTML share."""

from deltaspec.matrix.model import Change, ChangeKind, EngineRun, Row, RowKind
from deltaspec.protocol.revisions import Revision
from deltaspec.report.text import count

CHANGES: dict[ChangeKind, str] = {
    "new": "fails now",
    "other-failure": "fails in another way",
    "first-asked": "fails, not run before",
    "gone": "fails no longer",
    "not-run": "failed before, not run now",
}
OPERATIONS_NOTE = (
    "An operation is right if it was performed and the table is right, or if the protocol forbids it and it was "
    "refused. *Not asked* are operations that the engine declares, but refuses as unsupported with these "
    "arguments."
)
SECTIONS: tuple[tuple[RowKind, str, str], ...] = (
    ("check", "Questions", "Cases of each check."),
    ("operation", "Operations of writers", OPERATIONS_NOTE),
    (
        "revision",
        "Earlier revisions",
        "Drawn tables of earlier revisions of the protocol; they are part of the rows above, too.",
    ),
    (
        "chapter",
        "Golden cases by chapter",
        "Tables written by hand for one requirement each; they are part of the rows above, too.",
    ),
    (
        "fault",
        "Writers under faults",
        "Trials after which the table was right. A writer that is killed or has no space may lose nothing.",
    ),
)
"""Kind of rows, title and note of each table after the first."""


def describe_change(change: Change) -> str:
    """Describe a change in a few words."""
    return CHANGES[change.change]


def get_row_title(row: Row) -> str:
    """Return the title of a row."""
    match row.kind, row.name:
        case "all", _:
            return "all tables"
        case "feature", "none":
            return "no reader feature"
        case "fault", "none":
            return "no fault"
    return row.name


def describe_run(run: EngineRun) -> str:
    """Describe the arguments of a run in a few words."""
    if run.trials:
        what = f"{count(sum(run.trials.values()), 'trial')} with faults, seed {run.seed}"
    elif run.imported:
        what = f"cases imported from {run.imported}"
    elif run.golden:
        what = "golden cases"
    else:
        histories = "drawn history" if run.tables == 1 else "drawn histories"
        what = f"{run.tables:,} {histories}" if run.suites == ("write",) else count(run.tables, "drawn table")
        what += f" of {run.revision}" if run.revision != Revision.CURRENT else ""
        what += f", seed {run.seed}"
    return what if run.complete else f"{what} (incomplete)"
