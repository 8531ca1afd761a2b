"""Turn the steps of a history into requests `apply`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.messages import Apply, Capabilities
from deltaspec.candidates.write_operations import CommitOptions, parse_operation
from deltaspec_generators.histories.drawing import FEATURE_PROPERTIES, Step
from deltaspec_generators.histories.kinds import FEATURES_OF_STEPS, STEPS_OF_THE_KIT
from deltaspec_generators.histories.plain_table import PlainTable, build_empty_table

STEP_ARGUMENTS = {"step": "version", "start_step": "start", "end_step": "end"}
"""Arguments that are numbers of steps, and the arguments with versions that replace them."""


def build_request(
    table: Path | str, step: Step, before: PlainTable | None, versions: Sequence[int], rows: Path
) -> Apply:
    """Return the request of a step.

    Args:
        table: directory or URI of the table.
        step: the operation.
        before: content of the table before the operation; None if the table does not exist yet.
        versions: newest version after each earlier step.
        rows: file to write the rows of the operation to.
    """
    fields = {name: value for name, value in step.operation.items() if name != "tree"}
    if fields.get("rows") is not None:
        replaces = step.kind in ("create", "replace")
        content = build_empty_table(fields) if replaces else before or PlainTable()
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
    """Return what an operation needs and a candidate does not declare (kind or features), or None."""
    kind, properties = operation["kind"], operation.get("properties") or {}
    if kind not in (*STEPS_OF_THE_KIT, *capabilities.kinds):
        return f"the kind {kind}"
    missing = [name for name in FEATURES_OF_STEPS.get(kind, ()) if name not in capabilities.writer_features]
    missing += [
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
