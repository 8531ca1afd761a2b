"""What the listing of a log says of the time before in-commit timestamps."""

from typing import Any

from deltaspec.model.log.file_names import commit_name
from deltaspec.validation.plan import Plan


def file_time_before(plan: Plan, row: dict[str, Any]) -> int | None:
    """File time of the commit before the one that enables in-commit timestamps, in milliseconds since the epoch.

    None for other commits, and where no file of the log is older than the timestamp: a copy of a log has later times.

    Args:
        plan: of the run.
        row: of the view `commits`.
    """
    version, now = row["version"], row["in_commit_timestamp"]
    before = plan.entries.get(commit_name(version - 1))
    if before is None or now is None or row.get("enablement_version") != version:
        return None
    copied = min(entry.modified_ms for entry in plan.entries.values()) >= now
    return None if copied else before.modified_ms
