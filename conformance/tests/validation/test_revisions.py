"""A table is validated against the requested revision: its rules and its features."""

import json
from pathlib import Path

import pytest

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.requirements import REVISIONS
from deltaspec.rules import RULES
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action, write_table
from planted_tables.bases import log_only


def write_and_get_path(files: TableFiles, directory: Path) -> str:
    write_table(files, directory / "table")
    return str(directory / "table")


@pytest.mark.parametrize("revision", REVISIONS)
def test_table_without_features_conforms_to_every_revision(revision: str, tmp_path: Path) -> None:
    report = deltaspec.validate(
        write_and_get_path(log_only.build_checkpointed_table(), tmp_path), level="log", revision=revision
    )
    assert (report.verdict, report.revision, report.refusal) == ("conforms", revision, None)


def test_only_rules_of_the_revision_are_run(tmp_path: Path) -> None:
    report = deltaspec.validate(
        write_and_get_path(log_only.build_table_with_checksum(), tmp_path), level="log", revision="r3"
    )
    defined = {code for code, rule in RULES.items() if "r3" in rule.revisions}
    assert set(report.checked.run) <= defined
    assert report.checked.reasons["CRC003"] == "not defined in revision r3"
    assert "CRC003" in report.checked.skipped


@pytest.mark.parametrize(
    ("revision", "reader", "writer", "requirement", "why"),
    [
        ("r1", ["v2Checkpoint"], [], "table-features.reader-supports-all", "reader features v2Checkpoint"),
        ("r2", ["v2Checkpoint"], [], "table-features.reader-supports-all", "reader features v2Checkpoint"),
        ("r3", ["typeWidening"], [], "table-features.reader-supports-all", "reader features typeWidening"),
        (
            "r1",
            [],
            ["rowTracking", "domainMetadata"],
            "table-features.writer-supports-all",
            "writer features rowTracking",
        ),
        (
            "r2",
            [],
            ["clustering", "domainMetadata"],
            "table-features.writer-supports-all",
            "writer features clustering",
        ),
        ("r3", [], ["inCommitTimestamp"], "table-features.writer-supports-all", "writer features inCommitTimestamp"),
    ],
)
def test_table_with_features_unknown_to_the_revision_is_refused(
    revision: str, reader: list[str], writer: list[str], requirement: str, why: str, tmp_path: Path
) -> None:
    protocol = protocol_action(3, 7, reader, [*reader, *writer])
    report = deltaspec.validate(
        write_and_get_path(log_only.build_table(protocol=protocol), tmp_path), level="rows", revision=revision
    )
    assert report.verdict == "refused"
    assert report.refusal is not None
    assert (report.refusal.requirement, report.refusal.why) == (requirement, why)
    assert {RULES[code].view.name for code in report.checked.run} == {"protocols", "features"}


def test_refused_table_has_no_findings_outside_its_protocol(tmp_path: Path) -> None:
    files = log_only.build_table_with_features("v2Checkpoint")
    del get_action(files, 1, "add")["size"]
    table = write_and_get_path(files, tmp_path)
    assert deltaspec.validate(table, level="log").verdict == "violations"
    report = deltaspec.validate(table, level="log", revision="r2")
    assert (report.verdict, report.findings) == ("refused", [])


def test_refused_table_has_findings_of_its_protocol(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(3, 7, ["v2Checkpoint", "v2Checkpoint"], ["v2Checkpoint"]))
    report = deltaspec.validate(write_and_get_path(files, tmp_path), level="log", revision="r2")
    assert report.verdict == "refused"
    assert set(report.totals) == {"FEA005"}


def test_protocol_without_features_conforms_to_every_revision(tmp_path: Path) -> None:
    table = write_and_get_path(log_only.build_table(protocol=protocol_action(2, 6)), tmp_path)
    assert {deltaspec.validate(table, level="log", revision=each).verdict for each in REVISIONS} == {"conforms"}


def test_unknown_revision_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match="invalid revision 'r4'; choose from r1, r2, r3, current"):
        deltaspec.validate(str(tmp_path), revision="r4")


def test_rules_that_the_revision_does_not_define_cannot_be_selected(tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match="no selected rule applies to revision r1; CRC001 applies to current"):
        deltaspec.validate(write_and_get_path(log_only.build_table(), tmp_path), revision="r1", select=["CRC"])


def test_report_contains_the_refusal(tmp_path: Path) -> None:
    import msgspec

    table = write_and_get_path(log_only.build_table_with_features("v2Checkpoint"), tmp_path)
    report = json.loads(msgspec.json.encode(deltaspec.validate(table, level="log", revision="r1")))
    assert report["refusal"] == {
        "requirement": "table-features.reader-supports-all",
        "why": "reader features v2Checkpoint",
    }
