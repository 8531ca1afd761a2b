"""The model accepts every commit of a drawn log and refuses the mutated ones."""

import json
import re
from collections.abc import Iterator
from inspect import getmodule, getsource
from typing import Any

import msgspec
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mutations.caught_by import CAUGHT_BY
from mutations.kill_table import find_revisions
from mutations.refused_by_commit import REFUSED_BY

from deltaspec.model.actions import ACTION_TYPES, Action, DomainMetadata, RowIdHighWaterMark
from deltaspec.model.commit import validation
from deltaspec.model.features.protocol import Refused
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, replay_commit
from deltaspec.model.revisions import Revision
from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES
from deltaspec_generators.logs.strategies import logs
from deltaspec_generators.mutations.all_mutations import MUTATIONS
from deltaspec_generators.table_files import TableFiles

SOURCES = {module for check in validation.CHECKS if (module := getmodule(check)) is not None}
KINDS: dict[str, Any] = {**ACTION_TYPES, "rowIdHighWaterMark": RowIdHighWaterMark}


def actions_of(lines: list[Any]) -> list[Action]:
    """Convert the lines of a commit to actions of the model.

    Raises:
        ValueError: a line is not an action that the model can decode.
    """
    found: list[Action] = []
    for line in lines:
        members = line if isinstance(line, dict) else json.loads(line) if line else {}
        if not isinstance(members, dict):
            raise ValueError("not a JSON object")
        for kind, body in members.items():
            if kind == "domainMetadata" and isinstance(body["configuration"], dict):  # r1 and r2
                found.append(DomainMetadata(body["domain"], json.dumps(body["configuration"]), body["removed"]))
            elif kind in KINDS:
                found.append(msgspec.convert(body, KINDS[kind]))
    return found


def iter_refusals(files: TableFiles, revision: Revision) -> Iterator[tuple[int, list[Refused]]]:
    """Yield the refusals of each commit of a log that starts at version 0, up to the first undecodable commit."""
    snapshot = EMPTY_SNAPSHOT
    for version in sorted(files.commits):
        try:
            actions = actions_of(files.commits[version])
        except (ValueError, KeyError, TypeError):
            return
        yield version, list(validation.collect_refusals(snapshot, version, actions, revision))
        snapshot = replay_commit(snapshot, version, actions, revision)


@pytest.mark.parametrize("revision", list(Revision))
@example_settings(20)
@given(data=st.data())
def test_commits_of_drawn_logs_are_accepted(revision: Revision, data: st.DataObject) -> None:
    files = data.draw(logs(revision=revision))
    if 0 not in files.commits:
        return
    for _, refused in iter_refusals(files, revision):
        assert refused == []


_MARK_IN_DOMAIN = {
    "base_row_id_absent",
    "default_row_commit_version_absent",
    "row_ids_given_twice",
    "row_ids_left_out_of_remove",
}
"""Mutations whose tables keep the high-water mark in a domain (since r3): r2 refuses even the valid commits."""

_REFUSED = [
    (name, revision)
    for name in sorted(REFUSED_BY)
    for revision in find_revisions(MUTATIONS[name])
    if not (revision == "r2" and name in _MARK_IN_DOMAIN)
]


@pytest.mark.parametrize(("name", "revision"), _REFUSED)
def test_mutated_commit_is_refused(name: str, revision: str) -> None:
    """All earlier commits are accepted."""
    found = []

    @settings(
        max_examples=3,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(MUTATIONS[name].tables())
    def run(files: TableFiles) -> None:
        refused = [{each.requirement for each in refusals} for _, refusals in iter_refusals(files, Revision(revision))]
        found.append(next((each for each in refused if each), set()))

    run()
    assert found
    assert all(REFUSED_BY[name] in each for each in found)


def test_cited_requirements_exist() -> None:
    cited = set(re.findall(r'"([a-z-]+\.[a-z-]+)"', "".join(getsource(each) for each in SOURCES)))
    assert len(cited) > 40
    assert cited <= set(load_requirements())


_DIVERGENCES = {"domain_twice", "feature_taken_out"}
"""Mutations where the protocol contradicts itself, and the model applies the stricter statement (E37, E41)."""


def test_refused_commits_are_violations() -> None:
    severities = {name: RULES[CAUGHT_BY[name]].severity for name in REFUSED_BY}
    assert {name for name, severity in severities.items() if severity != "violation"} == _DIVERGENCES
