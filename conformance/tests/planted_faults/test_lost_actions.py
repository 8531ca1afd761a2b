"""If an action before or beside a fault cannot be decoded, the fault is still found, or its rule is not checked."""

import copy
import json

import pytest
from helpers.drawn_tables import draw_table
from helpers.recording_run import RecordingRun
from planted_faults.caught_by import CAUGHT_BY
from planted_faults.kill_table import find_revisions, write_and_validate

from deltaspec.protocol.revisions import Revision
from deltaspec.validation.ledger import find_unused_rules
from deltaspec_generators.table_files import TableFiles
from planted_tables.faults.all_faults import PLANTED_FAULTS

KINDS = ("protocol", "metaData", "domainMetadata", "txn", None)
"""Kinds of the action; None for a line that is not JSON."""
ABSENT = {"COM003", "COM004", "COM013"}
"""Rules about what a commit does not have: another line in it removes the fault."""


def find_version(files: TableFiles, code: str, level: str) -> int | None:
    """Return the version of the first finding of a rule; None if it has none."""
    findings = write_and_validate(copy.deepcopy(files), level).findings
    return next((each.version for each in findings if each.rule == code), None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, each in PLANTED_FAULTS.items() if "current" in (each.revisions or "current")]
)
def test_rule_finds_the_fault_or_is_not_checked(name: str) -> None:
    fault, code = PLANTED_FAULTS[name], CAUGHT_BY[name]
    files = draw_table(fault)
    version = find_version(files, code, fault.level)
    if version is None:
        return  # of the listing
    versions = {version - 1} if code in ABSENT else {version - 1, version}
    for at in versions & files.commits.keys():
        for kind in KINDS:
            line = b"{" if kind is None else json.dumps({kind: 5}).encode()
            lost = copy.deepcopy(files)
            lost.commits[at] = [*lost.commits[at], line]
            report = write_and_validate(lost, fault.level)
            assert code in {*report.totals, *(each.rule for each in report.checked.not_checked)}, (at, kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED_FAULTS)
def test_rule_is_of_use_to_the_table_that_violates_it(name: str) -> None:
    files, revision = draw_table(PLANTED_FAULTS[name]), Revision(find_revisions(PLANTED_FAULTS[name])[-1])
    supported = RecordingRun(files, revision=revision).facts.state.supported_so_far
    assert not supported or find_unused_rules([CAUGHT_BY[name]], supported) == set()
