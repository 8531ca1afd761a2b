"""Accepting every finding of a table ends with exit code 0, and lists what the findings leave unchecked."""

import os
from pathlib import Path

import pytest
from helpers.drawn_tables import draw_table

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.table_files import write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS

ALL = "DELTASPEC_ALL_PLANTED_TABLES"
"""If set, all planted tables are validated at both levels, which takes minutes."""
SAMPLE = (
    *("malformed_metadata", "malformed_protocol", "schema_that_is_no_text", "feature_list_of_another_type"),
    *("system_domain_malformed", "option_of_metadata_of_another_type", "malformed_add", "checkpoint_damaged"),
    *("sidecar_outside_its_folder", "constraint_of_no_condition", "version_of_two_bytes", "change_type_as_a_number"),
    *("property_in_another_case", "generates_a_variant", "partition_column_unknown"),
    *("format_of_another_kind", "half_a_pair_escaped", "stored_ids_that_are_texts"),
    *("path_out_of_table", "column_stored_twice", "newest_feature_misspelt", "published_before_the_one_before"),
)


def validate(table: Path, level: str, before: Report | None = None) -> Report:
    """Validate a table; with an earlier report, accept its findings, and that catalog and features are not checked.

    Nobody can decide what a catalog or a feature would say, so these entries need `--accept-unchecked`.
    """
    totals, ledger = ({}, []) if before is None else (before.totals, before.checked.not_checked)
    return deltaspec.validate(
        str(table),
        level=level,
        accept=[{"rule": code, "reason": "known"} for code in totals],
        accept_unchecked=sorted({each.rule for each in ledger if not each.is_rule}),
    )


@pytest.mark.parametrize("name", sorted(PLANTED_FAULTS) if os.environ.get(ALL) else SAMPLE)
def test_accepted_findings_never_fail_a_run(name: str, tmp_path: Path) -> None:
    fault, table = PLANTED_FAULTS[name], tmp_path / "t"
    write_table(draw_table(fault), table)
    for level in sorted({fault.level, "rows"}):
        before = validate(table, level)
        report = validate(table, level, before)
        assert [each for each in report.checked.not_checked if not each.accepted] == [], f"{level=}"
        found = (report.verdict, report.totals, report.accepted_totals, report.checked.undecided_rules)
        assert found == ("conforms", {}, before.totals, before.checked.undecided_rules), f"{level=}"


def test_second_loss_is_not_accepted_with_a_lost_line_of_metadata(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_table(draw_table(PLANTED_FAULTS["malformed_metadata"]), table)
    before = deltaspec.validate(str(table), level="log")
    (finding,) = before.findings
    accept = [{"rule": finding.rule, "reason": "known", "path": finding.file}]
    accepted = deltaspec.validate(str(table), level="log", accept=accept)
    assert (accepted.verdict, accepted.totals) == ("conforms", {})
    other = next(each for each in sorted((table / "_delta_log").glob("*.json")) if each.name not in str(finding.file))
    other.write_bytes(other.read_bytes() + b'{"metaData":{"id":7}}\n')
    report = deltaspec.validate(str(table), level="log", accept=accept)
    assert report.verdict == "violations"
    assert {each.file for each in report.findings} == {f"_delta_log/{other.name}"}
    assert [each for each in report.checked.not_checked if not each.accepted]
