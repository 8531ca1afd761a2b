"""Turn the steps of a history into requests `apply`, and perform the step that no engine offers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.messages import Apply, Capabilities, SnapshotAnswer
from deltaspec.candidates.write_operations import CommitOptions, parse_operation
from deltaspec.model.log.file_names import commit_name
from deltaspec.suites.write_judging import LOG, get_clock_ms
from deltaspec_generators.histories.drawing import FEATURE_PROPERTIES, Step
from deltaspec_generators.histories.plain_table import FAST_CLOCK, STEPS_OF_THE_KIT, UNKNOWN_FEATURE, PlainTable

STEP_ARGUMENTS = {"step": "version", "start_step": "start", "end_step": "end"}
"""Arguments that are numbers of steps, and the arguments with versions that replace them."""
_UNKNOWN_FEATURE_NAME = "deltaspecUnknownFeature"
_DAY_MS = 86_400_000
_LEGACY_FEATURES = ("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns")


def build_request(table: Path, step: Step, before: PlainTable | None, versions: Sequence[int], rows: Path) -> Apply:
    """Return the request of a step.

    Args:
        table: directory of the table.
        step: the operation.
        before: content of the table before the operation; None if the table does not exist yet.
        versions: newest version after each earlier step.
        rows: file to write the rows of the operation to.
    """
    fields = {name: value for name, value in step.operation.items() if name != "tree"}
    if fields.get("rows") is not None:
        content = before or PlainTable()
        names = [each.name for each in content.columns if any(each.name in row for row in fields["rows"])]
        found = content.build_arrow(fields["rows"], names)
        with pa.ipc.new_file(str(rows), found.schema) as writer:
            writer.write_table(found)
        fields["rows"] = str(rows)
    for name, argument in STEP_ARGUMENTS.items():
        if name in fields:
            fields[argument] = versions[fields.pop(name)]
    commit = msgspec.convert(step.commit, CommitOptions) if step.commit else None
    return Apply(str(table), parse_operation(fields), commit)


def find_undeclared(operation: Mapping[str, Any], capabilities: Capabilities) -> str | None:
    """Return what an operation needs and a candidate does not declare; None if it declares everything."""
    kind, properties = operation["kind"], operation.get("properties") or {}
    if kind not in (*STEPS_OF_THE_KIT, *capabilities.kinds):
        return f"the kind {kind}"
    missing = [
        feature
        for feature, enabling in FEATURE_PROPERTIES.items()
        if feature not in capabilities.writer_features
        and any(properties.get(name) not in (None, "false", "none") for name in enabling)
    ]
    return f"the feature {', '.join(missing)}" if missing else None


def find_reason_to_skip(step: Step, versions: Sequence[int], newest: int) -> str | None:
    """Return why an operation makes no sense for the versions that the writer made; None if it does."""
    named = {name: versions[step.operation[name]] for name in STEP_ARGUMENTS if name in step.operation}
    if named.get("step") == newest:
        return "left out: the version to restore is the newest"
    if "start_step" in named and named["start_step"] >= named["end_step"]:
        return "left out: the versions to compact are the same"
    return None


def perform_step_of_the_kit(kind: str, table: Path, state: SnapshotAnswer) -> None:
    """Commit what no engine offers; `state` is the newest one."""
    if kind == UNKNOWN_FEATURE:
        protocol = _add_unknown_feature(state)
        _commit(table, state, (state.in_commit_timestamp or 0) + 1, {"protocol": protocol})
    elif kind == FAST_CLOCK:
        _commit(table, state, get_clock_ms() + _DAY_MS)


def _add_unknown_feature(state: SnapshotAnswer) -> dict[str, Any]:
    """Return the protocol with a writer feature that nobody knows."""
    protocol = dict(state.protocol or {})
    features = [*(protocol.get("writerFeatures") or _LEGACY_FEATURES), _UNKNOWN_FEATURE_NAME]
    if protocol.get("minReaderVersion") == 2:
        protocol |= {"minReaderVersion": 3, "readerFeatures": ["columnMapping"]}
        features.append("columnMapping")
    protocol |= {"minWriterVersion": 7, "writerFeatures": list(dict.fromkeys(features))}
    return protocol


def _commit(table: Path, state: SnapshotAnswer, timestamp: int, *actions: Mapping[str, Any]) -> None:
    info = {"timestamp": timestamp, "inCommitTimestamp": timestamp, "operation": "UPGRADE"}
    lines = [{"commitInfo": info}, *actions]
    path = table / LOG / commit_name(state.version + 1)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
