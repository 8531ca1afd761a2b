"""Which commit enabled in-commit timestamps, and what the properties record of it."""

from typing import Any

from helpers.recording_run import RecordingRun

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action

ON = {"delta.enableInCommitTimestamps": "true"}
RECORDED = {
    "delta.inCommitTimestampEnablementVersion": "1",
    "delta.inCommitTimestampEnablementTimestamp": "1700000000001",
}
NOTHING = (None, None, None, None)
_NAMES = (
    *("enablement_version", "enablement_timestamp"),
    *("recorded_enablement_version", "recorded_enablement_timestamp"),
)


def _table(*configurations: dict[str, str] | None, features: tuple[str, ...] = ("inCommitTimestamp",)) -> TableFiles:
    """A version for each configuration that is set in it, or None; every commit has an in-commit timestamp."""
    files = TableFiles()
    for version, configuration in enumerate(configurations):
        files.commits[version] = [commit_info_action(version, inCommitTimestamp=1_700_000_000_000 + version)]
        if version == 0:
            files.commits[0].append(protocol_action(1, 7, None, features))
        if configuration is not None:
            files.commits[version].append(metadata_action(log_only.FIELDS, configuration=configuration))
    return files


def _seen(files: TableFiles) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in _NAMES) for row in RecordingRun(files).recorded.rows("commits")]


def test_table_that_begins_with_them_has_no_enabling_version() -> None:
    assert _seen(_table(ON, None, ON)) == [NOTHING] * 3


def test_enabling_commit_is_told_wherever_metadata_or_protocol_may_forget_it() -> None:
    told = (1, 1_700_000_000_001)
    assert _seen(_table({}, ON | RECORDED, None, ON)) == [
        NOTHING,
        (*told, *told),
        (None, None, *told),  # nothing can have changed
        (*told, None, None),
    ]


def test_enabled_a_second_time_counts_anew() -> None:
    recorded = _seen(_table({}, ON, {}, ON))
    assert [row[0] for row in recorded] == [None, 1, None, 3]


def test_record_that_is_no_number_is_none() -> None:
    odd = {"delta.inCommitTimestampEnablementVersion": "one", "delta.inCommitTimestampEnablementTimestamp": "9" * 19}
    assert _seen(_table({}, ON | odd))[1] == (1, 1_700_000_000_001, None, None)


def test_a_preview_may_have_written_timestamps_before() -> None:
    files = _table(ON, None, features=("inCommitTimestamp-preview",))
    files.commits[1].append(protocol_action(1, 7, None, ["inCommitTimestamp-preview", "inCommitTimestamp"]))
    assert _seen(files) == [NOTHING, NOTHING]
