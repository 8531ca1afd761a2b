"""Tables whose in-commit timestamps are enabled after their first commit."""

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS_SINCE_TIME, IN_COMMIT_TIMESTAMPS_SINCE_VERSION
from deltaspec.protocol.time_units import HOUR_MS
from deltaspec_generators.table_files import LOG, TableFiles, commit_info_action, get_action
from planted_tables.bases import log_only

ENABLED_AT_MS = 1_700_000_000_001
"""In-commit timestamp of version 1 of `log_only.build_table_with_timestamps()`."""


def build_table_enabled_by_version_2() -> TableFiles:
    """Build four commits; version 2 enables in-commit timestamps, version 0 was written a day earlier."""
    files = log_only.build_table_with_timestamps(last_remove=False)
    metadata = get_action(files, 0, "metaData")
    recorded = {
        **metadata["configuration"],
        IN_COMMIT_TIMESTAMPS_SINCE_VERSION: "2",
        IN_COMMIT_TIMESTAMPS_SINCE_TIME: str(ENABLED_AT_MS),
    }
    files.commits = {
        0: [commit_info_action(0), files.commits[0][1], {"metaData": {**metadata, "configuration": {}}}],
        1: [commit_info_action(1)],
        2: [*files.commits[1], {"metaData": {**metadata, "configuration": recorded}}],
        3: files.commits[2],
    }
    files.written_ms[LOG + commit_name(0)] = ENABLED_AT_MS - 24 * HOUR_MS
    return files
