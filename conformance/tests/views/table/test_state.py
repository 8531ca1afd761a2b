"""State of a table after each commit: what a commit changes, and what is unknown after a commit that is lost."""

from typing import Any
from unittest.mock import patch

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.actions import (
    CommitInfo,
    DomainMetadata,
    Format,
    MetaData,
    Protocol,
    RowIdHighWaterMark,
    Txn,
    WireStruct,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.views.table.state import TableState

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
PROTOCOL = Protocol(3, 7, ["deletionVectors"], ["deletionVectors", "domainMetadata", "rowTracking"])


def metadata(**configuration: str) -> MetaData:
    return MetaData("id", Format("parquet", {}), SCHEMA, [], configuration)


def domain(name: str, *, removed: bool = False, configuration: str = "{}") -> DomainMetadata:
    return DomainMetadata(name, configuration, removed)


def apply(state: TableState, version: int, *actions: WireStruct) -> TableState:
    state.apply(version, f"{version}.json", list(enumerate(actions, 1)))
    return state


def build_state(*actions: WireStruct, revision: Revision = Revision.CURRENT) -> TableState:
    """Build the state after a commit with protocol, metadata and further actions."""
    return apply(TableState(revision), 0, PROTOCOL, metadata(), *actions)


def confusable(state: TableState) -> dict[str, Any]:
    return {row["domain"]: row["confusable_with"] for row in state.rows["domains"]}


# domains and transactions


@pytest.mark.parametrize("order", [1, -1])
def test_domain_replaced_by_one_of_another_case_is_not_confusable(order: int) -> None:
    """The actions of a commit have no order."""
    state = apply(build_state(domain("App")), 1, *[domain("App", removed=True), domain("app")][::order])
    assert (list(state.domains), confusable(state)) == (["app"], {"App": None, "app": None})


def test_domains_that_differ_in_case_are_confusable() -> None:
    assert confusable(apply(build_state(domain("App")), 1, domain("app"))) == {"App": None, "app": "App"}


def test_removed_domain_is_forgotten() -> None:
    state = apply(build_state(domain("a", configuration="1")), 1, domain("a", removed=True))
    assert state.domains == {}
    assert [row["configuration_before"] for row in state.rows["domains"]] == [None, "1"]
    assert [row["removed"] for row in state.rows["domains"]] == [False, True]


def test_transaction_is_compared_with_the_last_one_of_its_application() -> None:
    state = apply(apply(build_state(Txn("a", 1), Txn("b", 5)), 1, Txn("a", 2)), 2, Txn("a", 1))
    assert state.transactions == {"a": Txn("a", 1), "b": Txn("b", 5)}
    rows = state.rows["transactions"]
    assert [(row["app_id"], row["app_version_before"], row["app_version"]) for row in rows] == [
        ("a", None, 1),
        ("b", None, 5),
        ("a", 1, 2),
        ("a", 2, 1),
    ]


# lost actions


@pytest.mark.parametrize(
    ("kind", "unknown"),
    [
        ("protocol", {"protocol"}),
        ("metaData", {"metadata"}),
        ("domainMetadata", {"domains"}),
        ("txn", {"transactions"}),
        ("rowIdHighWaterMark", {"row_id_mark"}),
        (None, {"protocol", "metadata", "domains", "transactions", "row_id_mark"}),
        ("add", set()),
        ("commitInfo", set()),
    ],
)
def test_lost_action_makes_its_part_of_the_state_unknown(kind: str | None, unknown: set[str]) -> None:
    state = build_state()
    state.lose({kind}, ("broken", "f"))
    parts = ("protocol", "metadata", "domains", "transactions", "row_id_mark")
    assert {part for part in parts if not getattr(state, f"{part}_known")} == unknown
    assert (state.protocol is None, state.supported is None) == ("protocol" in unknown, "protocol" in unknown)
    assert (state.metadata is None, state.schema is None) == ("metadata" in unknown, "metadata" in unknown)
    assert (state.table_schema is None) == bool({"protocol", "metadata"} & unknown)
    assert state.supports("deletionVectors") is (None if "protocol" in unknown else True)
    assert state.lost_cause == ("broken", "f")


def test_first_cause_of_a_loss_is_kept() -> None:
    state = build_state()
    state.lose({"txn"}, ("first", "1"))
    state.lose({None}, ("second", "2"))
    assert state.lost_cause == ("first", "1")


def test_later_action_makes_its_part_known_again() -> None:
    state = build_state()
    state.lose({"protocol", "metaData"})
    assert (state.known_version, state.in_commit_timestamps, state.append_only) == (None, None, None)
    apply(state, 1, PROTOCOL)
    assert (state.protocol_known, state.metadata_known, state.table_schema) == (True, False, None)
    apply(state, 2, metadata(**{"delta.appendOnly": "true"}))
    assert state.metadata_known
    assert state.table_schema is not None
    assert (state.known_version, state.in_commit_timestamps) == (2, False)


def test_change_after_a_loss_has_no_last_legal_version() -> None:
    state = build_state()
    assert [row["last_legal_version"] for row in state.rows["protocols"]] == [None]
    apply(state, 1, PROTOCOL)
    state.lose({"metaData"})
    apply(state, 2, PROTOCOL)
    assert [row["last_legal_version"] for row in state.rows["protocols"]] == [None, 0, None]


def test_state_of_a_protocol_without_its_feature_lists_is_unknown() -> None:
    state = apply(TableState(), 0, Protocol(3, 7), metadata())
    assert (state.protocol_known, state.supported, state.supports("deletionVectors")) == (True, None, None)
    assert (state.table_schema, state.in_commit_timestamps, state.append_only) == (None, None, None)


# high-water mark


def mark_domain(mark: int) -> DomainMetadata:
    return domain("delta.rowTracking", configuration=f'{{"rowIdHighWaterMark":{mark}}}')


@pytest.mark.parametrize(
    ("revision", "actions", "found"),
    [
        ("current", [], (None, False)),
        ("current", [mark_domain(7)], (7, True)),
        ("current", [RowIdHighWaterMark(9)], (None, False)),
        ("r3", [mark_domain(7)], (7, True)),
        ("r2", [mark_domain(7)], (None, False)),
        ("r2", [RowIdHighWaterMark(9)], (9, True)),
        ("r1", [RowIdHighWaterMark(9)], (9, True)),
    ],
)
def test_high_water_mark_of_a_revision(revision: str, actions: list[WireStruct], found: tuple[Any, Any]) -> None:
    assert build_state(*actions, revision=Revision(revision)).high_water_mark == found


@pytest.mark.parametrize(
    ("revision", "kind", "is_known"),
    [
        ("current", "domainMetadata", False),
        ("current", "rowIdHighWaterMark", True),
        ("r2", "domainMetadata", True),
        ("r2", "rowIdHighWaterMark", False),
    ],
)
def test_high_water_mark_is_unknown_after_its_action_was_lost(revision: str, kind: str, is_known: bool) -> None:
    state = build_state(mark_domain(7), RowIdHighWaterMark(9), revision=Revision(revision))
    state.lose({kind})
    assert (state.high_water_mark != (None, None)) == is_known


# readers


@pytest.mark.parametrize(
    ("protocol", "unknown"),
    [
        (Protocol(1, 2), []),
        (PROTOCOL, []),
        (Protocol(3, 7, ["ofTheFuture", "deletionVectors"], ["ofTheFuture", "deletionVectors"]), ["ofTheFuture"]),
        (Protocol(1, 7, None, ["ofTheFuture"]), []),
        (Protocol(4, 7), ["reader version 4"]),
    ],
)
def test_unknown_requirements_of_readers(protocol: Protocol, unknown: list[str]) -> None:
    assert apply(TableState(), 0, protocol, metadata()).unknown_reader_features == unknown


@pytest.mark.parametrize(
    ("revision", "protocol", "is_refused"),
    [
        ("current", Protocol(3, 7, ["ofTheFuture"], ["ofTheFuture"]), False),
        ("r3", Protocol(3, 7, ["ofTheFuture"], ["ofTheFuture"]), True),
        ("r3", Protocol(1, 7, None, ["ofTheFuture"]), True),
        ("r3", Protocol(1, 2), False),
        ("r1", Protocol(3, 7, ["v2Checkpoint"], ["v2Checkpoint"]), True),
    ],
)
def test_older_revisions_refuse_tables_with_newer_features(revision: str, protocol: Protocol, is_refused: bool) -> None:
    state = apply(TableState(Revision(revision)), 0, protocol, metadata())
    assert (state.refusal is not None) == is_refused


def test_unknown_protocol_is_not_refused() -> None:
    state = build_state(revision=Revision.R1)
    state.lose({"protocol"})
    assert (state.refusal, state.unknown_reader_features) == (None, [])


# commits without table actions


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[WireStruct, ...] | set[str | None]]:
    """Draw commits by version, most with commitInfo only, or the kinds of actions that are lost in a version."""
    info = st.builds(CommitInfo, operation=st.sampled_from(("WRITE", "RESTORE", None)))
    plain = st.one_of(st.just(()), st.tuples(info), st.tuples(info))
    others = st.one_of(
        st.tuples(st.builds(metadata, a=st.sampled_from("xy"))),
        st.tuples(info, st.just(PROTOCOL)),
        st.tuples(st.just(domain("d")), info),
        st.tuples(st.just(domain("d", removed=True))),
        st.tuples(info, st.just(Txn("a", 1))),
        st.sampled_from(({"protocol"}, {"metaData"}, {"domainMetadata"}, {None})),
    )
    first = draw(st.sampled_from(((PROTOCOL, metadata()), (PROTOCOL,), (metadata(),), ())))
    return [first, *draw(st.lists(st.one_of(plain, plain, others), max_size=8))]


@example_settings(200)
@given(history=histories(), base=st.booleans())
def test_commits_with_commit_info_only_are_applied_as_any_other(
    history: list[tuple[WireStruct, ...] | set[str | None]], base: bool
) -> None:
    """Whether or not the history begins with a checkpoint, and also after versions whose actions are lost."""

    def trace(state: TableState) -> list[Any]:
        found = []
        for version, step in enumerate(history):
            if isinstance(step, set):
                state.lose(step, ("lost", None))
            else:
                file = "0.checkpoint.parquet" if base and version == 0 else f"{version}.json"
                state.apply(version, file, list(enumerate(step, 1)))
            found.append((dict(state.columns.changes), state.known_version, state.file_context("/t")))
        return [
            *found,
            state.rows,
            state.variant_uses.rows,
            state.row_id_columns.rows,
            state.first_commit,
            state.columns,
        ]

    with patch.object(TableState, "has_only_commit_info", return_value=False):
        expected = trace(TableState())
    assert trace(TableState()) == expected
