"""Draw the other files of a log: checkpoints, compactions, version checksums, the hint, unknown files; and cleanup."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from deltaspec.protocol.json_values import parse_lossless
from deltaspec.protocol.log import canonical_json
from deltaspec.protocol.property_names import FILE_RETENTION, STATS_AS_JSON, STATS_AS_STRUCT
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.time_units import DAY_MS
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.checkpoint_writer import (
    DOMAIN_WITH_MAP_CONFIGURATION,
    Naming,
    assign_parts,
    encode_checkpoint,
)
from deltaspec_generators.choices import Choices
from deltaspec_generators.layouts import parsed_columns
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import LOG, CheckpointFiles, Line, Row, SidecarFile, TableFiles
from deltaspec_generators.table_state import Body, WrittenState, apply_actions
from deltaspec_generators.table_uris import has_table_uri

RETENTION_MS = {None: 7 * DAY_MS, "interval 1 week": 7 * DAY_MS, "interval 2 hours": DAY_MS // 12}
_NOT_IN_CHECKPOINT = ("stats", "tags")
"""Fields of `remove` without a checkpoint column."""
_BOUNDARIES = [0, 1024, 4096, 2**20]


class LogSource(Protocol):
    """Table whose log directory is drawn: `LogBuilder` or `DataTableBuilder`."""

    choices: Choices
    commits: list[list[Body]]
    """Actions of each version."""
    states: list[WrittenState]
    tombstones: dict[int, list[Body]]
    """Tombstones in the checkpoints of each version, which are drawn in ascending order."""
    left_out: list[Body]
    """Expired tombstones that the checkpoints drawn last left out."""

    @property
    def revision(self) -> Revision: ...

    def next_number(self) -> int: ...


def draw_log_files(log: LogSource, files: TableFiles, *, first_deletable: int = 0, cleanup: bool = True) -> None:
    """Draw checkpoints, compactions, checksums, cleanup and the hint.

    Args:
        log: the table.
        files: gets the new files.
        first_deletable: a cleanup that keeps commits before this version is not allowed.
        cleanup: whether expired commits may be deleted.
    """
    choices, last = log.choices, len(log.commits) - 1
    for version in sorted(last - choices.integer(0, last) for _ in choices.repeat(0, 3)):
        checkpoint = draw_checkpoint(log, log.states[version])
        # Two checkpoints of one version need different file names.
        if not {name for each in files.checkpoints for name in each.names} & set(checkpoint.names):
            files.checkpoints.append(checkpoint)
    if log.revision.since(Revision.R3):
        shortest = int(log.revision is Revision.CURRENT)
        for start in choices.sample(range(last - shortest + 1), 0, 2):
            end = choices.integer(start + shortest, last)
            files.compactions[start, end] = draw_compaction(choices, log.commits[start : end + 1])
    if log.revision is Revision.CURRENT and choices.chance(1, 2):
        first, final = sorted(last - choices.integer(0, last) for _ in range(2))  # checksums have no gaps
        for version in range(first, final + 1):
            files.checksums[version] = draw_checksum(choices, log.states[version])
    if cleanup and files.checkpoints and choices.chance(1, 2):
        cutoff = choices.pick(files.checkpoints).version
        if cutoff >= first_deletable:
            delete_expired_files(files, cutoff)
    if files.checkpoints and choices.chance(1, 2):
        target = choices.pick(files.checkpoints)
        overwritten = any(each.version < target.version for each in files.checkpoints)
        files.last_checkpoint = draw_hint(choices, target, overwritten=overwritten)


def draw_checkpoint(log: LogSource, state: WrittenState) -> CheckpointFiles:
    """Draw a checkpoint of one version in any layout that the table allows."""
    choices = log.choices
    v2_supported = "v2Checkpoint" in state.features
    kinds = ["classic", "uuid-parquet", "uuid-json", "classic-v2"] if v2_supported else ["classic", "multipart"]
    kind = choices.pick(kinds)
    v2 = kind not in ("classic", "multipart")
    as_json = state.configuration.get(STATS_AS_JSON) != "false"
    as_struct = state.is_enabled(STATS_AS_STRUCT)
    table, files = build_table_rows(state), _draw_file_rows(log, state)
    # JSON cannot contain typed statistics: if only those are enabled, files are written to sidecars.
    sidecar_count = choices.integer(1 if kind == "uuid-json" and not as_json else 0, 2) if v2 else 0
    if kind != "uuid-json" or sidecar_count:
        files = [build_statistics_columns(state, row, as_json=as_json, as_struct=as_struct) for row in files]
    if not log.revision.since(Revision.R3) and log.choices.chance(1, 2):
        table.append({"commitInfo": state.commit_info or {"operation": "WRITE"}})
    number = log.next_number()
    naming = typing.cast(Naming, kind.removesuffix("-v2"))
    checkpoint = CheckpointFiles(state.version, naming, v2, uuid=build_uuid(number))
    if not log.revision.since(Revision.R3):
        checkpoint.types = {"domainMetadata": DOMAIN_WITH_MAP_CONFIGURATION}
    checkpoint.parsed = parsed_columns.build_types(state) if as_struct else {}
    if v2:
        metadata: Body = {"version": state.version}
        if choices.chance(1, 2):
            metadata["tags"] = {"numOfAddFiles": str(len(state.live))}
        table.insert(0, {"checkpointMetadata": metadata})
    add_sidecars(checkpoint, files, sidecar_count, state, log.next_number)
    checkpoint.rows = [*table, *([] if sidecar_count else files)]
    if kind == "multipart":
        checkpoint.parts = choices.integer(2, max(2, len(checkpoint.rows) // 2))
        if not log.revision.since(Revision.R3):  # which assign parts by path only
            rows = [row for row in checkpoint.rows if isinstance(row, dict)]
            checkpoint.part_numbers = assign_parts(rows, checkpoint.parts, vectors=False)
    elif choices.chance(1, 2):
        checkpoint.rows = choices.shuffle(checkpoint.rows)
    return checkpoint


def add_sidecars(
    checkpoint: CheckpointFiles, files: Sequence[Row], count: int, state: WrittenState, next_number: Callable[[], int]
) -> None:
    """Distribute the rows of file actions over sidecars of a checkpoint."""
    for index in range(count):
        rows = [*files[index * len(files) // count : (index + 1) * len(files) // count]]
        name = f"{build_uuid(next_number())}.parquet"
        checkpoint.sidecars.append(SidecarFile(name, rows, modification_time=state.timestamp_ms))


def build_table_rows(state: WrittenState) -> list[Row]:
    """Build the rows of a checkpoint that are not file actions."""
    rows: list[Row] = [{"protocol": state.protocol}, {"metaData": state.metadata}]
    rows += [{"txn": body} for body in state.transactions.values()]
    rows += [{"rowIdHighWaterMark": state.row_id_action}] if state.row_id_action else []
    return rows + [{"domainMetadata": body} for body in state.domains.values()]


def _draw_file_rows(log: LogSource, state: WrittenState) -> list[Row]:
    """Draw rows of live files and tombstones, ordered by path."""
    rows = [("add", body) for body in state.live.values()]
    rows += [("remove", body) for body in _draw_tombstones(log, state)]
    rewritten = log.choices.chance(1, 2)
    found: list[Row] = []
    for kind, body in sorted(rows, key=lambda row: str(row[1]["path"])):
        found.append(build_file_row(kind, {**body, "dataChange": False} if rewritten else body))
    return found


def _draw_tombstones(log: LogSource, state: WrittenState) -> list[Body]:
    """Draw the tombstones in the checkpoints of a version: expired ones may be left out, there and in later versions.

    A writer knows a tombstone that an older checkpoint left out only if it still has the commits before it.
    """
    if state.version not in log.tombstones:
        left_out = [each for each in log.left_out if each in state.tombstones.values()]
        kept = [body for body in state.tombstones.values() if body not in left_out]
        if log.choices.chance(1, 2):
            retention = RETENTION_MS[state.configuration.get(FILE_RETENTION)]
            expired = [each for each in kept if each.get("deletionTimestamp", 0) + retention < state.timestamp_ms]
            kept = [each for each in kept if each not in expired]
            left_out += expired
        log.tombstones[state.version], log.left_out = kept, left_out
    return log.tombstones[state.version]


def build_file_row(kind: str, body: Body) -> Row:
    """Build the row of a file action in a checkpoint; a remove has fewer columns there."""
    dropped = _NOT_IN_CHECKPOINT if kind == "remove" else ()
    return {kind: {name: value for name, value in body.items() if name not in dropped}}


def build_statistics_columns(state: WrittenState, row: Row, *, as_json: bool, as_struct: bool) -> Row:
    """Return the row of a file action with statistics as JSON, as struct columns, or both."""
    if "add" not in row:
        return row
    add = dict(row["add"])
    if as_struct:
        add |= parsed_columns.build_values(state, add)
    if not as_json:
        add.pop("stats", None)
    return {"add": add}


def compact_commits(commits: Iterable[Sequence[Body]]) -> tuple[list[Row], list[Row]]:
    """Reconcile the actions of a range of commits, and keep removed domains and tombstones.

    Returns:
        Protocol and metadata, as far as there are any, and the other actions.
    """
    state = WrittenState()
    removed_domains: dict[str, Body] = {}
    for actions in commits:
        state = apply_actions(state, actions, 0)
        for body in (action["domainMetadata"] for action in actions if "domainMetadata" in action):
            removed_domains.pop(body["domain"], None)
            if body["removed"]:
                removed_domains[body["domain"]] = body
    table: list[Row] = [{"protocol": state.protocol}] if state.protocol else []
    table += [{"metaData": state.metadata}] if state.metadata else []
    others: list[Row] = [{"add": body} for body in state.live.values()]
    others += [{"remove": body} for body in state.tombstones.values()]
    others += [{"txn": body} for body in state.transactions.values()]
    others += [{"domainMetadata": body} for body in (*state.domains.values(), *removed_domains.values())]
    others += [{"rowIdHighWaterMark": state.row_id_action}] if state.row_id_action else []
    return table, others


def draw_compaction(choices: Choices, commits: Iterable[Sequence[Body]]) -> list[Line]:
    """Draw the order of the actions of a compaction."""
    table, others = compact_commits(commits)
    marks = [each for each in others if "rowIdHighWaterMark" in each]
    lines: list[Line] = [*(each for each in others if each not in marks), *reversed(table), *marks]
    return choices.shuffle(lines) if choices.chance(1, 2) else lines


def build_checksum(state: WrittenState) -> Body:
    """Build the version checksum of a state, with the fields that it must have."""
    adds = state.live.values()
    found: Body = {
        "tableSizeBytes": sum(add["size"] for add in adds),
        "numFiles": len(adds),
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": state.metadata,
        "protocol": state.protocol,
    }
    info = state.commit_info or {}
    fields = {"inCommitTimestampOpt": "inCommitTimestamp", "txnId": "txnId"}
    return found | {name: info[field] for name, field in fields.items() if field in info}


def build_optional_checksum_fields(state: WrittenState) -> Body:
    """Build the other fields that the protocol lists for the version checksum of a state."""
    adds = list(state.live.values())
    cardinalities = [add["deletionVector"]["cardinality"] if "deletionVector" in add else 0 for add in adds]
    return {
        "setTransactions": list(state.transactions.values()),
        "domainMetadata": list(state.domains.values()),
        "allFiles": adds,
        "fileSizeHistogram": _build_size_histogram([add["size"] for add in adds]),
        "numDeletedRecordsOpt": sum(cardinalities),
        "numDeletionVectorsOpt": sum("deletionVector" in add for add in adds),
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": _count_by_decade(cardinalities)},
    }


def draw_checksum(choices: Choices, state: WrittenState) -> Body:
    """Draw the version checksum of a state: required fields and some optional fields."""
    optional = build_optional_checksum_fields(state) | {"futureField": {"a": 1}}
    names = choices.sample(sorted(optional), 0, len(optional))
    return build_checksum(state) | {name: optional[name] for name in names}


def _build_size_histogram(sizes: list[int]) -> Body:
    bins = [max(index for index, low in enumerate(_BOUNDARIES) if low <= size) for size in sizes]
    return {
        "sortedBinBoundaries": _BOUNDARIES,
        "fileCounts": [bins.count(index) for index in range(len(_BOUNDARIES))],
        "totalBytes": [
            sum(size for size, bin_index in zip(sizes, bins, strict=True) if bin_index == index)
            for index in range(len(_BOUNDARIES))
        ],
    }


def _count_by_decade(cardinalities: list[int]) -> list[int]:
    """Count files by decade of deleted rows; drawn counts never reach the last bins."""
    bins = [len(str(count)) if count else 0 for count in cardinalities]
    return [bins.count(index) for index in range(10)]


def build_hint(checkpoint: CheckpointFiles) -> Body:
    """Build the required fields of a `_last_checkpoint` that names a checkpoint."""
    hint: Body = {"version": checkpoint.version, "size": len(_list_rows(checkpoint)) + len(checkpoint.sidecars)}
    if checkpoint.naming == "multipart":
        hint["parts"] = checkpoint.parts
    return hint


def _list_rows(checkpoint: CheckpointFiles) -> list[Row]:
    """List the rows of a checkpoint and of its sidecars."""
    rows = [row for row in checkpoint.rows if isinstance(row, dict)]
    return rows + [row for sidecar in checkpoint.sidecars for row in sidecar.rows]


def draw_dangling_hint(choices: Choices, files: TableFiles) -> None:
    """Draw whether the hint names a checkpoint that was cleaned up: one before the newest checkpoint that there is."""
    versions = {each.version for each in files.checkpoints}
    gone = [version for version in range(max(versions, default=0)) if version not in versions]
    if gone and choices.chance(1, 6):
        files.last_checkpoint = _sign_hint({"version": choices.pick(gone), "size": choices.integer(3, 9)})


def _sign_hint(hint: Body) -> Body:
    """Return a hint with its checksum."""
    return hint | {"checksum": canonical_json.compute_checksum(parse_lossless(encode_json(hint)).value)}


def draw_hint(choices: Choices, checkpoint: CheckpointFiles, *, overwritten: bool) -> Body:
    """Draw a `_last_checkpoint` that names a checkpoint; it has a checksum if it overwrites an older one."""
    hint = build_hint(checkpoint)
    all_rows = _list_rows(checkpoint)
    if choices.chance(1, 2):
        if not has_table_uri(all_rows):
            hint["sizeInBytes"] = sum(map(len, encode_checkpoint(checkpoint).values()))
        hint["numOfAddFiles"] = sum("add" in row for row in all_rows)
    if choices.chance(1, 2):
        hint["tags"] = {"writer": "drawn é"}
    return _sign_hint(hint) if overwritten or choices.chance(1, 2) else hint


def draw_unknown_files(choices: Choices, *, catalog_managed: bool = False) -> dict[str, bytes]:
    """Draw files in the log directory and elsewhere that do not belong to the log."""
    files: dict[str, Any] = {
        f"{LOG}_staged_commits/00000000000000000001.{build_uuid(1)}.json": b'{"commitInfo":{}}\n',
        f"{LOG}.00000000000000000000.json.crc": b"crc\x00",
        f"{LOG}metadata/v1.metadata.json": b"{}",
        f"{LOG}_commits/README": b"",
        f"{LOG}.tmp": b"",
        "_symlink_format_manifest/manifest": b"",
    }
    if catalog_managed:
        files = {path: data for path, data in files.items() if "_staged_commits" not in path}
    return {path: files[path] for path in choices.sample(sorted(files), 0, 3)}


def delete_expired_files(files: TableFiles, cutoff: int) -> None:
    """Remove all log files before a checkpoint; keep the commit of its version."""
    files.commits = {version: lines for version, lines in files.commits.items() if version >= cutoff}
    files.checkpoints = [each for each in files.checkpoints if each.version >= cutoff]
    files.compactions = {versions: lines for versions, lines in files.compactions.items() if versions[0] > cutoff}
    files.checksums = {version: body for version, body in files.checksums.items() if version >= cutoff}
