"""File times of the log, which give the time of commits before in-commit timestamps."""

from typing import Any

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.validation.plan import Plan


def file_time_before(plan: Plan, row: dict[str, Any]) -> int | None:
    """Return the file time of the commit before the one that enables in-commit timestamps, in milliseconds since 1970.

    None for other commits, and if no file of the log is older than the timestamp, because a copied log has later times.

    Args:
        plan: of the run.
        row: row of the view `commits`.
    """
    version, timestamp = row["version"], row["in_commit_timestamp"]
    if timestamp is None or row.get("enablement_version") != version:
        return None
    before = plan.entries.get(commit_name(version - 1))
    if before is None:
        return None
    is_copied = min(entry.modified_ms for entry in plan.entries.values()) >= timestamp
    return None if is_copied else before.modified_ms
