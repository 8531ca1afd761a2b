"""Protocol changes, features and append-only tables across versions: violations, and sound tables."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only


def write_and_validate(files: TableFiles, root: Path, **options: Any) -> Report:
    write_table(files, root)
    return deltaspec.validate(str(root), level="log", **options)


def add_configuration_commit(
    files: TableFiles, version: int, configuration: dict[str, str], *more: dict[str, Any]
) -> None:
    metadata = {**get_action(files, 0, "metaData"), "configuration": configuration}
    files.commits[version] = [commit_info_action(version), {"metaData": metadata}, *more]


def test_upgrade_may_omit_unused_features(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 6))
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, [])]
    assert write_and_validate(files, tmp_path).totals == {}


def test_upgrade_may_list_unused_features(tmp_path: Path) -> None:
    """A client may list every feature that could be in use."""
    files = log_only.build_table(protocol=protocol_action(1, 3))
    files.commits[3] = [
        commit_info_action(3),
        protocol_action(1, 7, None, ["appendOnly", "invariants", "checkConstraints"]),
    ]
    assert write_and_validate(files, tmp_path).totals == {}


def test_finding_names_the_omitted_feature(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 4), configuration={"delta.enableChangeDataFeed": "true"})
    add_configuration_commit(files, 3, {})
    files.commits[4] = [commit_info_action(4), protocol_action(3, 7, [], ["appendOnly", "invariants"])]
    (finding,) = write_and_validate(files, tmp_path).findings
    assert finding.rule == "EVO001"
    assert finding.version == 4
    assert finding.evidence["unlisted_used_features"] == ["changeDataFeed"]


def test_property_does_not_use_an_unsupported_feature(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 2), configuration={"delta.enableChangeDataFeed": "true"})
    add_configuration_commit(files, 3, {})
    files.commits[4] = [commit_info_action(4), protocol_action(1, 7, None, [])]
    assert set(write_and_validate(files, tmp_path, history="all").totals) <= {"CFG002"}


@pytest.mark.parametrize("configuration", [{}, {"delta.appendOnly": "false"}, {"delta.appendOnly": "FALSE"}])
def test_append_only_can_be_disabled(tmp_path: Path, configuration: dict[str, str]) -> None:
    files = log_only.build_table(configuration={"delta.appendOnly": "true"}, last_remove=False)
    add_configuration_commit(files, 3, configuration)
    files.commits[4] = [commit_info_action(4), remove_action(add_action("b.parquet", rows=10))]
    assert write_and_validate(files, tmp_path, history="all").totals == {}


APPEND_ONLY, FREE = {"delta.appendOnly": "true"}, {"delta.appendOnly": "false"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, APPEND_ONLY, {"COM030": 1}),
        (FREE, APPEND_ONLY, {"COM030": 1}),
        (APPEND_ONLY, {}, {"COM030": 1}),
        (APPEND_ONLY, FREE, {"COM030": 1}),
        (APPEND_ONLY, {**APPEND_ONLY, "owner": "me"}, {"COM010": 1}),
        (FREE, {}, {}),
    ],
)
@pytest.mark.parametrize("history", ["all", "latest", "1"])
def test_removal_with_a_change_of_append_only(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], expected: dict[str, int], history: str
) -> None:
    """S33: whether the metadata before or after the commit decides, also directly after a checkpoint."""
    files = log_only.build_checkpointed_table(configuration=before, last_remove=False)
    version = max(files.commits) + 1
    add_configuration_commit(files, version, after, remove_action(add_action("a.parquet", rows=10)))
    assert write_and_validate(files, tmp_path, history=history).totals == expected


def test_removal_with_the_upgrade_that_supports_append_only(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 1), configuration=APPEND_ONLY, last_remove=False)
    removed = remove_action(add_action("a.parquet", rows=10))
    files.commits[3] = [commit_info_action(3), protocol_action(1, 2), removed]
    assert write_and_validate(files, tmp_path, history="all").totals == {"CFG002": 1, "COM030": 1}
    files.commits[4] = [commit_info_action(4), remove_action(add_action("b.parquet", rows=10))]
    assert write_and_validate(files, tmp_path, history="all").totals == {"CFG002": 1, "COM010": 1, "COM030": 1}


@pytest.mark.parametrize(
    ("revision", "name", "expected"),
    [
        ("r1", "timestampNTZ", []),
        ("r2", "timestampNtz", []),
        ("r3", "timestampNTZ", ["FEA006"]),
        ("r3", "timestampNtz", []),
        ("current", "timestampNTZ", ["FEA006"]),
        ("r1", "timestampntz", ["FEA006"]),
    ],
)
def test_name_of_the_timestamp_ntz_feature(tmp_path: Path, revision: str, name: str, expected: list[str]) -> None:
    """E22: r1 and r2 print one name, but engines already wrote the other."""
    files = log_only.build_table(protocol=protocol_action(3, 7, [name], [name]))
    assert list(write_and_validate(files, tmp_path, revision=revision).totals) == expected


@pytest.mark.parametrize(("revision", "expected"), [("r2", []), ("r3", []), ("current", ["FEA004"])])
def test_row_tracking_requires_domain_metadata_only_in_current(
    tmp_path: Path, revision: str, expected: list[str]
) -> None:
    protocol = protocol_action(1, 7, None, ["rowTracking"])
    files = log_only.build_table(protocol=protocol)
    del files.commits[1], files.commits[2]
    assert list(write_and_validate(files, tmp_path, revision=revision).totals) == expected


def test_unknown_feature_names_are_not_misspellings(tmp_path: Path) -> None:
    names = ["acme.fastScan", "collations-preview"]
    files = log_only.build_table(protocol=protocol_action(1, 7, None, names))
    assert "FEA006" not in write_and_validate(files, tmp_path).totals
