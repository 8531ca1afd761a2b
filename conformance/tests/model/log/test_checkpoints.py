"""Contents of a checkpoint. Source: Checkpoints, Checkpoint Specs, Checkpoint Naming Scheme."""

import json

import msgspec
import pytest
from helpers.small_logs import (
    SmallLog,
    add,
    domain,
    metadata,
    protocol,
    remove,
    small_log_settings,
    small_logs,
    txn,
    vector_id,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from deltaspec.model.decisions import Accepted, Refused
from deltaspec.model.log.checkpoints import (
    Naming,
    Spec,
    build_checkpoint_actions,
    check_spec_and_naming,
    compare_checkpoint,
    find_content_faults,
    find_forbidden_actions,
    get_spec,
    reconcile_checkpoint,
)
from deltaspec.model.log.reconciliation import Snapshot, replay_log
from deltaspec.model.log.state_differences import Difference
from deltaspec.protocol.actions import (
    ACTION_TYPES,
    Action,
    Cdc,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    RowIdHighWaterMark,
    Sidecar,
)
from deltaspec.protocol.json_values import JsonError, parse_lossless
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.protocol.schema.schema_string import parse_schema

V2_TABLE = protocol(3, 7, "v2Checkpoint")
PLAIN_TABLE = protocol(1, 2)
SIDECAR = Sidecar(path="x.parquet", size_in_bytes=1, modification_time=0)
CDC = Cdc(path="_change_data/x", partition_values={}, size=1, data_change=False)
DAY_MS = 86_400_000


def snapshot(*actions: Action, version: int = 3) -> Snapshot:
    return reconcile_checkpoint(version, [protocol(), metadata(), *actions])


class TestContent:
    def test_checkpoint_contains_every_part_of_the_state_once(self) -> None:
        state = snapshot(add("a"), add("b", "one"), remove("c"), txn("s", 4), domain("x"))
        expected_state = build_checkpoint_actions(state, v2=False)
        assert {type(each).__name__ for each in expected_state} == {
            "Protocol",
            "MetaData",
            "Add",
            "Remove",
            "Txn",
            "DomainMetadata",
        }
        assert len(expected_state) == 7

    def test_commit_info_is_omitted(self) -> None:
        state = replace(snapshot(), commit_info=CommitInfo(operation="WRITE"))
        assert not [each for each in build_checkpoint_actions(state, v2=False) if isinstance(each, CommitInfo)]

    def test_v2_content_begins_with_its_version(self) -> None:
        expected_state = build_checkpoint_actions(snapshot(add("a"), version=8), v2=True)
        assert expected_state[0] == CheckpointMetadata(version=8)
        assert [each for each in expected_state if isinstance(each, CheckpointMetadata)] == [expected_state[0]]
        assert expected_state[1:] == build_checkpoint_actions(snapshot(add("a"), version=8), v2=False)

    def test_expired_tombstones_are_dropped(self) -> None:
        state = snapshot(remove("old", at=0), remove("young", at=5 * DAY_MS), remove("without time"))
        expected_state = build_checkpoint_actions(state, v2=False, clock_ms=8 * DAY_MS)
        assert [each for each in expected_state if "Remove" in str(type(each))] == [remove("young", at=5 * DAY_MS)]

    def test_tombstone_at_the_end_of_its_retention_is_kept(self) -> None:
        state = snapshot(remove("a", at=10))
        assert remove("a", at=10) in build_checkpoint_actions(state, v2=False, clock_ms=15, retention_ms=5)
        assert remove("a", at=10) not in build_checkpoint_actions(state, v2=False, clock_ms=16, retention_ms=5)

    def test_without_a_clock_every_tombstone_is_kept(self) -> None:
        assert remove("a", at=0) in build_checkpoint_actions(snapshot(remove("a", at=0)), v2=False)

    @pytest.mark.parametrize(
        ("revision", "kept"),
        [(Revision.R1, True), (Revision.R2, True), (Revision.R3, False), (Revision.CURRENT, False)],
    )
    def test_tombstones_have_neither_statistics_nor_tags_since_r3(self, revision: Revision, kept: bool) -> None:
        full = msgspec.structs.replace(remove("a"), stats="{}", tags={"k": "v"}, size=4)
        bare = msgspec.structs.replace(remove("a"), size=4)
        expected_state = build_checkpoint_actions(snapshot(full), v2=False, revision=revision)
        assert expected_state[-1] == (full if kept else bare)

    def test_row_id_high_water_mark_is_part_of_the_state(self) -> None:
        mark = RowIdHighWaterMark(high_water_mark=7)
        assert mark in build_checkpoint_actions(snapshot(mark), v2=False, revision=Revision.R2)

    @pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
    def test_v2_content_does_not_exist_before_r3(self, revision: Revision) -> None:
        with pytest.raises(ValueError, match="no V2 checkpoints"):
            build_checkpoint_actions(snapshot(), v2=True, revision=revision)


@pytest.mark.parametrize(
    ("spec", "naming", "of_v2_table", "of_plain_table"),
    [
        ("v1", "classic", None, None),
        ("v1", "multipart", "checkpoint.no-multipart-with-v2", None),
        ("v1", "uuid", "checkpoint.v2-has-metadata", "checkpoint.v2-has-metadata"),
        ("v2", "classic", None, "checkpoint.v2-needs-feature"),
        ("v2", "multipart", "checkpoint.multipart-is-v1", "checkpoint.multipart-is-v1"),
        ("v2", "uuid", None, "checkpoint.v2-needs-feature"),
    ],
)
@pytest.mark.parametrize("revision", [Revision.R3, Revision.CURRENT])
def test_allowed_combinations_of_spec_naming_and_feature(
    spec: Spec, naming: Naming, of_v2_table: str | None, of_plain_table: str | None, revision: Revision
) -> None:
    for table, expected in ((V2_TABLE, of_v2_table), (PLAIN_TABLE, of_plain_table)):
        answer = check_spec_and_naming(spec, naming, table, revision)
        assert (answer.requirement if isinstance(answer, Refused) else None) == expected


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
def test_only_v1_exists_before_r3(revision: Revision) -> None:
    assert check_spec_and_naming("v1", "classic", PLAIN_TABLE, revision) == Accepted()
    assert check_spec_and_naming("v1", "multipart", PLAIN_TABLE, revision) == Accepted()
    for spec, naming in (("v2", "classic"), ("v2", "uuid"), ("v1", "uuid")):
        assert isinstance(check_spec_and_naming(spec, naming, V2_TABLE, revision), Refused)  # type: ignore[arg-type]


class TestForbidden:
    ODD: tuple[Action, ...] = (
        CommitInfo(operation="WRITE"),
        CDC,
        SIDECAR,
        CheckpointMetadata(version=1),
        domain("x", removed=True),
    )
    GOOD: tuple[Action, ...] = (protocol(), metadata(), add("a"), remove("b"), txn("s", 1), domain("y"))

    @pytest.mark.parametrize(
        ("spec", "revision", "expected"),
        [
            ("v1", Revision.CURRENT, [0, 1, 2, 3, 4]),
            ("v2", Revision.CURRENT, [0, 1, 4]),
            ("v1", Revision.R3, [0, 1, 2, 3]),
            ("v2", Revision.R3, [0, 1]),
            ("v1", Revision.R1, [1, 2, 3]),
        ],
    )
    def test_forbidden_actions_of_a_checkpoint(self, spec: Spec, revision: Revision, expected: list[int]) -> None:
        mixed = [each for pair in zip(self.GOOD, self.ODD, strict=False) for each in pair]
        assert find_forbidden_actions(mixed, spec, revision) == [self.ODD[each] for each in expected]

    def test_actions_of_the_state_are_allowed(self) -> None:
        assert find_forbidden_actions(self.GOOD, "v1") == []

    def test_any_action_of_the_v2_spec_makes_the_content_v2(self) -> None:
        assert get_spec(self.GOOD) == "v1"
        assert get_spec([*self.GOOD, SIDECAR]) == "v2"
        assert get_spec([*self.GOOD, CheckpointMetadata(version=1)]) == "v2"


class TestStructure:
    HEAD = CheckpointMetadata(version=3)

    @pytest.mark.parametrize(
        ("actions", "spec", "expected"),
        [
            ([protocol(), metadata(), add("a")], "v1", []),
            ([metadata()], "v1", ["contains 0 Protocol actions, expected 1"]),
            ([protocol(), metadata(), metadata()], "v1", ["contains 2 MetaData actions, expected 1"]),
            ([HEAD, protocol(), metadata()], "v2", []),
            ([HEAD, protocol(), metadata(), add("a"), remove("b")], "v2", []),
            ([HEAD, protocol(), metadata(), SIDECAR, SIDECAR], "v2", []),
            ([protocol(), metadata(), SIDECAR], "v2", ["contains 0 CheckpointMetadata actions, expected 1"]),
            ([HEAD, HEAD, protocol(), metadata()], "v2", ["contains 2 CheckpointMetadata actions, expected 1"]),
            ([CheckpointMetadata(version=4), protocol(), metadata()], "v2", ["states version 4, expected 3"]),
            (
                [HEAD, protocol(), metadata(), SIDECAR, add("a")],
                "v2",
                ["has file actions both in its own rows and in sidecars"],
            ),
            ([protocol(), metadata(), CDC], "v1", ["contains Cdc"]),
        ],
    )
    def test_faults(self, actions: list[Action], spec: Spec, expected: list[str]) -> None:
        assert find_content_faults(3, actions, spec) == expected

    @pytest.mark.parametrize("v2", [False, True])
    def test_checkpoint_of_the_model_has_no_fault(self, v2: bool) -> None:
        state = snapshot(add("a"), remove("b"), txn("s", 1), domain("x"))
        assert find_content_faults(3, build_checkpoint_actions(state, v2=v2), "v2" if v2 else "v1") == []


class TestErrata:
    """V22, V23, E11, E12: examples of V2 content in the protocol."""

    SIDECAR_LINE = (
        '{"sidecar":{"path":"3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet","sizeInBytes":2341330,'
        '"modificationTime":1512909768000,"tags":{}}'
    )

    def test_e11_sidecar_line_has_no_last_brace(self) -> None:
        with pytest.raises(JsonError):
            parse_lossless(self.SIDECAR_LINE)
        whole = json.loads(self.SIDECAR_LINE + "}")
        assert msgspec.convert(whole["sidecar"], Sidecar) == Sidecar(
            path="3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet",
            size_in_bytes=2341330,
            modification_time=1512909768000,
            tags={},
        )

    @pytest.mark.parametrize("kind", ["add", "remove"])
    def test_e11_file_lines_have_no_last_brace(self, kind: str) -> None:
        body = '"path":"date=2017-12-10/part-000.c000.gz.parquet","dataChange":false'
        more = ',"partitionValues":{},"size":1,"modificationTime":0' if kind == "add" else ""
        line = f'{{"{kind}":{{{body}{more}}}'
        with pytest.raises(JsonError):
            parse_lossless(line)
        assert msgspec.convert(json.loads(line + "}")[kind], ACTION_TYPES[kind])

    def test_e12_version_of_the_head_is_that_of_the_checkpoint(self) -> None:
        """The example's version equals that of a txn by coincidence."""
        actions = [CheckpointMetadata(version=364475, tags={}), protocol(), metadata(), txn("a", 4389)]
        assert find_content_faults(364475, actions, "v2") == []
        assert find_content_faults(4389, actions, "v2") == ["states version 364475, expected 4389"]

    def test_v23_schema_of_sidecars_in_the_tags_is_a_schema_string(self) -> None:
        line = (
            r'{"version":1,"tags":{"sidecarFileSchema":"{\"type\":\"struct\",\"fields\":[{\"name\":\"add\",\"type\":'
            r"{\"type\":\"struct\",\"fields\":[{\"name\":\"path\",\"type\":\"string\",\"nullable\":true,"
            r"\"metadata\":{}}]},\"nullable\":true,\"metadata\":{}},{\"name\":\"remove\",\"type\":{\"type\":"
            r"\"struct\",\"fields\":[{\"name\":\"path\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}]},"
            r'\"nullable\":true,\"metadata\":{}}]}"}}'
        )
        tags = msgspec.json.decode(line, type=CheckpointMetadata).tags
        assert tags is not None
        of_file = Struct((Field("path", Primitive("string"), True, {}),))
        assert parse_schema(str(tags["sidecarFileSchema"])) == Struct(
            (Field("add", of_file, True, {}), Field("remove", of_file, True, {}))
        )


class TestReconciliation:
    def test_rows_of_a_checkpoint_have_no_order(self) -> None:
        actions = [protocol(), metadata(), add("a", "two"), remove("a", "one"), remove("a")]
        assert reconcile_checkpoint(3, actions) == reconcile_checkpoint(3, actions[::-1])

    def test_commit_info_in_a_checkpoint_is_ignored(self) -> None:
        assert snapshot(CommitInfo(operation="x")).commit_info is None

    def test_actions_of_the_v2_spec_are_not_part_of_the_state(self) -> None:
        assert snapshot(CheckpointMetadata(version=3), SIDECAR) == snapshot()


class TestDifference:
    def test_equal_states_have_none(self) -> None:
        state = snapshot(add("a"), remove("b"), txn("s", 1), domain("x"))
        assert compare_checkpoint(state, state) == []

    def test_missing_and_extra_files(self) -> None:
        found = compare_checkpoint(snapshot(add("a"), add("b")), snapshot(add("b"), add("c")))
        assert [(each.kind, each.key, each.what, each.retained) for each in found] == [
            ("add", "a", "missing", True),
            ("add", "c", "extra", True),
        ]

    def test_add_differs_by_its_vector_and_size(self) -> None:
        found = compare_checkpoint(snapshot(add("a", "one", size=1)), snapshot(add("a", "two", size=2)))
        assert found == [
            Difference("add", "a", "differs", "size", 2, 1),
            Difference("add", "a", "differs", "deletionVector", vector_id("two"), vector_id("one")),
        ]

    @pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
    def test_other_vector_is_another_file_before_current(self, revision: Revision) -> None:
        found = compare_checkpoint(snapshot(add("a", "one")), snapshot(add("a", "two")), revision=revision)
        assert sorted((each.what, each.key) for each in found) == [
            ("extra", ("a", vector_id("two"))),
            ("missing", ("a", vector_id("one"))),
        ]

    def test_encoding_of_the_path_and_data_change_are_not_compared(self) -> None:
        ours = msgspec.structs.replace(add("a%62"), data_change=False)
        assert compare_checkpoint(snapshot(add("ab")), snapshot(ours)) == []

    def test_statistics_that_the_base_lost_are_unknown(self) -> None:
        base, full = snapshot(add("a")), snapshot(add("a", stats='{"numRecords":3}'))
        assert compare_checkpoint(base, full, base=base) == []
        assert len(compare_checkpoint(base, full)) == 1

    def test_missing_tombstone_may_have_expired(self) -> None:
        (found,) = compare_checkpoint(snapshot(remove("a", at=10)), snapshot())
        assert (found.kind, found.key, found.what, found.retained) == ("remove", ("a", None), "missing", None)

    @pytest.mark.parametrize(("clock", "expected"), [(14, [True]), (15, [True]), (16, [])])
    def test_with_clock_and_retention_a_missing_tombstone_is_decided(self, clock: int, expected: list[bool]) -> None:
        found = compare_checkpoint(snapshot(remove("a", at=10)), snapshot(), clock_ms=clock, retention_ms=5)
        assert [each.retained for each in found] == expected

    def test_unknown_tombstone_may_be_older_than_the_replay_base(self) -> None:
        (found,) = compare_checkpoint(snapshot(), snapshot(remove("a")))
        assert (found.what, found.retained) == ("extra", None)

    def test_tombstone_of_a_live_file_is_a_difference(self) -> None:
        found = compare_checkpoint(snapshot(add("a")), snapshot(remove("a")))
        assert [(each.kind, each.what, each.retained) for each in found] == [
            ("add", "missing", True),
            ("remove", "extra", True),
        ]

    def test_tombstone_of_another_vector_of_a_live_file_is_valid(self) -> None:
        (found,) = compare_checkpoint(snapshot(add("a", "one")), snapshot(add("a", "one"), remove("a")))
        assert (found.kind, found.key, found.retained) == ("remove", ("a", None), None)

    def test_tombstone_repeats_every_field_but_statistics_and_tags(self) -> None:
        full = msgspec.structs.replace(
            remove("a", at=1), size=4, base_row_id=2, partition_values={}, tags={"k": "v"}, stats='{"numRecords":1}'
        )
        found = compare_checkpoint(snapshot(full), snapshot(remove("a", at=1)))
        assert [(each.field, each.derived) for each in found] == [("size", None), ("baseRowId", None)]

    def test_missing_transaction_may_have_expired_and_another_version_may_not(self) -> None:
        (missing,) = compare_checkpoint(snapshot(txn("s", 1)), snapshot())
        assert (missing.kind, missing.key, missing.what, missing.retained) == ("txn", "s", "missing", None)
        (other,) = compare_checkpoint(snapshot(txn("s", 1)), snapshot(txn("s", 2)))
        assert (other.field, other.derived, other.replayed, other.retained) == ("version", 2, 1, True)

    def test_domains_never_expire(self) -> None:
        (found,) = compare_checkpoint(snapshot(domain("x")), snapshot())
        assert (found.kind, found.key, found.what, found.retained) == ("domainMetadata", "x", "missing", True)

    def test_protocol_and_metadata(self) -> None:
        other = reconcile_checkpoint(3, [protocol(1, 1), metadata(a="1")])
        found = compare_checkpoint(snapshot(), other)
        assert [(each.kind, each.field) for each in found] == [
            ("protocol", "minWriterVersion"),
            ("metaData", "configuration"),
        ]
        (missing,) = compare_checkpoint(snapshot(), reconcile_checkpoint(3, [metadata()]))
        assert (missing.kind, missing.key, missing.what) == ("protocol", None, "missing")

    def test_row_id_high_water_mark_is_compared_until_r2(self) -> None:
        marked = snapshot(RowIdHighWaterMark(high_water_mark=4))
        (found,) = compare_checkpoint(marked, snapshot(), revision=Revision.R2)
        assert (found.kind, found.what) == ("rowIdHighWaterMark", "missing")
        assert compare_checkpoint(marked, snapshot()) == []


@small_log_settings
@given(small_logs(), st.data(), st.booleans())
def test_replay_from_a_checkpoint_equals_replay_from_version_0(log: SmallLog, data: st.DataObject, v2: bool) -> None:
    last = len(log.expected_state) - 1
    version = data.draw(st.integers(0, last))
    expected_state = build_checkpoint_actions(replay_log(log.commits, to=version), v2=v2)
    base = reconcile_checkpoint(version, data.draw(st.permutations(expected_state)))
    expected = replay_log(log.commits, to=last)
    if version == last:  # a checkpoint does not carry commitInfo
        expected = replace(expected, commit_info=None)
    assert replay_log(log.commits, base=base, to=last) == expected


@small_log_settings
@given(small_logs(), st.integers(0, 200))
def test_checkpoint_differs_from_its_snapshot_only_by_expiry(log: SmallLog, clock: int) -> None:
    state = replay_log(log.commits, to=len(log.expected_state) - 1)
    expected_state = build_checkpoint_actions(state, v2=False, clock_ms=clock, retention_ms=50)
    derived = reconcile_checkpoint(state.version, expected_state)
    assert compare_checkpoint(state, derived, clock_ms=clock, retention_ms=50) == []
    undecided = compare_checkpoint(state, derived)
    assert {(each.kind, each.what, each.retained) for each in undecided} <= {("remove", "missing", None)}
    assert len(undecided) == len(state.tombstones) - len(derived.tombstones)


@small_log_settings
@given(small_logs(), st.data())
def test_action_missing_from_a_checkpoint_is_found(log: SmallLog, data: st.DataObject) -> None:
    state = replay_log(log.commits, to=len(log.expected_state) - 1)
    expected_state = build_checkpoint_actions(state, v2=False)
    lost = data.draw(st.sampled_from(expected_state))
    derived = reconcile_checkpoint(state.version, [each for each in expected_state if each is not lost])
    (found,) = compare_checkpoint(state, derived)
    assert found.what == "missing"
    assert found.replayed == lost
    assert found.kind == {"MetaData": "metaData", "DomainMetadata": "domainMetadata"}.get(
        type(lost).__name__, type(lost).__name__.lower()
    )
    assert isinstance(lost, DomainMetadata) is (found.kind == "domainMetadata")
