"""Mutations of in-commit timestamps beside the protocol, the properties and the times of files."""

from hypothesis import strategies as st

from deltaspec.model.log.file_names import commit_name
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.mutations.registry import draw_one, mutation
from deltaspec_generators.table_files import LOG, TableFiles, protocol_action

ENABLED_AT_MS = 1_700_000_000_001
"""In-commit timestamp of version 1 of `bases.timestamped`."""
_HOUR = 3_600_000


def build_table_enabled_by_version_2() -> TableFiles:
    """Four commits; the third enables in-commit timestamps and records it, the first is a day older than that."""
    files = log_only.build_table_with_timestamps(last_remove=False)
    metadata = get_action(files, 0, "metaData")
    recorded = {
        **metadata["configuration"],
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(ENABLED_AT_MS),
    }
    files.commits = {
        0: [log_only.commit_info_action(0), files.commits[0][1], {"metaData": {**metadata, "configuration": {}}}],
        1: [log_only.commit_info_action(1)],
        2: [*files.commits[1], {"metaData": {**metadata, "configuration": recorded}}],
        3: files.commits[2],
    }
    files.written_ms[LOG + commit_name(0)] = ENABLED_AT_MS - 24 * _HOUR
    return files


@mutation("in-commit-timestamp.after-file-time")
def timestamps_begin_before_the_last_file(draw: st.DrawFn) -> TableFiles:
    """The clock of whoever enables them is behind, and the file time is not asked for."""
    files = build_table_enabled_by_version_2()
    before = ENABLED_AT_MS + draw_one(draw, 0, 1, _HOUR)
    files.written_ms.update({LOG + commit_name(version): before + version - 1 for version in (1, 2, 3)})
    return files


@mutation("in-commit-timestamp.feature")
def timestamps_listed_for_an_older_writer(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(1, draw_one(draw, 2, 5, 6), None, ["inCommitTimestamp"]))


@mutation("in-commit-timestamp.enabled")
def timestamps_enabled_by_another_word(draw: st.DrawFn) -> TableFiles:
    value = draw_one(draw, "yes", "1", "", "on")
    return log_only.build_table(
        protocol=protocol_action(1, 7, None, ["inCommitTimestamp"]),
        configuration={"delta.enableInCommitTimestamps": value},
    )
