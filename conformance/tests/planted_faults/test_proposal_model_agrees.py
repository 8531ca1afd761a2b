"""The writer model of Iceberg compatibility V3 refuses exactly the commits for which its rules report a divergence."""

import tempfile
from pathlib import Path

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from planted_faults.test_model_agrees import decode_actions, read_commits

import deltaspec
from deltaspec.model.commit import iceberg_proposal
from deltaspec.model.log.proposed_commit import ProposedCommit
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, replay_commit
from deltaspec.protocol.revisions import Revision
from deltaspec.rules import RULES
from deltaspec_generators.table_files import TableFiles, write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.permissions.all_permissions import PERMISSIONS

_CHAPTER = "iceberg-v3."
_OF_SQL = "iceberg-v3.literal-defaults"
"""The model does not parse SQL."""
_MUTATIONS = sorted(
    name for name, each in PLANTED_FAULTS.items() if each.requirement.startswith(_CHAPTER) and each.level == "log"
)
_PERMISSIONS = sorted(name for name, each in PERMISSIONS.items() if each.requirement.startswith(_CHAPTER))


def judge_by_model(files: TableFiles) -> dict[int, set[str]]:
    """Return the requirements for which the model refuses each commit; commits without refusals are left out."""
    found, snapshots = {}, [EMPTY_SNAPSHOT]
    for version, data in read_commits(files).items():
        actions = decode_actions(data, Revision.CURRENT)
        assert actions is not None, f"{version=}"
        proposal = ProposedCommit(snapshots[-1], version, actions, Revision.CURRENT, snapshots[:-1])
        found[version] = {each.requirement for each in iceberg_proposal.collect_refusals(proposal)}
        snapshots.append(replay_commit(snapshots[-1], version, actions, Revision.CURRENT))
    return {version: names for version, names in found.items() if names}


def judge_by_rules(files: TableFiles) -> dict[int, set[str]]:
    """Return the requirements of the proposal that rules report in each version."""
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory))
        report = deltaspec.validate(directory, level="log", history="all")
    found: dict[int, set[str]] = {}
    for finding in report.findings:
        names = {each for each in RULES[finding.rule].requires if each.startswith(_CHAPTER)} - {_OF_SQL}
        if names and finding.version is not None:
            found.setdefault(finding.version, set()).update(names)
    return found


@pytest.mark.parametrize("name", _MUTATIONS)
def test_model_refuses_what_rules_report(name: str) -> None:
    @example_settings(2)
    @given(PLANTED_FAULTS[name].tables())
    def run(files: TableFiles) -> None:
        assert judge_by_model(files) == judge_by_rules(files)

    run()


@pytest.mark.parametrize("name", _PERMISSIONS)
def test_model_accepts_permitted_tables(name: str) -> None:
    assert judge_by_model(PERMISSIONS[name].table()) == {}


def test_only_the_current_revision_has_the_proposal() -> None:
    proposal = ProposedCommit(EMPTY_SNAPSHOT, 0, [], Revision.R3)
    assert list(iceberg_proposal.collect_refusals(proposal)) == []


def test_every_requirement_that_a_log_shows_is_planted() -> None:
    names = {PLANTED_FAULTS[name].requirement for name in _MUTATIONS}
    refused = {"readers", "feature", "mapped", "row-tracking", "not-with-others", "types", "type-changes"}
    refused |= {"nested-ids", "partitions-keep-names", "numbers-of-records"}
    assert {f"{_CHAPTER}{name}" for name in refused} | {_OF_SQL} == names
