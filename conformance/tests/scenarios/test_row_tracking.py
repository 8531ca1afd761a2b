"""Row ids through updates, merges, compactions, vectors and a restore, in all three designs."""

from collections.abc import Sequence
from typing import Any

from helpers.scenario import Scenario, add, commit_info, domain, field, metadata, protocol, remove, schema

from deltaspec.model.rows import row_ids
from deltaspec.protocol.actions import Action, Add, CommitInfo, DomainMetadata, RowIdHighWaterMark
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.files import deletion_vectors
from deltaspec.protocol.revisions import Revision

HIDDEN = {
    "delta.rowTracking.materializedRowIdColumnName": "_row-id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version",
}
ENABLED = {"delta.enableRowTracking": "true", **HIDDEN}

Stored = dict[str, tuple[list[str], list[int | None], list[int | None]]]
"""Contents of each file by path: names of people with their stored ids and row commit versions."""

FILES: Stored = {
    "a": (["ann", "bob", "cid"], [None, None, None], [None, None, None]),
    "b": (["dan", "eve"], [None, None], [None, None]),
    "c": (["ann", "bob", "cid"], [0, 1, 2], [1, None, 1]),
    "d": (["dan", "eve"], [3, 4], [None, 2]),
    "e": (["fay"], [None], [None]),
    "f": (["ann", "bob", "cid", "dan", "eve", "fay"], [0, 1, 2, 3, 4, 10], [1, 3, 1, 4, 2, 4]),
    "g": (["gus"], [None], [None]),
    "h": (["ann", "bob", "cid"], [None, None, None], [None, None, None]),
}


def tracked(path: str, base: int, version: int, **more: Any) -> Add:
    rows = len(FILES[path][0])
    return add(path, rows=rows, base_row_id=base, default_row_commit_version=version, **more)


def removed(path: str, base: int, version: int, **more: Any) -> Action:
    return remove(path, base_row_id=base, default_row_commit_version=version, **more)


def mark(highest: int) -> DomainMetadata:
    return domain("delta.rowTracking", {"rowIdHighWaterMark": highest})


def preserved_info(preserved: str = "true") -> CommitInfo:
    return commit_info(tags={"delta.rowTracking.preserved": preserved})


def people(scenario: Scenario, version: int, deleted: Sequence[str] = ()) -> dict[str, tuple[int, int | None]]:
    """Return all people of a version with their stable row ids and row commit versions."""
    found = {}
    for (path, _), live in scenario[version].files.items():
        names, ids, versions = FILES[path]
        stable = row_ids.compute_stable_row_ids(live, ids)
        last = row_ids.compute_stable_row_commit_versions(live, versions)
        found.update({name: (row, at) for name, row, at in zip(names, stable, last, strict=True)})
    return {name: each for name, each in sorted(found.items()) if name not in deleted}


def tracked_table() -> Scenario:
    """Build a table with three people, then two more."""
    settings = {**ENABLED, "delta.enableDeletionVectors": "true"}
    features = ["deletionVectors"]
    scenario = Scenario(
        protocol(3, 7, features, [*features, "rowTracking", "domainMetadata"]),
        metadata(settings, schema(field("name", "string"))),
    )
    scenario.commit(preserved_info(), tracked("a", 0, 1), mark(2))
    scenario.commit(preserved_info(), tracked("b", 3, 2), mark(4))
    return scenario


def test_rows_keep_their_ids() -> None:
    scenario = tracked_table()
    first = {"ann": (0, 1), "bob": (1, 1), "cid": (2, 1), "dan": (3, 2), "eve": (4, 2)}
    assert people(scenario, 2) == first

    # 3: an update of bob rewrites his file; the others are copied
    scenario.commit(preserved_info(), removed("a", 0, 1), tracked("c", 5, 3), mark(7))
    assert people(scenario, 3) == {**first, "bob": (1, 3)}

    # 4: a merge updates dan and inserts fay, who gets a fresh id
    scenario.commit(preserved_info(), removed("b", 3, 2), tracked("d", 8, 4), tracked("e", 10, 4), mark(10))
    merged = {**first, "bob": (1, 3), "dan": (3, 4), "fay": (10, 4)}
    assert people(scenario, 4) == merged

    # 5: OPTIMIZE moves all rows without changing ids or versions
    moved = {"data_change": False}
    away = [removed("c", 5, 3, **moved), removed("d", 8, 4, **moved), removed("e", 10, 4, **moved)]
    scenario.commit(preserved_info(), *away, tracked("f", 11, 5, **moved), mark(16))
    assert people(scenario, 5) == merged
    assert list(row_ids.compute_default_row_ids(scenario[5].files["f", None], 6)) == [11, 12, 13, 14, 15, 16]

    # 6: eve is deleted by a vector; the file is the same, and so are its ids
    vector = deletion_vectors.build_inline_descriptor([4])
    scenario.commit(preserved_info(), removed("f", 11, 5), tracked("f", 11, 5, deletion_vector=vector))
    assert people(scenario, 6, deleted=["eve"]) == {name: each for name, each in merged.items() if name != "eve"}

    # 7: a restore to version 4 brings eve back, and every id and version with her
    away = [removed("f", 11, 5, deletion_vector=vector)]
    scenario.commit(preserved_info(), *away, tracked("c", 5, 3), tracked("d", 8, 4), tracked("e", 10, 4))
    assert people(scenario, 7) == merged
    assert row_ids.read_high_water_mark(scenario[7]) == 16

    # 8: new rows get ids that were never used
    scenario.commit(preserved_info(), tracked("g", 17, 8), mark(17))
    assert people(scenario, 8) == {**merged, "gus": (17, 8)}

    assert [
        version for version in range(1, 9) if not row_tracking.read_preservation_statement(scenario.commits[version])
    ] == []
    files = [(live, FILES[path][1], ()) for (path, _), live in scenario[8].files.items()]
    assert row_ids.find_repeated_row_ids(files) == set()


def test_ids_are_assigned_once() -> None:
    scenario = tracked_table()
    loser = tracked("e", 4, 3)
    assert scenario.expect_refusal(loser, mark(4)) == "row-tracking.unique-default-ids"
    assert scenario.expect_refusal(tracked("e", 5, 3)) == "row-tracking.high-water-mark"
    assert scenario.expect_refusal(tracked("e", 5, 4), mark(5)) == "row-tracking.commit-version"
    assert scenario.expect_refusal(remove("a")) == "remove.row-ids"
    assert scenario.expect_refusal(tracked("a", 5, 1), mark(7)) == "row-tracking.base-row-id-kept"
    assert scenario.expect_refusal(tracked("a", 0, 3)) == "row-tracking.commit-version-kept"
    scenario.commit(preserved_info(), removed("b", 3, 2))
    assert scenario.expect_refusal(tracked("e", 3, 4)) == "row-tracking.above-mark"
    assert scenario.expect_refusal(domain("delta.rowTracking", {}, removed=True)) == "row-tracking.mark-in-domain"
    scenario.commit(mark(9))  # reserves ids 5 to 9
    scenario.commit(preserved_info(), tracked("e", 7, 5))
    assert people(scenario, 5)["fay"] == (7, 5)


def test_tracking_is_enabled_once_all_rows_have_ids() -> None:
    scenario = Scenario(protocol(1, 2), metadata())
    scenario.commit(add("a", rows=3), add("b", rows=2))
    scenario.commit(protocol(1, 7, None, ["rowTracking", "domainMetadata"]))
    assert scenario.expect_refusal(metadata({"delta.enableRowTracking": "true"})) == "row-tracking.column-names"
    assert scenario.expect_refusal(metadata({**ENABLED, "delta.rowTracking.materializedRowIdColumnName": "id"})) == (
        "row-tracking.column-names-unique"
    )
    assert scenario.expect_refusal(metadata(ENABLED)) == "row-tracking.fields-set-when-enabled"
    assert scenario.expect_refusal(add("c", rows=1)) == "row-tracking.base-row-id"

    # 3: the backfill; fresh ids, and the version of the backfill
    scenario.commit(tracked("a", 0, 3, data_change=False), tracked("b", 3, 3, data_change=False), mark(4))
    scenario.commit(metadata(ENABLED))
    assert people(scenario, 4) == {"ann": (0, 3), "bob": (1, 3), "cid": (2, 3), "dan": (3, 3), "eve": (4, 3)}

    # 5: suspended, and not enabled any more: files come without ids, as they should
    assert scenario.now.protocol is not None
    suspended = metadata({"delta.enableRowTracking": "false", "delta.rowTrackingSuspended": "true", **HIDDEN})
    scenario.commit(suspended)
    assert not row_tracking.assigns_row_ids(scenario.now.protocol, suspended)
    assert row_tracking.assigns_row_ids(scenario.now.protocol, suspended, Revision.R3)
    scenario.commit(add("e", rows=1))

    # 7: going on needs another backfill, above the mark of before
    assert scenario.expect_refusal(metadata(ENABLED)) == "row-tracking.fields-set-when-enabled"
    scenario.commit(metadata(HIDDEN))
    scenario.commit(tracked("e", 5, 8, data_change=False), mark(5))
    scenario.commit(metadata(ENABLED))
    assert people(scenario, 9)["fay"] == (5, 8)


def first_mark(highest: int, *, preserved: bool) -> RowIdHighWaterMark:
    return RowIdHighWaterMark(high_water_mark=highest, preserved_row_ids=preserved)


def test_r1_has_its_own_feature_property_and_flag() -> None:
    enabled = {"delta.enableRowIds": "true", "delta.rowIds.physicalColumnName": "_row-id"}
    scenario = Scenario(protocol(1, 7, None, ["rowIds"]), metadata(), revision=Revision.R1)
    scenario.commit(add("a", rows=3, base_row_id=0), first_mark(9, preserved=True))  # reserves 3 to 9
    assert scenario.expect_refusal(metadata({"delta.enableRowIds": "true"})) == "row-ids.column-name"
    scenario.commit(metadata(enabled))

    # an unchanged mark is repeated with each new file
    new = add("b", rows=2, base_row_id=3)
    assert scenario.expect_refusal(new) == "row-ids.mark-while-reserved"
    assert scenario.expect_refusal(new, first_mark(9, preserved=False)) == "row-ids.preserved-flag"
    assert scenario.expect_refusal(add("b", rows=2), first_mark(9, preserved=True)) == "row-ids.base-row-id"
    scenario.commit(new, first_mark(9, preserved=True))
    assert scenario.expect_refusal(remove("a")) == "row-ids.removed-base-row-id"

    # an update may lose ids, and says so
    scenario.commit(remove("a", base_row_id=0), add("h", rows=3, base_row_id=10), first_mark(12, preserved=False))
    assert row_tracking.read_preservation_statement(scenario.commits[4], Revision.R1) is False
    assert scenario.now.protocol is not None
    assert scenario.now.metadata is not None
    assert row_tracking.is_enabled(scenario.now.protocol, scenario.now.metadata, Revision.R1)
    assert not row_tracking.is_enabled(scenario.now.protocol, scenario.now.metadata)
    found = people(scenario, 4)
    assert found == {"ann": (10, None), "bob": (11, None), "cid": (12, None), "dan": (3, None), "eve": (4, None)}


def test_r2_keeps_the_mark_in_an_action() -> None:
    scenario = Scenario(protocol(1, 7, None, ["rowTracking"]), metadata(ENABLED), revision=Revision.R2)
    scenario.commit(preserved_info(), tracked("a", 0, 1), RowIdHighWaterMark(high_water_mark=9))  # reserves 3 to 9
    scenario.commit(preserved_info(), tracked("b", 3, 2))  # which need no mark any more
    assert scenario.expect_refusal(tracked("c", 10, 3)) == "row-tracking.mark-of-action"
    scenario.commit(preserved_info(), removed("a", 0, 1), tracked("c", 10, 3), RowIdHighWaterMark(high_water_mark=12))
    assert people(scenario, 3)["bob"] == (1, 3)
    assert scenario.now.row_id_high_water_mark == RowIdHighWaterMark(high_water_mark=12)


def test_r3_prints_another_key_for_the_mark() -> None:
    scenario = Scenario(protocol(1, 7, None, ["rowTracking"]), metadata(ENABLED), revision=Revision.R3)
    features = protocol(1, 7, None, ["rowTracking", "domainMetadata"])
    scenario.commit(features)
    scenario.commit(preserved_info(), tracked("a", 0, 2), domain("delta.rowTracking", {"highWaterMark": 2}))
    assert row_ids.read_high_water_mark(scenario.now) == 2
    assert scenario.expect_refusal(tracked("e", 3, 3)) == "row-tracking.high-water-mark"
    scenario.commit(preserved_info(), tracked("e", 3, 3), mark(3))
    assert row_ids.read_high_water_mark(scenario.now) == 3
