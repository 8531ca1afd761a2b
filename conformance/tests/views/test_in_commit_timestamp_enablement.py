"""Enablement of in-commit timestamps: the enabling commit, and what the properties record."""

from typing import Any

from helpers.recording_run import RecordingRun

from deltaspec_generators.table_files import TableFiles, commit_info_action, metadata_action, protocol_action
from planted_tables.bases import log_only

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
    """Build a table with one version per configuration (None: no metaData); every commit has a timestamp."""
    files = TableFiles()
    for version, configuration in enumerate(configurations):
        files.commits[version] = [commit_info_action(version, inCommitTimestamp=1_700_000_000_000 + version)]
        if version == 0:
            files.commits[0].append(protocol_action(1, 7, None, features))
        if configuration is not None:
            files.commits[version].append(metadata_action(log_only.FIELDS, configuration=configuration))
    return files


def _enablement_rows(files: TableFiles) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in _NAMES) for row in RecordingRun(files).recorded.rows("commits")]


def test_timestamps_enabled_in_version_0_have_no_enablement_version() -> None:
    assert _enablement_rows(_table(ON, None, ON)) == [NOTHING] * 3


def test_enablement_version_is_reported_in_later_metadata_and_protocol_commits() -> None:
    enablement = (1, 1_700_000_000_001)
    assert _enablement_rows(_table({}, ON | RECORDED, None, ON)) == [
        NOTHING,
        (*enablement, *enablement),
        (None, None, *enablement),  # the commit has no metaData or protocol
        (*enablement, None, None),
    ]


def test_second_enablement_replaces_the_first() -> None:
    recorded = _enablement_rows(_table({}, ON, {}, ON))
    assert [row[0] for row in recorded] == [None, 1, None, 3]


def test_record_that_is_not_a_number_is_null() -> None:
    invalid = {
        "delta.inCommitTimestampEnablementVersion": "one",
        "delta.inCommitTimestampEnablementTimestamp": "9" * 19,
    }
    assert _enablement_rows(_table({}, ON | invalid))[1] == (1, 1_700_000_000_001, None, None)


def test_preview_feature_has_no_enablement_version() -> None:
    files = _table(ON, None, features=("inCommitTimestamp-preview",))
    files.commits[1].append(protocol_action(1, 7, None, ["inCommitTimestamp-preview", "inCommitTimestamp"]))
    assert _enablement_rows(files) == [NOTHING, NOTHING]
