"""Perform the steps of a history that no engine offers, and that the kit performs itself."""

import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.messages import SnapshotAnswer
from deltaspec.model.log.cleanup import floor_to_midnight
from deltaspec.protocol.log.file_names import SIDECARS, commit_name
from deltaspec.protocol.property_names import CHECKPOINT_PROTECTION
from deltaspec.protocol.time_units import DAY_MS
from deltaspec.suites.write_judging import LOG, get_clock_ms
from deltaspec_generators.histories.kinds import (
    AGE_LOG,
    CLUSTERED_BY_OTHERS,
    DROP_UNKNOWN_FEATURE,
    FAST_CLOCK,
    UNKNOWN_FEATURE,
    UNREFERENCED_SIDECAR,
)

OTHER_PROVIDER = "deltaspec-other-engine"
"""Name of a clustering implementation that belongs to no engine and that no engine supersedes."""
_UNKNOWN_FEATURE_NAME = "deltaspecUnknownFeature"
_NS_PER_MS = 1_000_000
_LEGACY_FEATURES = ("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns")


def perform_step_of_the_kit(operation: Mapping[str, Any], table: Path, state: SnapshotAnswer) -> None:
    """Perform a step of `STEPS_OF_THE_KIT`; `state` is the newest one."""
    after_newest = (state.in_commit_timestamp or 0) + 1
    match operation["kind"]:
        case kind if kind == UNKNOWN_FEATURE:
            _commit(table, state, after_newest, {"protocol": _add_unknown_feature(state)})
        case kind if kind == DROP_UNKNOWN_FEATURE:
            _commit(table, state, after_newest, *_drop_unknown_feature(state))
        case kind if kind == FAST_CLOCK:
            _commit(table, state, get_clock_ms() + DAY_MS)
        case kind if kind == AGE_LOG:
            _age_log(table / LOG, state.version, operation["days"], operation["past_midnight_ms"])
        case kind if kind == CLUSTERED_BY_OTHERS:
            _commit(table, state, after_newest, *_cluster_files(table / LOG, state))
        case kind if kind == UNREFERENCED_SIDECAR:
            folder = table / LOG / SIDECARS
            folder.mkdir(exist_ok=True)
            pq.write_table(pa.table({"add": pa.nulls(0, pa.struct([("path", pa.string())]))}),
                           folder / f"{uuid.uuid4()}.parquet")  # fmt: skip


def _add_unknown_feature(state: SnapshotAnswer) -> dict[str, Any]:
    """Return the protocol with a writer feature that nobody knows."""
    return _add_features(state, _UNKNOWN_FEATURE_NAME)


def _add_features(state: SnapshotAnswer, *names: str) -> dict[str, Any]:
    """Return the protocol with further writer features."""
    protocol = dict(state.protocol or {})
    features = [*(protocol.get("writerFeatures") or _LEGACY_FEATURES), *names]
    if protocol.get("minReaderVersion") == 2:
        protocol |= {"minReaderVersion": 3, "readerFeatures": ["columnMapping"]}
        features.append("columnMapping")
    protocol |= {"minWriterVersion": 7, "writerFeatures": list(dict.fromkeys(features))}
    return protocol


def _drop_unknown_feature(state: SnapshotAnswer) -> list[dict[str, Any]]:
    """Return the protocol without the unknown feature, and metadata that protect checkpoints before this version."""
    protocol, metadata = dict(state.protocol or {}), dict(state.metadata or {})
    protocol["writerFeatures"] = [each for each in protocol["writerFeatures"] if each != _UNKNOWN_FEATURE_NAME]
    metadata["configuration"] = {**metadata.get("configuration", {}), CHECKPOINT_PROTECTION: str(state.version + 1)}
    return [{"protocol": protocol}, {"metaData": metadata}]


def _cluster_files(log: Path, state: SnapshotAnswer) -> list[dict[str, Any]]:
    """Return actions that cluster the table by `size` and mark all live files as clustered by an unknown engine."""
    domain = {"domain": "delta.clustering", "configuration": json.dumps({"clusteringColumns": [["size"]]}),
              "removed": False}  # fmt: skip
    live = {each.path for each in state.files or ()}
    lines = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text("utf-8").splitlines()]
    adds = {line["add"]["path"]: line["add"] for line in lines if "add" in line}
    mark = {"clusteringProvider": OTHER_PROVIDER, "dataChange": False}
    return [
        {"protocol": _add_features(state, "clustering", "domainMetadata")},
        {"domainMetadata": domain},
        *({"add": {**add, **mark}} for path, add in adds.items() if path in live),
    ]


def _age_log(log: Path, newest: int, days: int, past_midnight_ms: int) -> None:
    """Move all modification times back by the same amount, so that the newest commit has the given age.

    Args:
        log: directory of the log.
        newest: newest version.
        days: age of the midnight (UTC) before the new time of the newest commit, in days.
        past_midnight_ms: milliseconds from that midnight to the new time.
    """
    wanted = floor_to_midnight(get_clock_ms()) - days * DAY_MS + past_midnight_ms
    shift = wanted * _NS_PER_MS - (log / commit_name(newest)).stat().st_mtime_ns
    for folder, _, names in os.walk(log):
        for path in (Path(folder) / name for name in names):
            moved = path.stat().st_mtime_ns + shift
            os.utime(path, ns=(moved, moved))


def _commit(table: Path, state: SnapshotAnswer, timestamp: int, *actions: Mapping[str, Any]) -> None:
    info = {"timestamp": timestamp, "inCommitTimestamp": timestamp, "operation": "UPGRADE"}
    lines = [{"commitInfo": info}, *actions]
    path = table / LOG / commit_name(state.version + 1)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
