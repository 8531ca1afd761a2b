"""Planted faults of in-commit timestamps against the protocol, the properties and file modification times."""

from hypothesis import strategies as st

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec.protocol.time_units import HOUR_MS
from deltaspec_generators.table_files import LOG, TableFiles, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.in_commit_timestamps import ENABLED_AT_MS, build_table_enabled_by_version_2
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("in-commit-timestamp.after-file-time")
def timestamps_begin_before_the_last_file(draw: st.DrawFn) -> TableFiles:
    """The clock of the enabling writer is behind, and it ignores the file modification time."""
    files = build_table_enabled_by_version_2()
    before = ENABLED_AT_MS + draw_one(draw, 0, 1, HOUR_MS)
    files.written_ms.update({LOG + commit_name(version): before + version - 1 for version in (1, 2, 3)})
    return files


@planted_fault("in-commit-timestamp.feature")
def timestamps_listed_for_an_older_writer(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(1, draw_one(draw, 2, 5, 6), None, ["inCommitTimestamp"]))


@planted_fault("in-commit-timestamp.enabled")
def timestamps_enabled_by_another_word(draw: st.DrawFn) -> TableFiles:
    value = draw_one(draw, "yes", "1", "", "on")
    return log_only.build_table(
        protocol=protocol_action(1, 7, None, ["inCommitTimestamp"]),
        configuration={IN_COMMIT_TIMESTAMPS: value},
    )
