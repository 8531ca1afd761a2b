"""The commit checks of the model and the rules agree about every commit of mutated, permitted and drawn logs.

The rules validate the commits of a log without its other files, and the model replays them. They must agree version by
version: the model refuses exactly the commits in which a rule reports a violation, for the same requirement. Logs that
do not begin with version 0 are about cleanup and have nothing to compare.
"""

import json
import re
import tempfile
from collections.abc import Mapping
from inspect import getmodule, getsource
from pathlib import Path

import msgspec
import pytest
from helpers.drawn_tables import draw_tables
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st
from planted_faults.changed_logs import changed_logs
from planted_faults.test_planted_faults import mark_slow

import deltaspec
from deltaspec.model.commit import validation
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, replay_commit
from deltaspec.protocol.actions import Action, get_action_types, normalize_action
from deltaspec.protocol.log.file_names import CommitName, parse_log_file_name
from deltaspec.protocol.revisions import Revision
from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES
from deltaspec.views.files.row_ids import row_id_ranges
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec_generators.table_files import LOG, TableFiles, encode_table
from deltaspec_generators.tables.strategies import logs
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.permissions.all_permissions import PERMISSIONS

EXAMPLES = 1
"""Tables that a planted fault draws; each is compared in every revision."""

Requirements = frozenset[str]
Verdicts = dict[int, set[Requirements]]
"""Version to the violated requirements; a rule that checks several states all of them."""

DECIDED_BY_ONE_SIDE: dict[str, tuple[str, str]] = {
    "check-constraints.columns": ("constraint_of_a_column_that_is_not_there", "the model does not parse SQL"),
    "check-constraints.value": ("constraint_of_no_condition", "the model does not parse SQL"),
    "clustering.statistics-of-new-columns": (
        "clustered_by_a_column_that_older_files_pass_over",
        "its rule runs at level rows, although it only reads the log",
    ),
}
"""Requirement that only the model or only the rules decide, with a planted fault that shows it, and the reason."""

AT_THE_FILE = frozenset(name for rule in RULES.values() if rule.view is row_id_ranges for name in rule.requires)
"""Requirements whose findings state the version that added a file, not the one that made it illegal."""


def read_commits(files: TableFiles) -> dict[int, bytes]:
    """Return the content of each commit of a table, ascending by version."""
    found = {}
    for path, data in encode_table(files).items():
        name = parse_log_file_name(path.removeprefix(LOG)) if path.startswith(LOG) else None
        if isinstance(name, CommitName):
            found[name.version] = data
    return dict(sorted(found.items()))


def decode_actions(data: bytes, revision: Revision) -> list[Action] | None:
    """Return the actions of a commit, in the order of the lines; None if a line cannot be decoded."""
    if decode_lines(data, revision).undecoded_kinds:
        return None
    types, found = get_action_types(revision), []
    for line in data.splitlines():
        for kind, body in json.loads(line).items() if line.strip() else ():
            if kind == "commitInfo" and not isinstance(body, dict):  # it is free-form
                body = {}
            if kind in types and body is not None:
                found.append(normalize_action(msgspec.convert(body, types[kind])))
    return found


def judge_by_model(commits: Mapping[int, bytes], revision: Revision) -> Verdicts:
    """Return the refusals of each commit, up to the first that cannot be decoded: parsing refuses that one."""
    snapshots: list[Snapshot] = [EMPTY_SNAPSHOT]
    verdicts: Verdicts = {}
    for version, data in commits.items():
        actions = decode_actions(data, revision)
        if actions is None:
            return verdicts
        refused = validation.collect_refusals(snapshots[-1], version, actions, revision, snapshots[:-1])
        verdicts[version] = {frozenset({each.requirement}) for each in refused}
        snapshots.append(replay_commit(snapshots[-1], version, actions, revision))
    return verdicts


def judge_by_rules(commits: Mapping[int, bytes], revision: Revision) -> Verdicts | None:
    """Return the violations that the rules report in each version; None if the revision refuses the table."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / LOG
        log.mkdir()
        for version, data in commits.items():
            (log / f"{version:020}.json").write_bytes(data)
        report = deltaspec.validate(directory, level="log", revision=revision, history="all")
    if report.verdict == "refused":
        return None
    verdicts: Verdicts = {version: set() for version in commits}
    for finding in report.findings:
        if finding.severity == "violation":
            version = max(commits) if finding.version is None else finding.version
            verdicts.setdefault(version, set()).add(frozenset(RULES[finding.rule].requires))
    return verdicts


def find_disagreements(files: TableFiles, revision: Revision, excused: Requirements) -> list[str]:
    """Return the versions and requirements about which the model and the rules disagree.

    Args:
        files: the table.
        revision: protocol revision.
        excused: requirements that are not compared.
    """
    commits = read_commits(files)
    if not commits or min(commits) != 0:
        return []
    by_rules, by_model = judge_by_rules(commits, revision), judge_by_model(commits, revision)
    if by_rules is None:
        return []
    found = []
    anywhere = frozenset().union(*(requires for each in by_rules.values() for requires in each))
    refused = frozenset().union(*(requires for each in by_model.values() for requires in each))
    for version, ours in by_model.items():
        theirs = by_rules.get(version, set())
        for requires in theirs:
            if not requires & ((refused if is_at_the_file(requires) else frozenset().union(*ours)) | excused):
                found.append(f"{revision} version {version}: a rule reports {sorted(requires)}, the model does not")
        names = frozenset().union(*ours)
        if not theirs and not names <= excused and not (is_at_the_file(names) and names & anywhere):
            found.append(f"{revision} version {version}: the model refuses {sorted(names)}, no rule does")
    return found


def is_at_the_file(requires: Requirements) -> bool:
    return not AT_THE_FILE.isdisjoint(requires)


def compare_planted_fault(name: str, revisions: list[Revision], number: int, excused: Requirements) -> list[str]:
    tables = draw_tables(PLANTED_FAULTS[name], number)
    return [each for files in tables for revision in revisions for each in find_disagreements(files, revision, excused)]


@pytest.mark.parametrize("name", mark_slow(PLANTED_FAULTS))
def test_planted_faults(name: str) -> None:
    assert compare_planted_fault(name, list(Revision), EXAMPLES, frozenset(DECIDED_BY_ONE_SIDE)) == []


@pytest.mark.slow("conformance/deltaspec/model")
@pytest.mark.parametrize("name", sorted(PERMISSIONS))
def test_permissions(name: str) -> None:
    """The model accepts every commit that the rules accept."""
    files = PERMISSIONS[name].table()
    assert [each for revision in Revision for each in find_disagreements(files, revision, frozenset())] == []


@pytest.mark.parametrize("revision", list(Revision))
@example_settings(20)
@given(data=st.data())
def test_commits_of_drawn_logs_are_accepted(revision: Revision, data: st.DataObject) -> None:
    commits = read_commits(data.draw(logs(revision=revision)))
    if 0 in commits:
        assert judge_by_model(commits, revision) == {version: set() for version in commits}


@pytest.mark.parametrize("revision", list(Revision))
@example_settings(20)
@given(data=st.data())
def test_changed_logs(revision: Revision, data: st.DataObject) -> None:
    files = data.draw(changed_logs(revision))
    assert find_disagreements(files, revision, frozenset(DECIDED_BY_ONE_SIDE)) == []


@pytest.mark.parametrize("requirement", sorted(DECIDED_BY_ONE_SIDE))
def test_only_one_side_decides(requirement: str) -> None:
    name, _ = DECIDED_BY_ONE_SIDE[requirement]
    others = frozenset(DECIDED_BY_ONE_SIDE) - {requirement}
    assert compare_planted_fault(name, [Revision.CURRENT], 1, others)


ABOUT_CATALOGS = {
    "catalog-managed.maintenance-permitted",
    "catalog-managed.published-before-maintenance",
    "catalog-managed.published-copies-ratified",
    "catalog-managed.ratified-in-order",
}
"""Cited next to the checks of commits, in decisions about other operations."""


def list_cited_requirements() -> set[str]:
    """Return the requirements for which the modules of the checks refuse a commit."""
    modules = {module for check in validation.CHECKS if (module := getmodule(check)) is not None}
    sources = "".join(getsource(each) for each in modules)
    return set(re.findall(r'"([a-z0-9-]+\.[a-z0-9-]+)"', sources)) - ABOUT_CATALOGS


def test_cited_requirements_exist() -> None:
    assert len(list_cited_requirements()) > 80
    assert list_cited_requirements() <= set(load_requirements())


def test_cited_requirements_are_mandatory() -> None:
    """Neither a SHOULD nor a divergence refuses a commit."""
    violations = {
        name
        for rule in RULES.values()
        for revision in rule.revisions
        if rule.severity_in(revision) == "violation"
        for name in rule.requires
    }
    assert list_cited_requirements() - violations == set()
