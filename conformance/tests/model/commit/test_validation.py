"""May this commit follow this snapshot? Source: the requirements for writers, chapter by chapter."""

import json
from typing import Any

import msgspec
import pytest
from helpers.scenario import ONE_COLUMN, add, field, metadata, protocol, remove, schema
from msgspec.structs import replace

from deltaspec.model.commit.file_changes import check_required_columns
from deltaspec.model.commit.table_changes import FAULT_REQUIREMENTS
from deltaspec.model.commit.validation import check_commit, collect_refusals
from deltaspec.model.decisions import Accepted, Refused
from deltaspec.model.log.proposed_commit import TableVersion
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, replay_commit
from deltaspec.protocol.actions import Action, Add, CommitInfo, DomainMetadata, MetaData, RowIdHighWaterMark, Txn
from deltaspec.protocol.features.supported_features import FAULTS
from deltaspec.protocol.files.deletion_vectors import build_inline_descriptor
from deltaspec.protocol.revisions import Revision

ID = '{"name":"id","type":"long","nullable":true,"metadata":%s}'


def table(*actions: Action, revision: Revision = Revision.CURRENT) -> Snapshot:
    """Build the snapshot of a table created by one commit."""
    assert check_commit(EMPTY_SNAPSHOT, 0, actions, revision) == Accepted()
    return replay_commit(EMPTY_SNAPSHOT, 0, actions, revision)


def list_refusals(snapshot: Snapshot, *actions: Action, revision: Revision = Revision.CURRENT) -> list[str]:
    return [each.requirement for each in collect_refusals(snapshot, snapshot.version + 1, actions, revision)]


PLAIN = table(protocol(1, 2), metadata(), add())


def test_plain_commits_are_accepted() -> None:
    assert check_commit(PLAIN, 1, [add("b"), remove(), Txn(app_id="x", version=1)]) == Accepted()
    assert check_commit(PLAIN, 1, []) == Accepted()


def test_decision_is_the_first_refusal() -> None:
    answer = check_commit(PLAIN, 3, [add("b"), add("b")])
    assert answer == Refused("log.versions-contiguous", "version 3 after 0, expected 1")
    assert [each.requirement for each in collect_refusals(PLAIN, 3, [add("b"), add("b")])] == [
        "log.versions-contiguous",
        "reconciliation.no-repeated-actions",
    ]


def test_table_begins_with_protocol_and_metadata() -> None:
    assert list_refusals(EMPTY_SNAPSHOT, protocol(1, 2)) == ["metadata.in-first-version"]
    assert list_refusals(EMPTY_SNAPSHOT, metadata()) == ["reconciliation.one-protocol"]


def test_file_may_be_removed_and_added_only_with_another_vector() -> None:
    assert list_refusals(PLAIN, remove(), add()) == ["reconciliation.live-and-dead-disjoint"]
    assert list_refusals(PLAIN, add(data_change=False, tags={"a": "b"})) == []


def partitioned() -> MetaData:
    return replace(metadata(), partition_columns=["id"])


def test_live_files_have_values_for_new_partition_columns() -> None:
    assert list_refusals(PLAIN, partitioned()) == ["add.partition-values"]
    assert list_refusals(PLAIN, partitioned(), add("b", partition_values={"id": "1"}), remove()) == []
    before = table(protocol(1, 2), partitioned(), add(partition_values={"id": "1"}))
    assert list_refusals(before, metadata()) == ["add.partition-values"]
    assert list_refusals(before, metadata(), remove()) == []
    assert list_refusals(before, add("b")) == ["add.partition-values"]


VECTORS = table(
    protocol(3, 7, ["deletionVectors"], ["deletionVectors"]), metadata({"delta.enableDeletionVectors": "true"}), add()
)
VECTOR = build_inline_descriptor([1])
ROWS = '{"numRecords":3}'


def test_vector_requires_removing_the_file_without_it() -> None:
    marked = add(deletion_vector=VECTOR, stats=ROWS)
    assert list_refusals(VECTORS, remove(), marked) == []
    assert list_refusals(VECTORS, marked) == ["add.live-vector-removed"]
    assert list_refusals(VECTORS, marked, revision=Revision.R3) == []


def test_new_vector_requires_the_property_since_r3() -> None:
    off = table(protocol(3, 7, ["deletionVectors"], ["deletionVectors"]), metadata(), add())
    actions = (remove(), add(deletion_vector=VECTOR, stats=ROWS))
    assert list_refusals(off, *actions) == ["deletion-vectors.made-while-enabled"]
    assert list_refusals(off, *actions, revision=Revision.R2) == []


def test_vector_is_contained_in_its_descriptor() -> None:
    def refusals(**fields: Any) -> list[str]:
        return list_refusals(VECTORS, add("b", deletion_vector=replace(VECTOR, **fields), stats=ROWS))

    assert refusals() == []
    assert refusals(storage_type="x") == ["deletion-vectors.storage-type"]
    assert refusals(storage_type="u", path_or_inline_dv="abc") == ["deletion-vectors.path"]
    assert refusals(storage_type="p", path_or_inline_dv="abc") == ["deletion-vectors.path"]
    assert refusals(offset=1) == ["deletion-vectors.offset"]
    assert refusals(cardinality=2) == ["deletion-vectors.cardinality"]
    assert refusals(size_in_bytes=VECTOR.size_in_bytes - 4) == [
        "deletion-vectors.size",
        "deletion-vectors.bitmap-format",
    ]
    assert refusals(cardinality=4) == ["deletion-vectors.cardinality", "deletion-vectors.rows-exist"]


def test_vector_of_an_older_version_is_not_new() -> None:
    marked = add(deletion_vector=VECTOR, stats=ROWS)
    with_vector = replay_commit(VECTORS, 1, [remove(), marked])
    without_files = replay_commit(with_vector, 2, [remove(deletion_vector=VECTOR), metadata()])
    assert list_refusals(without_files, marked) == []


def test_vectors_require_row_counts_and_the_feature() -> None:
    assert list_refusals(VECTORS, add("b", deletion_vector=VECTOR, stats="{}")) == [
        "deletion-vectors.needs-num-records"
    ]
    enabled = metadata({"delta.enableDeletionVectors": "true"})
    assert list_refusals(table(protocol(1, 2), enabled), add(deletion_vector=VECTOR, stats=ROWS)) == [
        "deletion-vectors.needs-feature"
    ]


def test_append_only_is_evaluated_before_and_after_the_commit() -> None:
    """S33: which of the two counts is undecided."""
    appending = metadata({"delta.appendOnly": "true"})
    kept = table(protocol(1, 2), appending, add())
    assert list_refusals(kept, remove()) == ["append-only.no-removal"]
    assert list_refusals(kept, remove(data_change=False), add("b", data_change=False)) == []
    assert list_refusals(kept, metadata({"delta.appendOnly": "false"}), remove()) == []
    assert list_refusals(kept, metadata(), remove()) == []
    assert list_refusals(kept, appending, remove()) == ["append-only.no-removal"]
    assert list_refusals(PLAIN, appending, remove()) == []
    unsupported = table(protocol(1, 7, None, []), appending, add())
    assert list_refusals(unsupported, remove()) == []


def test_divergences_are_accepted() -> None:
    """What the protocol leaves undecided is not refused: E41, E37."""
    before = table(protocol(1, 7, None, ["appendOnly", "domainMetadata"]), metadata())
    assert list_refusals(before, protocol(1, 7, None, ["appendOnly"])) == []
    assert list_refusals(before, user_domain("1"), user_domain("2")) == []
    used = table(protocol(1, 4), metadata({"delta.enableChangeDataFeed": "true"}))
    assert list_refusals(used, protocol(1, 7, None, []), metadata()) == []


def user_domain(configuration: str) -> DomainMetadata:
    return DomainMetadata(domain="app", configuration=configuration, removed=False)


WIDENING = protocol(3, 7, ["typeWidening"], ["typeWidening"])


@pytest.mark.parametrize(
    ("after", "schema", "expected"),
    [
        ({}, ONE_COLUMN, []),
        ({"delta.enableTypeWidening": "true"}, ONE_COLUMN, ["type-widening.gone-with-feature"]),
    ],
)
def test_type_widening_is_removed_without_a_trace(after: dict[str, str], schema: str, expected: list[str]) -> None:
    """E41: the newest revision defines the removal."""
    before = table(WIDENING, metadata({"delta.enableTypeWidening": "true"}))
    assert list_refusals(before, protocol(3, 7, [], []), metadata(after, schema)) == expected


def test_feature_is_required_no_later_than_its_use() -> None:
    ntz = ONE_COLUMN.replace("long", "timestamp_ntz")
    both = ["timestampNtz"]
    assert list_refusals(PLAIN, metadata(schema=ntz)) == ["schema.types-need-features"]
    assert list_refusals(PLAIN, protocol(3, 7, both, [*both, "appendOnly", "invariants"]), metadata(schema=ntz)) == []
    old = ["timestampNTZ"]
    upgraded = (protocol(3, 7, old, [*old, "appendOnly", "invariants"]), metadata(schema=ntz))
    assert list_refusals(PLAIN, *upgraded, revision=Revision.R2) == []


def mapped(number: int, physical: str, highest: int) -> MetaData:
    own = f'{{"delta.columnMapping.id":{number},"delta.columnMapping.physicalName":"{physical}"}}'
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": str(highest)}
    return metadata(settings, '{"type":"struct","fields":[' + ID % own + "]}")


def test_mapped_columns_keep_ids_and_physical_names() -> None:
    before = table(protocol(2, 5), mapped(1, "col-1", 4))
    assert list_refusals(before, mapped(1, "col-1", 4)) == []
    assert list_refusals(before, mapped(1, "col-9", 4)) == ["column-mapping.physical-name-stays"]
    assert list_refusals(before, mapped(1, "col-1", 3)) == ["column-mapping.max-id-never-falls"]
    assert list_refusals(before, mapped(5, "col-1", 5)) == ["column-mapping.new-columns-have-new-paths"]
    assert list_refusals(before, mapped(5, "col-1", 5), revision=Revision.R3) == [
        "column-mapping.new-columns-named-anew"
    ]
    assert list_refusals(before, mapped(5, "col-5", 4)) == ["column-mapping.max-column-id"]


def test_mapping_starts_with_metadata_and_protocol_of_one_commit() -> None:
    assert list_refusals(PLAIN, protocol(2, 5), mapped(1, "id", 1)) == []


TIMED = protocol(1, 7, None, ["inCommitTimestamp"])
ENABLED = "delta.enableInCommitTimestamps"


def info(timestamp: int | None) -> CommitInfo:
    return CommitInfo(in_commit_timestamp=timestamp)


def test_in_commit_timestamps_increase() -> None:
    before = table(info(5), TIMED, metadata({ENABLED: "true"}))
    assert list_refusals(before, info(6), add()) == []
    assert list_refusals(before, info(5)) == ["in-commit-timestamp.increases"]
    assert list_refusals(before, info(None)) == ["in-commit-timestamp.present"]
    assert list_refusals(before, add(), info(6)) == ["in-commit-timestamp.commit-info-first"]
    unknown = replay_commit(EMPTY_SNAPSHOT, 7, [TIMED, metadata({ENABLED: "true"})])
    assert list_refusals(unknown, info(1)) == []


def test_enablement_on_an_existing_table_is_recorded_and_kept() -> None:
    version, timestamp = "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"
    recorded = {ENABLED: "true", version: "1", timestamp: "9"}
    before = table(TIMED, metadata())
    assert list_refusals(before, info(9), metadata({ENABLED: "true"})) == ["in-commit-timestamp.enablement-recorded"]
    assert list_refusals(before, info(9), metadata(recorded)) == []
    after = replay_commit(before, 1, [info(9), metadata(recorded)])
    assert list_refusals(after, info(10), metadata({ENABLED: "true"})) == ["in-commit-timestamp.enablement-recorded"]


TRACKING = protocol(1, 7, None, ["rowTracking", "domainMetadata"])


def mark(value: int) -> DomainMetadata:
    text = f'{{"rowIdHighWaterMark":{value}}}'
    return DomainMetadata(domain="delta.rowTracking", configuration=text, removed=False)


def tracked(path: str, base: int | None, version: int | None, **more: Any) -> Add:
    return add(path, base_row_id=base, default_row_commit_version=version, stats=ROWS, **more)


def test_row_ids_are_fresh_and_below_the_mark() -> None:
    before = table(TRACKING, metadata(), tracked("a", 0, 0), mark(2))
    assert list_refusals(before, tracked("b", 3, 1), mark(5)) == []
    assert list_refusals(before, tracked("b", 3, 1), mark(4)) == ["row-tracking.high-water-mark"]
    assert list_refusals(before, tracked("b", 2, 1), mark(5)) == ["row-tracking.unique-default-ids"]
    assert list_refusals(before, add("b", stats=ROWS)) == ["row-tracking.base-row-id", "row-tracking.commit-version"]
    assert list_refusals(before, tracked("b", 3, 2), mark(5)) == ["row-tracking.commit-version"]
    assert list_refusals(before, mark(8)) == []


def test_mark_stays_above_the_ids_of_removed_files() -> None:
    before = table(TRACKING, metadata(), tracked("a", 0, 0), mark(2))
    removed = remove(base_row_id=0, default_row_commit_version=0)
    assert list_refusals(before, removed, mark(2)) == []
    assert list_refusals(before, removed, mark(1)) == ["row-tracking.high-water-mark"]
    without_file = replay_commit(before, 1, [removed])
    later = [each.requirement for each in collect_refusals(without_file, 2, [mark(1)], earlier=[before])]
    assert later == ["row-tracking.high-water-mark"]
    lowered = replay_commit(without_file, 2, [mark(1)])
    assert list(collect_refusals(lowered, 3, [mark(2)], earlier=[before, without_file])) == []
    dropped = replay_commit(without_file, 2, [protocol(1, 7, None, ["domainMetadata"])])
    again = [TRACKING, mark(1)]
    assert list(collect_refusals(dropped, 3, again, earlier=[before, without_file])) == []


def test_file_keeps_its_row_ids() -> None:
    before = table(TRACKING, metadata(), tracked("a", 0, 0), mark(2))
    assert list_refusals(before, tracked("a", 0, 0)) == []
    assert list_refusals(before, tracked("a", 3, 1), mark(5)) == [
        "row-tracking.base-row-id-kept",
        "row-tracking.commit-version-kept",
    ]
    assert list_refusals(before, remove(base_row_id=0, default_row_commit_version=0)) == []
    assert list_refusals(before, remove()) == ["remove.row-ids"]


def test_remove_describes_its_file() -> None:
    added = msgspec.structs.replace(add("a"), size=7, partition_values={"p": "1"})
    before = table(protocol(1, 2), metadata(), added)
    assert list_refusals(before, remove()) == []
    assert list_refusals(before, remove(size=7, partition_values={"p": "01"})) == []
    assert list_refusals(before, remove(size=8, partition_values={})) == ["remove.of-its-file"]
    assert list_refusals(before, remove(partition_values={"p": "2"})) == ["remove.of-its-file"]
    assert list_refusals(before, remove(size=0)) == []
    assert list_refusals(before, remove(size=0, partition_values={}, extended_file_metadata=True)) == [
        "remove.of-its-file"
    ]
    assert list_refusals(before, remove(path="b", size=8, partition_values={"p": "2"})) == []


def test_files_of_another_table_are_new() -> None:
    """A clone that is created again: the same files with another id."""
    before = table(TRACKING, metadata(), tracked("a", 0, 0), mark(2))
    replaced = msgspec.structs.replace(metadata(), id="33333333-2222-4333-8444-555555555555")
    assert list_refusals(before, replaced, tracked("a", 3, 1), mark(5)) == []
    assert list_refusals(before, replaced, tracked("a", 3, 0), mark(5)) == []
    assert list_refusals(before, replaced, tracked("a", 3, 2), mark(5)) == ["row-tracking.commit-version"]
    assert list_refusals(before, replaced, add("a", stats=ROWS)) == [
        "row-tracking.base-row-id",
        "row-tracking.commit-version",
    ]


def test_mark_is_an_action_before_r3() -> None:
    r2 = protocol(1, 7, None, ["rowTracking"])
    before = table(r2, metadata(), tracked("a", 0, 0), RowIdHighWaterMark(high_water_mark=2), revision=Revision.R2)
    new, more = tracked("b", 3, 1), RowIdHighWaterMark(high_water_mark=5)
    assert list_refusals(before, new, more, revision=Revision.R2) == []
    assert list_refusals(before, new, revision=Revision.R2) == ["row-tracking.mark-of-action"]


def test_commit_with_new_files_requires_a_mark_in_r1() -> None:
    r1 = protocol(1, 7, None, ["rowIds"])
    reserved = RowIdHighWaterMark(high_water_mark=9, preserved_row_ids=False)
    first = add(base_row_id=0, stats=ROWS)
    before = table(r1, metadata(), first, reserved, revision=Revision.R1)
    new = add("b", base_row_id=3, stats=ROWS)
    assert list_refusals(before, new, reserved, revision=Revision.R1) == []
    assert list_refusals(before, new, revision=Revision.R1) == ["row-ids.mark-while-reserved"]
    assert list_refusals(before, first, revision=Revision.R1) == []


def test_enabled_row_tracking_has_names_for_its_columns() -> None:
    before = table(TRACKING, metadata())
    settings = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version",
    }
    assert list_refusals(before, metadata(settings)) == []
    assert list_refusals(before, metadata({"delta.enableRowTracking": "true"})) == ["row-tracking.column-names"] * 2
    shared = dict.fromkeys(settings, "_row") | {"delta.enableRowTracking": "true"}
    assert list_refusals(before, metadata(shared)) == ["row-tracking.column-names-unique"] * 2


def test_void_that_cannot_be_stored_forbids_files() -> None:
    array = '{"type":"array","elementType":"void","containsNull":true}'
    before = table(protocol(1, 2), metadata(schema=ONE_COLUMN.replace('"long"', array)))
    assert list_refusals(before, add()) == ["schema.void-not-in-containers"]
    assert list_refusals(before, add(), revision=Revision.R3) == []


def test_state_is_refused_once_whichever_side_causes_it() -> None:
    """A later commit is not refused for what is already illegal."""
    ntz = metadata(schema=ONE_COLUMN.replace("long", "timestamp_ntz"))
    feature = ["timestampNtz"]
    before = table(protocol(3, 7, feature, feature), ntz)
    without = protocol(1, 7, None, [])
    assert list_refusals(before, without) == ["protocol.breaking-changes"]
    assert list_refusals(PLAIN, ntz) == ["schema.types-need-features"]
    illegal = replay_commit(before, 1, [without])
    assert list_refusals(illegal, add()) == []
    assert list_refusals(illegal, ntz) == []


def test_refused_protocol_faults_are_defined() -> None:
    assert set(FAULT_REQUIREMENTS) <= set(FAULTS)


def test_catalog_managed_commits_name_their_transaction() -> None:
    both = ["catalogManaged"]
    managed = protocol(3, 7, both, [*both, "inCommitTimestamp"])
    timed = CommitInfo(in_commit_timestamp=1, txn_id="t")
    before = table(timed, managed, metadata({ENABLED: "true"}))
    assert list_refusals(before, CommitInfo(in_commit_timestamp=2, txn_id="u")) == []
    assert list_refusals(before, info(2)) == ["commit-info.transaction-id"]


def list_null_columns(partition_value: str | None, **parts: Any) -> list[str]:
    """Return the refusals of a file with null in a column that is not nullable."""
    columns = msgspec.json.encode({"type": "struct", "fields": [
        {"name": name, "type": "long", "nullable": False, "metadata": {}} for name in ("p", "c")
    ]}).decode()  # fmt: skip
    state = {"protocol": protocol(1, 2), "metadata": metadata(schema=columns, partitioned_by=["p"]), **parts}
    file = add(partition_values={"p": partition_value}, stats='{"numRecords":2,"nullCount":{"c":2}}')
    snapshot = replace(EMPTY_SNAPSHOT, version=0, **state)
    return [str(each) for each in check_required_columns(TableVersion(snapshot, Revision.CURRENT), file)]


def test_null_in_columns_that_are_not_nullable() -> None:
    requirement = "data-files.required-columns"
    assert list_null_columns(None) == [str(Refused(requirement, f"a has null in {name}")) for name in ("p", "c")]
    assert list_null_columns("7") == [str(Refused(requirement, "a has null in c"))]


@pytest.mark.parametrize("part", ["protocol", "metadata"])
def test_required_columns_of_an_unknown_state_are_not_judged(part: str) -> None:
    assert list_null_columns(None, **{part: None}) == []


def test_statistics_of_unmapped_columns_are_judged_without_older_versions() -> None:
    fields = schema(field("id", delta__columnMapping__physicalName="col-1"))
    older = replace(table(protocol(1, 2), metadata(schema=fields)), version=7)
    named, misnamed = (add(stats=json.dumps({"numRecords": 1, "minValues": {name: 1}})) for name in ("id", "col-1"))
    assert list_refusals(older, named) == []
    assert list_refusals(older, misnamed) == ["column-mapping.enabled-by-property"]
