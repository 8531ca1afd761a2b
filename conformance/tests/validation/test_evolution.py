"""Protocols, features and append-only tables along a history: what is found, and what is sound."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.table_files import TableFiles, add_action, protocol_action, remove_action, write_table


def write_and_validate(files: TableFiles, place: Path, **options: Any) -> Report:
    write_table(files, place)
    return deltaspec.validate(str(place), level="log", **options)


def configured(files: TableFiles, version: int, configuration: dict[str, str], *more: dict[str, Any]) -> None:
    metadata = {**get_action(files, 0, "metaData"), "configuration": configuration}
    files.commits[version] = [log_only.commit_info_action(version), {"metaData": metadata}, *more]


def test_unused_feature_may_go_unlisted_on_upgrade(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 6))
    files.commits[3] = [log_only.commit_info_action(3), protocol_action(1, 7, None, [])]
    assert write_and_validate(files, tmp_path).totals == {}


def test_listed_feature_need_not_have_been_used(tmp_path: Path) -> None:
    """A client may assume the worst case."""
    files = log_only.build_table(protocol=protocol_action(1, 3))
    files.commits[3] = [
        log_only.commit_info_action(3),
        protocol_action(1, 7, None, ["appendOnly", "invariants", "checkConstraints"]),
    ]
    assert write_and_validate(files, tmp_path).totals == {}


def test_used_feature_is_told_by_name(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 4), configuration={"delta.enableChangeDataFeed": "true"})
    configured(files, 3, {})
    files.commits[4] = [log_only.commit_info_action(4), protocol_action(3, 7, [], ["appendOnly", "invariants"])]
    (finding,) = write_and_validate(files, tmp_path).findings
    assert finding.rule == "EVO001"
    assert finding.version == 4
    assert finding.evidence["unlisted_used_features"] == ["changeDataFeed"]


def test_property_without_its_feature_is_no_use_of_it(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 2), configuration={"delta.enableChangeDataFeed": "true"})
    configured(files, 3, {})
    files.commits[4] = [log_only.commit_info_action(4), protocol_action(1, 7, None, [])]
    assert set(write_and_validate(files, tmp_path, history="all").totals) <= {"CFG002"}


@pytest.mark.parametrize("lifted", [{}, {"delta.appendOnly": "false"}, {"delta.appendOnly": "FALSE"}])
def test_restriction_to_appends_can_be_lifted(tmp_path: Path, lifted: dict[str, str]) -> None:
    files = log_only.build_table(configuration={"delta.appendOnly": "true"}, last_remove=False)
    configured(files, 3, lifted, remove_action(add_action("a.parquet", rows=10)))
    files.commits[4] = [log_only.commit_info_action(4), remove_action(add_action("b.parquet", rows=10))]
    assert write_and_validate(files, tmp_path, history="all").totals == {}


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
def test_spelling_of_timestamps_without_a_zone(tmp_path: Path, revision: str, name: str, expected: list[str]) -> None:
    """E22: r1 and r2 print one spelling, engines wrote the other even then."""
    files = log_only.build_table(protocol=protocol_action(3, 7, [name], [name]))
    assert list(write_and_validate(files, tmp_path, revision=revision).totals) == expected


@pytest.mark.parametrize(("revision", "expected"), [("r2", []), ("r3", []), ("current", ["FEA004"])])
def test_row_tracking_needs_domains_by_the_newest_text(tmp_path: Path, revision: str, expected: list[str]) -> None:
    protocol = protocol_action(1, 7, None, ["rowTracking"])
    files = log_only.build_table(protocol=protocol)
    del files.commits[1], files.commits[2]
    assert list(write_and_validate(files, tmp_path, revision=revision).totals) == expected


def test_unknown_features_of_every_case_are_no_slips(tmp_path: Path) -> None:
    names = ["acme.fastScan", "collations-preview"]
    files = log_only.build_table(protocol=protocol_action(1, 7, None, names))
    assert "FEA006" not in write_and_validate(files, tmp_path).totals
