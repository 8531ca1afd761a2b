"""What checks of log files leave undecided is in the ledger, with the views and the file concerned."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from helpers.catalog import list_unchecked
from msgspec.structs import replace
from validation.test_concurrent_writes import use_store
from validation.test_failing_reads import FAILURE, FailingStore, commit_path
from validation.test_undecodable_lines import encode_undecodable

import deltaspec
from deltaspec.protocol.json_values import MAX_DEPTH
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation.log.hint_checks import LONE_SURROGATE_REASON
from deltaspec.views.files import outdated_files
from deltaspec.wire.log import checkpoint_summary
from deltaspec.wire.parquet.thrift import ThriftError
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
    txn_action,
)
from planted_tables.bases.catalog_managed import (
    FIRST_UUID,
    add_staged_commit,
    build_managed_table,
    transaction_commit_info,
)
from planted_tables.bases.iceberg import build_compatible_table
from planted_tables.bases.log_only import (
    build_checkpointed_table,
    build_state_rows,
    build_table,
    build_table_with_checksum,
    build_table_with_compaction,
    build_table_with_hint,
    build_v2_checkpointed_table,
)
from planted_tables.bases.retention import REMOVED_MS
from planted_tables.bases.row_ids import build_r1_tracked_table, build_tracked_table

CHECKPOINT = f"{LOG}{1:020}.checkpoint.parquet"
OTHER_UUID = "00000000-0000-4000-8000-000000000001"
STAGED = f"{LOG}_staged_commits/{2:020}.{FIRST_UUID}.json"


def validate(store: FailingStore, **options: Any) -> Report:
    with use_store(store):
        return deltaspec.validate("memory", **{"level": "log", "history": "all", **options})


def collect_entries(report: Report) -> dict[tuple[str, str | None], set[str]]:
    """Return the views of the ledger entries by reason and file."""
    found: dict[tuple[str, str | None], set[str]] = {}
    for each in list_unchecked(report):
        view = RULES[each.rule].view.name if each.rule in RULES else each.rule
        found.setdefault((each.reason, each.file), set()).add(view)
    return found


def collect(files: TableFiles, **options: Any) -> dict[tuple[str, str | None], set[str]]:
    return collect_entries(validate(FailingStore(files), **options))


# checkpoints, compactions and checksums


@pytest.mark.parametrize("kind", ["protocol", "txn", "domainMetadata"])
def test_checkpoint_with_an_undecodable_action_is_not_compared(kind: str) -> None:
    files = build_v2_checkpointed_table("uuid-json")
    files.checkpoints[0].rows.append(encode_undecodable(kind))
    (path,) = [each for each in FailingStore(files).files if ".checkpoint." in each]
    entries = collect(files)
    assert entries["an action of the checkpoint cannot be decoded", path] == {"replay_differences"}


@pytest.mark.parametrize("kind", ["txn", "domainMetadata"])
def test_base_with_an_undecodable_action_is_not_compared_with_earlier_commits(kind: str) -> None:
    files = build_v2_checkpointed_table("uuid-json")
    files.checkpoints[0].rows.append(encode_undecodable(kind))
    files.commits[1].append(txn_action("stream", 7))
    del files.commits[0]
    (path,) = [each for each in FailingStore(files).files if ".checkpoint." in each]
    entries = collect(files, history="latest")
    assert entries["an action of the checkpoint cannot be decoded", path] == {"replay_differences"}
    reason = "an action of the checkpoint that the history starts from cannot be decoded"
    assert entries[reason, path] >= {"replay_differences", "checksums"}


def test_earlier_commit_that_cannot_be_read_is_not_checked() -> None:
    store = FailingStore(build_cleaned_up_table(), ("read", commit_path(1), 1))
    reason = f"{commit_path(1)}: {FAILURE}"
    assert collect_entries(validate(store)) == {(reason, commit_path(1)): {"lines", "commits", "file_actions"}}


def test_line_of_an_earlier_commit_that_is_nested_too_deeply_is_not_checked() -> None:
    store = FailingStore(build_cleaned_up_table())
    store.files[commit_path(1)] += b'{"madeUp":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}\n"
    (((reason, file), views),) = collect_entries(validate(store)).items()
    assert (reason.partition(" at ")[0], file) == ("line 4 is nested more than 200 levels deep", commit_path(1))
    assert views == {"lines", "commits", "file_actions"}


def test_metadata_before_that_of_an_earlier_commit_need_not_be_known() -> None:
    """The metadata of version 1 is known only if version 2, of the checkpoint, does not replace it."""
    files = build_table(last_remove=False)
    rows = [*build_state_rows(files), {"add": get_action(files, 2, "add")}]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    files.commits[2].append({"metaData": get_action(files, 0, "metaData")})
    files.commits[3] = [commit_info_action(3)]
    del files.commits[0]
    report = validate(FailingStore(files))
    assert (report.verdict, report.totals) == ("conforms", {})
    assert collect_entries(report) == {}


INDEPENDENT_OF_REPLAY = {
    *("checkpoint_columns", "checkpoint_contents", "checkpoints", "last_checkpoint", "listing", "log_starts"),
    *("sidecars", "staged_commits", "typed_copies"),
}
"""Views of log files that are not commits, and of the directory."""


def test_commit_that_cannot_be_read_leaves_all_that_depends_on_replay_undecided() -> None:
    store = FailingStore(build_checkpointed_table(), ("read", commit_path(0), 1))
    reason, checkpoint = f"{commit_path(0)}: {FAILURE}", "_delta_log/00000000000000000001.checkpoint.parquet"
    entries = collect_entries(validate(store, history="latest"))
    views = entries.pop((reason, commit_path(0)))
    assert entries == {(reason, checkpoint): {"checkpoint_contents"}}  # its statistics are compared with replay
    expected = {each.view.name for each in RULES.values() if each.level == "log"} - INDEPENDENT_OF_REPLAY
    # CKP071, CKP084 and LOG005 depend on features and properties of the table
    assert views == expected | {"checkpoints", "checkpoint_contents", "listing"}


def build_cleaned_up_table() -> TableFiles:
    """Build a table whose log begins with the commit of its checkpoint, which is therefore not replayed."""
    files = build_checkpointed_table()
    del files.commits[0]
    return files


@pytest.mark.parametrize(("revision", "build"), [("r1", build_r1_tracked_table), ("r2", build_tracked_table)])
def test_row_id_mark_that_cannot_be_decoded_is_not_compared(revision: str, build: Callable[[], TableFiles]) -> None:
    files = build()
    files.checkpoints.append(CheckpointFiles(1, rows=build_state_rows(files)))
    lines = files.commits[1]
    number = next(number for number, line in enumerate(lines) if "rowIdHighWaterMark" in line)
    lines[number] = encode_undecodable("rowIdHighWaterMark")
    report = validate(FailingStore(files), revision=revision)
    assert report.totals == {"LIN020": 1}
    assert collect_entries(report)["a line cannot be decoded", commit_path(1)] == {"replay_differences"}


def test_table_that_a_revision_refuses_has_no_other_findings() -> None:
    files = build_table(protocol=protocol_action(3, 7, ["ofTheFuture"], ["ofTheFuture"]))
    files.commits[1].append(b'{"add":5}')
    report = validate(FailingStore(files), revision="r1")
    assert (report.verdict, report.totals) == ("refused", {})
    ((reason, file), views), *others = collect_entries(report).items()
    assert (reason, file, others) == ("revision r1 refuses the table: reader features ofTheFuture", None, [])
    assert "lines" in views


def test_tombstone_that_the_base_may_have_left_out_is_listed() -> None:
    """Nothing can ever decide it, so a sound, cleaned-up table conforms."""
    files = build_checkpointed_table(last_remove=False)
    adds = [row for row in files.commits[2] if isinstance(row, dict) and "add" in row]
    rows = [*build_state_rows(files), *adds, remove_action(add_action("old.parquet", rows=1))]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    del files.commits[0]
    report = validate(FailingStore(files))
    assert (report.verdict, report.totals, report.checked.not_checked) == ("conforms", {}, [])
    (listed,) = [each for each in report.checked.derived_files_not_compared if "left out" in each.reason]
    assert listed.file == f"{LOG}{2:020}.checkpoint.parquet"
    assert listed.reason.startswith("its tombstones and transactions that the checkpoint at the start")


def test_tombstone_of_a_live_file_is_a_violation_after_cleanup() -> None:
    files = build_checkpointed_table(last_remove=False)
    adds = [row for row in files.commits[2] if isinstance(row, dict) and "add" in row]
    rows = [*build_state_rows(files), *adds, remove_action(add_action("b.parquet", rows=10))]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    del files.commits[0]
    assert validate(FailingStore(files)).totals.keys() >= {"CKP033"}


@pytest.mark.parametrize("is_older", [True, False])
def test_of_two_checkpoints_of_one_version_either_may_have_more_tombstones(is_older: bool) -> None:
    files = build_v2_checkpointed_table("uuid-json", sidecars=False)
    (first,) = files.checkpoints
    tombstone = remove_action(add_action("old.parquet", rows=1))
    files.checkpoints.append(replace(first, uuid=OTHER_UUID, rows=[*first.rows, tombstone]))
    if is_older:
        files.checkpoints.reverse()
    del files.commits[0]
    report = validate(FailingStore(files))
    assert (report.totals, report.checked.not_checked) == ({}, [])


def test_expired_tombstone_may_be_missing_in_a_checkpoint() -> None:
    files = build_checkpointed_table()
    adds = [row for row in files.commits[2] if isinstance(row, dict) and "add" in row]
    removed = get_action(files, 2, "remove")["path"]
    rows = [row for row in build_state_rows(files) if row.get("add", {}).get("path") != removed]
    files.checkpoints.append(CheckpointFiles(2, rows=[*rows, *adds]))
    report = validate(FailingStore(files), clock=REMOVED_MS + 10**12)
    assert (report.totals, report.checked.not_checked) == ({}, [])


@pytest.mark.parametrize("kind", ["protocol", "add", "txn"])
def test_compaction_with_an_undecodable_action_is_not_compared(kind: str) -> None:
    files = build_table_with_compaction()
    store = FailingStore(files)
    (path,) = [each for each in store.files if "compacted" in each]
    store.files[path] += b"\n" + encode_undecodable(kind)
    report = validate(store)
    reason = "an action of the compaction cannot be decoded"
    assert collect_entries(report)[reason, path] == {"replay_differences"}
    assert {RULES[code].view.name for code in report.totals} == {"lines"}


def test_compaction_is_not_compared_without_one_of_its_own_files() -> None:
    store = FailingStore(build_table_with_compaction())
    (path,) = [each for each in store.files if "compacted" in each]
    lines = store.files[path].splitlines()
    lines[next(number for number, line in enumerate(lines) if line.startswith(b'{"add"'))] = b'{"add":5}'
    store.files[path] = b"\n".join(lines)
    report = validate(store)
    assert report.totals == {"LIN010": 1}
    assert set(collect_entries(report)) == {("an action of the compaction cannot be decoded", path)}


@pytest.mark.parametrize("history", ["latest", "all"])
@pytest.mark.parametrize("place", ["commit", "earlier commit", "compaction"])
def test_table_actions_of_a_compaction_are_not_compared_if_one_cannot_be_decoded(place: str, history: str) -> None:
    files = build_table_with_compaction()
    for lines in (files.commits[1], files.compactions[1, 2]):
        lines.append(txn_action("app", 5))
    if place == "earlier commit":
        files.checkpoints.append(CheckpointFiles(1, rows=build_state_rows(files)))
        del files.commits[0]
    changed = files.compactions[1, 2] if place == "compaction" else files.commits[1]
    changed[-1] = encode_undecodable("txn")
    report = validate(FailingStore(files), history=history)
    assert report.totals == {"LIN015": 1}
    owner = "the compaction" if place == "compaction" else "its commits"
    path = f"{LOG}{1:020}.{2:020}.compacted.json"
    assert collect_entries(report)[f"an action of {owner} cannot be decoded", path] == {"replay_differences"}


def test_compaction_is_not_compared_if_a_commit_cannot_be_read() -> None:
    files = build_table_with_compaction()
    for lines in (files.commits[1], files.compactions[1, 2]):
        lines.append(txn_action("app", 5))
    report = validate(FailingStore(files, ("read", commit_path(1), 1)))
    assert report.totals == {}
    assert "replay_differences" in collect_entries(report)[f"{commit_path(1)}: {FAILURE}", commit_path(1)]


@pytest.mark.parametrize(
    ("version", "kind", "found"),
    [(1, "commitInfo", 1), (1, "txn", None), (2, "txn", None), (0, "txn", 1), (3, "txn", 1)],
)
def test_compaction_is_compared_if_only_others_cannot_be_decoded(version: int, kind: str, found: int | None) -> None:
    """Information of its commits does not matter, and actions of other commits neither."""
    files = build_table_with_compaction()
    files.commits[3] = [commit_info_action(3)]
    files.commits[version].append(encode_undecodable(kind))
    files.compactions[1, 2].append(txn_action("app", 5))
    assert validate(FailingStore(files)).totals.get("COP002") == found


def test_compaction_of_commits_that_are_gone_is_not_compared() -> None:
    files = build_table_with_compaction()
    files.compactions[1, 2].append(txn_action("app", 5))
    files.commits[1].append(txn_action("app", 5))
    files.checkpoints.append(CheckpointFiles(2, rows=build_state_rows(files)[:2]))
    files.commits[2].append(encode_undecodable("txn"))
    for version in (0, 1):
        del files.commits[version]
    report = validate(FailingStore(files), select=["COP"])
    assert (report.totals, report.checked.not_checked) == ({}, [])
    (entry,) = (each for each in report.checked.derived_files_not_compared if "compacted" in each.file)
    assert entry.reason == "commit 1 is missing"


@pytest.mark.parametrize("build", [build_table_with_compaction, build_table_with_checksum])
def test_derived_files_are_not_compared_with_an_incomplete_replay(build: Callable[[], TableFiles]) -> None:
    files = build()
    lines = [b'{"add":5}' if isinstance(each, dict) and "add" in each else each for each in files.commits[2]]
    files.commits[2] = lines
    report = validate(FailingStore(files))
    assert report.totals == {"LIN010": 1}
    assert {"replay_differences", "checksums"} <= collect_entries(report)["a line cannot be decoded", commit_path(2)]


def test_checksum_before_the_base_is_not_compared_with_live_files() -> None:
    files = build_table_with_checksum()
    files.checkpoints.append(CheckpointFiles(2, rows=build_state_rows(files)))
    files.checksums[1] = {**files.checksums.pop(2), "numFiles": 7}
    del files.checksums[1]["allFiles"]
    for version in (0, 1):
        del files.commits[version]
    report = validate(FailingStore(files), select=["CRC"])
    assert report.totals == {}


def test_unread_columns_of_a_checkpoint_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ThriftError("odd footer")

    monkeypatch.setattr(checkpoint_summary, "decode_schema", fail)
    entries = collect(build_checkpointed_table())
    assert entries == {("odd footer", CHECKPOINT): {"checkpoint_columns"}}


@pytest.mark.parametrize(("name", "views"), [("checksum", "checksums replay_differences"), ("hint", "last_checkpoint")])
def test_object_with_a_lone_surrogate_is_not_checked(name: str, views: str) -> None:
    store = FailingStore(build_table_with_checksum() if name == "checksum" else build_table_with_hint())
    path = f"{LOG}{2:020}.crc" if name == "checksum" else f"{LOG}_last_checkpoint"
    store.files[path] = store.files[path].replace(b"{", b'{"x":"\\ud800",', 1)
    assert collect_entries(validate(store)) == {(LONE_SURROGATE_REASON, path): set(views.split())}


def test_hint_that_is_overwritten_during_the_run_is_not_checked() -> None:
    class OverwrittenHint(FailingStore):
        def read(self, path: str, limit: int) -> bytes:
            if path.endswith("_last_checkpoint"):
                self.files[path] = b'{"version":9,"size":1}'
            return super().read(path, limit)

    report = validate(OverwrittenHint(build_table_with_hint()))
    reason = "was overwritten after the log was listed"
    assert collect_entries(report) == {(reason, f"{LOG}_last_checkpoint"): {"last_checkpoint"}}
    assert report.totals == {}


def test_sound_hint_is_checked_whenever_it_was_written() -> None:
    class RewrittenHint(FailingStore):
        def read(self, path: str, limit: int) -> bytes:
            if path.endswith("_last_checkpoint"):
                self.files[path] += b" "
            return super().read(path, limit)

    report = validate(RewrittenHint(build_table_with_hint()))
    assert (collect_entries(report), report.totals) == ({}, {})
    assert "LCP001" in report.checked.run


@pytest.mark.parametrize("kind", ["add", "txn"])
def test_files_after_a_wrong_base_are_not_compared(kind: str) -> None:
    """The base leaves out an action of the commit of its version, so replay from it may be wrong as well."""
    files = build_checkpointed_table(last_remove=False)
    own = add_action("of_the_commit.parquet", rows=1) if kind == "add" else txn_action("stream", 7)
    files.commits[1].append(own)
    rows = [*build_state_rows(files), *(row for row in files.commits[2] if isinstance(row, dict) and "add" in row)]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    del files.commits[0]
    found = build_table_with_checksum(last_remove=False).checksums[2]
    files.checksums |= {0: {**found, "numFiles": 9}, 2: {**found, "numFiles": 4}}
    entries = collect(files)
    reason = "the checkpoint that the history starts from contradicts earlier commits"
    assert (reason, f"{LOG}{0:020}.crc") not in entries
    assert entries[reason, f"{LOG}{2:020}.checkpoint.parquet"] == {"replay_differences"}
    crc = f"{LOG}{2:020}.crc"
    assert entries.get((reason, crc)) == ({"checksums"} if kind == "add" else None)


# file actions


def test_file_actions_are_not_checked_without_metadata() -> None:
    files = build_table()
    files.commits[0] = [each for each in files.commits[0] if "metaData" not in each]
    reason = "the metadata of the table is not known"
    assert collect(files) == {(reason, commit_path(version)): {"file_actions"} for version in (1, 2)}


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        (("protocol",), "the protocol of the table is not known"),
        (("metaData",), "the metadata of the table is not known"),
        (("protocol", "metaData"), "the protocol and the metadata of the table are not known"),
    ],
)
def test_reason_names_the_actions_that_are_missing(lost: tuple[str, ...], reason: str) -> None:
    files = build_table()
    files.commits[0] = [each for each in files.commits[0] if not any(name in each for name in lost)]
    assert {entry for entry, views in collect(files).items() if "file_actions" in views} == {
        (reason, commit_path(version)) for version in (1, 2)
    }


def test_reason_names_a_partition_column_that_the_schema_does_not_have() -> None:
    files = build_table()
    get_action(files, 0, "metaData")["partitionColumns"] = ["gone"]
    assert {reason for (reason, _), views in collect(files).items() if "file_actions" in views} == {
        "the schema has no partition column gone"
    }


def test_file_actions_before_the_base_need_no_known_metadata() -> None:
    files = build_checkpointed_table()
    del files.commits[0]
    assert collect(files) == collect(files, history="latest") == {}


def test_file_actions_before_the_last_change_of_metadata_are_checked_as_far_as_possible() -> None:
    """Two commits lead to the base, and the metadata before the second one is not known."""
    files = build_table(last_remove=False)
    adds = [row for row in files.commits[2] if isinstance(row, dict) and "add" in row]
    files.checkpoints.append(CheckpointFiles(2, rows=[*build_state_rows(files), *adds]))
    files.commits[2].append({"metaData": get_action(files, 0, "metaData")})
    del files.commits[0]
    assert collect(files) == {}
    get_action(files, 1, "add")["path"] = "a b.parquet"
    assert validate(FailingStore(files)).totals.keys() >= {"FIL001"}


def test_undecodable_metadata_before_the_base_leaves_file_actions_checked() -> None:
    files = build_checkpointed_table()
    files.commits[0].append(encode_undecodable("metaData"))
    entries = collect(files, history="latest")
    assert set(entries) == {("a line cannot be decoded", commit_path(0))}
    assert "file_actions" not in entries["a line cannot be decoded", commit_path(0)]


# staged commits


def build_table_with_staged_commit(lines: list[Any] | bytes) -> TableFiles:
    files = build_managed_table()
    add_staged_commit(files, 2, FIRST_UUID, lines)
    return files


def test_staged_commits_are_not_checked_without_a_known_protocol() -> None:
    files = build_table_with_staged_commit([transaction_commit_info(2)])
    files.commits[2].append(encode_undecodable("protocol"))
    assert collect(files)["the protocol is not known", None] == {"staged_commits"}


@pytest.mark.parametrize("path", [STAGED, commit_path(2)])
def test_staged_commit_that_cannot_be_read_is_not_checked(path: str) -> None:
    files = build_table_with_staged_commit([transaction_commit_info(2)])
    sound = FailingStore(files)
    validate(sound)
    last = sound.accesses["read", path]
    report = validate(FailingStore(files, ("read", path, last)))
    assert collect_entries(report) == {(f"{path}: {FAILURE}", path): {"staged_commits"}}


@pytest.mark.parametrize("depth", [900, 100_000])
def test_staged_commit_that_is_nested_too_deeply_is_not_compared(depth: int) -> None:
    nested = b'{"madeUp":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"
    entries = collect(build_table_with_staged_commit(encode_lines([transaction_commit_info(2)]) + nested))
    assert entries == {("is nested too deeply to be compared", commit_path(2)): {"staged_commits"}}


# state of the table


def test_unknown_feature_is_not_checked() -> None:
    files = build_table(protocol=protocol_action(1, 7, None, ["ofTheFuture"]))
    (entry,) = validate(FailingStore(files)).checked.not_checked
    assert (entry.rule, entry.file, entry.accepted) == ("feature:ofTheFuture", None, False)
    assert entry.reason.startswith("feature ofTheFuture is not checked; it may affect ")
    report = validate(FailingStore(files), accept_unchecked="feature:ofTheFuture")
    assert (report.verdict, [each.accepted for each in report.checked.not_checked]) == ("conforms", [True])


@pytest.mark.parametrize("select", [None, ["RID", "FIL"]])
def test_each_rule_is_in_one_list_of_the_report(select: list[str] | None) -> None:
    checked = validate(FailingStore(build_table()), select=select).checked
    lists = [checked.run, checked.not_applicable, checked.skipped, {each.rule for each in checked.not_checked}]
    assert sorted(code for each in lists for code in each) == sorted(RULES)


def test_schema_that_is_nested_too_deeply_is_not_checked() -> None:
    files = build_table()
    kind: Any = "long"
    for _ in range(MAX_DEPTH):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    body = get_action(files, 0, "metaData")
    schema = {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]}
    body["schemaString"] = json.dumps(schema)
    entries = collect(files)
    reason = f"schema: nested more than {MAX_DEPTH} levels deep"
    assert entries[reason, commit_path(0)] == {"metadata", "schema_fields"}


def collect_with_base(files: TableFiles, *, has_statistics: bool) -> dict[tuple[str, str | None], set[str]]:
    """Let the history begin with a checkpoint of version 1, and collect the entries of the ledger."""
    rows = [json.loads(json.dumps(each)) for each in build_state_rows(files)]
    if not has_statistics:
        for row in rows:
            row.get("add", {}).pop("stats", None)
    files.checkpoints.append(CheckpointFiles(1, rows=rows))
    for version in (0, 1):
        del files.commits[version]
    return collect(files)


BASE_WITHOUT_STATISTICS = "the checkpoint that the history begins with leaves out statistics", None


@pytest.mark.parametrize("keeps_statistics", ["true", "false"])
@pytest.mark.parametrize("changes_partitions", [False, True])
def test_statistics_that_the_base_leaves_out_are_not_checked(keeps_statistics: str, changes_partitions: bool) -> None:
    files = build_compatible_table("V1", last_remove=False, checkpoint__writeStatsAsJson=keeps_statistics)
    if changes_partitions:
        metadata = json.loads(json.dumps(get_action(files, 0, "metaData")))
        files.commits[3] = [commit_info_action(3), {"metaData": metadata | {"partitionColumns": ["id"]}}]
    entries = collect_with_base(files, has_statistics=keeps_statistics == "true")
    assert entries.get(BASE_WITHOUT_STATISTICS) == ({"outdated_files"} if keeps_statistics == "false" else None)


def test_statistics_that_no_change_requires_may_be_left_out() -> None:
    files = build_table(configuration={"delta.checkpoint.writeStatsAsJson": "false"}, last_remove=False)
    assert BASE_WITHOUT_STATISTICS not in collect_with_base(files, has_statistics=False)


def test_partition_columns_that_change_too_often_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outdated_files, "MAX_COMPARISONS", 0)
    fields = [("id", "long"), ("name", "string")]
    files = build_table(fields=fields, partition_columns=["id"], partition={"id": "1"})
    files.commits[3] = [commit_info_action(3), metadata_action([*fields, ("x", "long")], ["name"])]
    reason = "partition columns change too often to compare every change with the partition values"
    assert collect(files)[reason, None] == {"outdated_files"}
