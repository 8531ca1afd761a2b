"""Turn the steps of a history into requests `apply`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.messages import Apply, Capabilities
from deltaspec.candidates.write_operations import CommitOptions, parse_operation
from deltaspec.protocol.files.partition_values import serialize_partition_value
from deltaspec_generators.histories.drawing import FEATURE_PROPERTIES, Step
from deltaspec_generators.histories.kinds import FEATURES_OF_STEPS, STEPS_OF_THE_KIT
from deltaspec_generators.histories.plain_table import PlainTable, Row, add_columns_of_rows, build_empty_table

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = "\"#%'*/:=?\\\x7f{[]^"
"""Characters of partition values that Hive escapes in names of directories, besides control characters."""
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
        rows: file to write the rows of the operation to; the files of `convert` are written into the table's directory.
    """
    fields = {name: value for name, value in step.operation.items() if name not in ("tree", "new_columns")}
    if step.kind == "convert":
        write_files(Path(table), build_empty_table(fields), fields.pop("rows"))
    if step.kind == "clone":
        fields["source"], table = str(table), name_clone(table)
    if fields.get("rows") is not None:
        replaces = step.kind in ("create", "replace")
        content = build_empty_table(fields) if replaces else before or PlainTable()
        if "new_columns" in step.operation:
            content = add_columns_of_rows(content, step.operation)
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


def name_clone(table: Path | str) -> Path:
    """Return the directory of the clone of a table."""
    return Path(table).with_name(f"{Path(table).name}-clone")


def write_files(table: Path, content: PlainTable, rows: Sequence[Row]) -> None:
    """Write rows as Parquet files of at most two rows, below directories that have the values of partition columns."""
    parts: dict[str, list[Row]] = {}
    kinds = {each.name: each.type for each in content.parse_schema().fields}
    for row in rows:
        values = [(name, serialize_partition_value(row[name], kinds[name])) for name in content.partition_by]
        folder = "/".join(f"{name}={_NULL_PARTITION if text is None else _escape(text)}" for name, text in values)
        parts.setdefault(folder, []).append(row)
    names = [each.name for each in content.columns if each.name not in content.partition_by]
    for folder, found in parts.items():
        (table / folder).mkdir(parents=True, exist_ok=True)
        for start in range(0, len(found), 2):
            pq.write_table(content.build_arrow(found[start : start + 2], names), table / folder / f"{start}.parquet")


def _escape(text: str) -> str:
    """Return the text of a partition value as Hive writes it in the name of a directory."""
    return "".join(f"%{ord(each):02X}" if each in _ESCAPED or each < " " else each for each in text)


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
