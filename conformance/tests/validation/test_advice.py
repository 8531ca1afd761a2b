"""Findings name their case, their commands and their cause; reports show findings of one cause together."""

from pathlib import Path

import pytest
from helpers.drawn_tables import draw_table
from helpers.reports import make_finding, report
from msgspec.structs import replace

import deltaspec
from deltaspec.report.causes import describe_fix, group_by_cause
from deltaspec.report.report_types import Finding
from deltaspec.report.terminal import write
from deltaspec.rules import RULES
from deltaspec.validation.advice import add_advice, list_report_steps
from deltaspec.validation.rule_docs import build_rule_doc
from deltaspec_generators.table_files import write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS


def build(code: str, version: int, path: str | None) -> Finding:
    rule = RULES[code]
    return make_finding(rule=code, name=rule.name, severity=rule.severity, version=version, path=path, evidence={})


COMPACTION = [build("CKP030", 3, "a"), build("CKP030", 3, "b"), build("COM020", 3, None), build("FIL037", 3, "a")]
"""A compaction left file `a` live, and a checkpoint misses files `a` and `b`."""


def test_cause_is_the_finding_about_the_same_file_or_version() -> None:
    found = add_advice(COMPACTION, "t")
    assert [each.cause for each in found] == ["FIL037", None, "FIL037", None]
    assert [each.related for each in found] == [[], [], [], ["CKP030", "COM020"]]
    other = add_advice([build("COM020", 4, None), COMPACTION[3]], "t")
    assert [(each.cause, each.related) for each in other] == [(None, []), (None, [])]


@pytest.mark.parametrize(
    ("cause", "effect"), [("FIL071", "FIL007"), ("FIL073", "FIL007"), ("FIL072", "FIL009"), ("FIL070", "FIL014")]
)
def test_change_of_a_table_causes_findings_of_older_files(cause: str, effect: str) -> None:
    first, second = add_advice([build(effect, 1, "a"), build(cause, 5, None)], "t")
    assert (first.cause, second.related) == (cause, [effect])


def test_rule_follows_its_cause_with_a_reference_to_the_fix() -> None:
    findings = add_advice([COMPACTION[0], *COMPACTION[2:], build("FIL001", 1, "c")], "t")
    shown = report(*sorted(findings, key=lambda each: each.sort_key))
    groups = group_by_cause(shown)
    assert [each[0].rule for each in groups] == ["FIL037", "CKP030", "COM020", "FIL001"]
    assert describe_fix(groups[1], "Rewrite it.") == "Follow the fix of FIL037, which reports the same damage."
    assert describe_fix(groups[0], "Restore it.") == "Restore it."


def test_rule_with_several_causes_keeps_its_place_and_fix() -> None:
    shown = report(*add_advice(COMPACTION, "t"))
    groups = group_by_cause(shown)
    assert [each[0].rule for each in groups] == ["CKP030", "FIL037", "COM020"]
    assert describe_fix(groups[0], "Rewrite it.") == "Rewrite it."


def test_text_has_one_advice_for_one_cause(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    findings = add_advice([COMPACTION[0], *COMPACTION[2:]], "t")
    docs = {code: build_rule_doc(code) for code in ("CKP030", "COM020", "FIL037")}
    write(replace(report(*findings), rules=docs, steps=list_report_steps(findings)), Console(width=200))
    text = capsys.readouterr().out
    assert text.count("Follow the fix of FIL037") == 2
    assert text.index("FIL037 ") < text.index("CKP030 ") < text.index("COM020 ")
    assert "Every repair: (1) Stop the writer that causes the defect. (2) Copy the log. (3) Look" in text


def test_steps_look_at_the_rules_that_need_a_repair() -> None:
    steps = list_report_steps([*COMPACTION, build("LIN009", 1, None), build("CKP083", 1, None)])
    assert [each.name for each in steps] == ["stop", "copy", "look", "repair", "validate"]
    assert "--select CKP030,COM020 " in steps[2].command
    assert list_report_steps([build("LIN009", 1, None)]) == []


@pytest.mark.parametrize(
    ("fault", "code", "condition"),
    [
        ("path_removed_twice", "FIL031", "the file is a commit"),
        ("tombstone_twice_in_checkpoint", "FIL031", "the file is a checkpoint"),
        ("nested_id_not_its_own", "ICE010", "ids occur twice"),
        ("part_without_id", "ICE010", "ids are missing"),
        ("timestamps_enabled_by_another_word", "CFG005", "the property enables in-commit timestamps"),
        ("property_value_undefined", "CFG005", "it is another property"),
        ("partition_value_absent", "FIL007", None),
    ],
)
def test_finding_names_the_case_that_its_evidence_shows(
    fault: str, code: str, condition: str | None, tmp_path: Path
) -> None:
    write_table(draw_table(PLANTED_FAULTS[fault]), tmp_path / "t")
    found = deltaspec.validate(str(tmp_path / "t"), level="log")
    finding = next(each for each in found.findings if each.rule == code)
    cases = found.rules[code].fix_cases
    assert (None if finding.fix_case is None else cases[finding.fix_case].condition) == condition


def test_commands_have_the_table_and_the_values_of_the_finding(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_table(draw_table(PLANTED_FAULTS["page_version_unknown"]), table)
    (finding,) = deltaspec.validate(str(table), level="log").findings
    assert finding.fix_commands == [f"ALTER TABLE delta.`{table}` UNSET TBLPROPERTIES ('delta.parquet.format.version')"]


def test_advice_that_failed_on_delta_spark_is_no_longer_given() -> None:
    assert [each.fix_class for each in RULES["CFG002"].fix_cases] == ["decide", "restore"]
    assert "If it refuses the table, as Delta Spark does from writer version 7" in RULES["CFG002"].fix
    assert RULES["CMP032"].fix_class == "restore"
    assert "Delta Spark refuses to `RESTORE`" in RULES["CMP032"].fix
    twice = RULES["ICE010"].fix_cases[0]
    assert (twice.condition, twice.fix_class) == ("ids occur twice", "restore")
    assert "keeps an id that occurs twice" in twice.text
    assert "no rows are lost" not in RULES["COM020"].fix
    assert "data skipping would lose rows" not in RULES["STA004"].fix
