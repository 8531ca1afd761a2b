"""Entries of `known_deviations.toml` refer to existing tables and rules; deviating reports are detected."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from delta_rs.corpus import TABLES as DELTA_RS_TABLES
from helpers.known_deviations import (
    Deviation,
    Unchecked,
    find_unexpected_differences,
    load_known_deviations,
    load_known_external_files,
    load_known_unchecked,
    load_known_vacuumed_versions,
)
from msgspec.structs import replace
from spark.corpus import TABLES as SPARK_TABLES

import deltaspec
from deltaspec.report.report_types import CATALOG, FEATURE_PREFIX, NotChecked
from deltaspec.rules import RULES

PROTOCOL = '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}'
METADATA = (
    '{"metaData":{"id":"7ae3bd0c-0f3b-4d4c-9c8c-4f6f0a0f6d5e","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{},'
    '"schemaString":"{\\"type\\":\\"struct\\",\\"fields\\":[{\\"name\\":\\"a\\",\\"type\\":\\"long\\",'
    '\\"nullable\\":true,\\"metadata\\":{}}]}"}}'
)
ADD = '{"add":{"path":"a b","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}'
CORPORA = {f"spark/{name}" for name in SPARK_TABLES} | {f"delta_rs/{name}" for name in DELTA_RS_TABLES}


@pytest.mark.parametrize("entry", load_known_deviations(), ids=lambda each: f"{each.table}-{each.rule}")
def test_known_deviation_names_a_table_a_rule_and_its_requirement(entry: Deviation) -> None:
    assert entry.table in CORPORA
    assert entry.rule in RULES
    assert entry.count > 0
    revisions = [each for each in entry.revisions if each in RULES[entry.rule].revisions]
    assert RULES[entry.rule].requirement_in(revisions[-1]).id == entry.requirement
    assert entry.bytes
    assert entry.reason


@pytest.mark.parametrize("entry", load_known_unchecked(), ids=lambda each: f"{each.table}-{each.rules[0]}")
def test_unchecked_entry_names_a_table_rules_and_a_reason(entry: Unchecked) -> None:
    assert entry.table in CORPORA
    others = [each for each in entry.rules if each != CATALOG and not each.startswith(FEATURE_PREFIX)]
    assert [each for each in others if not any(code.startswith(each) for code in RULES)] == []
    assert entry.reason
    assert entry.why


def test_external_and_vacuumed_entries_name_a_table_and_a_reason() -> None:
    entries = [*load_known_external_files(), *load_known_vacuumed_versions()]
    assert {each.table for each in entries} <= CORPORA
    assert [each for each in entries if not each.why] == []


def test_no_deviation_is_listed_twice() -> None:
    counts = Counter(
        (each.table, each.rule, revision) for each in load_known_deviations() for revision in each.revisions
    )
    assert [entry for entry, count in counts.items() if count > 1] == []


@pytest.fixture
def path_with_space(tmp_path: Path) -> str:
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text(f"{PROTOCOL}\n{METADATA}\n{ADD}\n", "utf-8")
    return str(tmp_path)


def _entry(count: int, rule: str = "FIL001") -> Deviation:
    requirement = RULES[rule].requirement.id
    return Deviation(table="x/y", rule=rule, count=count, requirement=requirement, bytes="a b", reason="a test")


def test_report_with_the_known_findings_is_accepted(path_with_space: str) -> None:
    report = deltaspec.validate(path_with_space, level="log", history="all")
    assert find_unexpected_differences(report, [_entry(1)], whole_history=True) == []


@pytest.mark.parametrize("known", [[], [_entry(2)], [_entry(1), _entry(1, "FIL007")]])
def test_report_with_another_number_of_findings_is_rejected(path_with_space: str, known: list[Deviation]) -> None:
    assert find_unexpected_differences(
        deltaspec.validate(path_with_space, level="log", history="all"), known, whole_history=True
    )


def test_part_of_the_history_may_have_fewer_findings(path_with_space: str) -> None:
    assert (
        find_unexpected_differences(deltaspec.validate(path_with_space, level="log"), [_entry(2)], whole_history=False)
        == []
    )
    assert find_unexpected_differences(deltaspec.validate(path_with_space, level="log"), [], whole_history=False)


def test_unchecked_location_is_rejected_unless_known(path_with_space: str) -> None:
    report = deltaspec.validate(path_with_space, level="log", ignore=["FIL001"])
    locations = [
        NotChecked(rule="DAT001", reason="x: is gone"),
        NotChecked(rule="DAT001", reason="and 7 more locations"),
    ]
    report = replace(report, checked=replace(report.checked, not_checked=locations))
    assert find_unexpected_differences(report, [], whole_history=False) == ["not checked: DAT001 x: is gone None"]
    entry = Unchecked(table="x/y", rules=("DAT", "PQT"), reason="is gone", why="a test")
    assert find_unexpected_differences(report, [], [entry], whole_history=True) == []
    for other in (Unchecked(table="x/y", rules=(code,), reason="is gone", why="a test") for code in ("PQT", "DAT002")):
        assert find_unexpected_differences(report, [], [other], whole_history=False) == [
            "not checked: DAT001 x: is gone None"
        ]


def test_unchecked_entry_must_match_in_the_complete_history(path_with_space: str) -> None:
    report = deltaspec.validate(path_with_space, level="log", ignore=["FIL001"])
    entry = Unchecked(table="x/y", rules=("DAT",), reason="is gone", why="a test")
    assert find_unexpected_differences(report, [], [entry], whole_history=False) == []
    assert find_unexpected_differences(report, [], [entry], whole_history=True) == [
        "expected to be unchecked: ('DAT',) is gone"
    ]
