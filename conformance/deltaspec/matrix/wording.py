"""Names and sentences that Markdown and HTML share."""

from deltaspec.matrix.model import Change, ChangeKind, EngineRun, Row
from deltaspec.report.text import count

CHANGES: dict[ChangeKind, str] = {
    "new": "fails now",
    "other-failure": "fails in another way",
    "first-asked": "fails, not run before",
    "gone": "fails no longer",
    "not-run": "failed before, not run now",
}


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
        what += f", seed {run.seed}"
    return what if run.complete else f"{what} (incomplete)"
