"""Collect the uses of table features in a drawn log, by name."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from deltaspec_generators.table_files import LOG
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.tables.strategies import GeneratedLog

START = WrittenState()


def collect_feature_uses(drawn: GeneratedLog) -> set[str]:
    """Collect the uses of features in all versions of a log."""
    seen: set[str] = set()
    seen |= {
        f"staged {_classify_staged_commit(drawn, path)}" for path in drawn.files.extra if "_staged_commits" in path
    }
    for state in drawn.states:
        seen |= set(_iter_state_uses(state))
    for before, state in pairwise((START, *drawn.states)):
        lines = [line for line in drawn.files.commits.get(state.version, []) if isinstance(line, dict)]
        seen |= set(_iter_commit_uses(before, state, lines))
        if before is not START:
            seen |= set(_iter_property_uses(before, state))
            seen |= set(_iter_column_uses(before, state))
    return seen


def _classify_staged_commit(drawn: GeneratedLog, path: str) -> str:
    version = int(path.removeprefix(f"{LOG}_staged_commits/").partition(".")[0])
    if "catalogManaged" not in drawn.states[-1].features:
        return "in an unmanaged table"
    return "copy" if version < len(drawn.states) else "only"


def _read_fields(state: WrittenState) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(state.metadata["schemaString"])["fields"]}


def _iter_state_uses(state: WrittenState) -> Iterator[str]:
    clustering = state.domains.get("delta.clustering")
    if clustering is not None:
        configuration = clustering["configuration"]
        body = configuration if isinstance(configuration, dict) else json.loads(configuration)
        columns = body["clusteringColumns"]
        yield "clustered by names" if isinstance(columns[0], str) else "clustered by lists"
        if any(isinstance(each, list) and len(each) > 1 for each in columns):
            yield "clustered by a field"
    for version in (1, 2, 3):
        if state.is_enabled(f"delta.enableIcebergCompatV{version}"):
            yield f"Iceberg V{version}"
    if state.is_enabled("delta.rowTrackingSuspended"):
        yield "row ids suspended"
    if state.is_enabled("delta.enableVariantShredding"):
        yield "shredding enabled"
    for each in _read_fields(state).values():
        metadata = each["metadata"]
        yield from (f"column with {name.removeprefix('delta.')}" for name in metadata)
        yield from ("column not null",) * (not each["nullable"])
        if metadata.get("delta.identity.allowExplicitInsert"):
            yield "identity column with explicit inserts"
        if "delta.generationExpression" in metadata:
            yield f"generated as {metadata['delta.generationExpression']}"
        if metadata.get("CURRENT_DEFAULT") and each["type"] == "variant":
            yield "default of a variant"


def _iter_property_uses(before: WrittenState, state: WrittenState) -> Iterator[str]:
    old, new = before.configuration, state.configuration
    for name in {*old, *new}:
        if name.startswith("delta.constraints.") and old.get(name) != new.get(name):
            yield "constraint dropped" if name not in new else "constraint added"
            if " " in name:
                yield "constraint with a space in its name"
    for name, use in (
        ("delta.appendOnly", "append-only"),
        ("delta.enableChangeDataFeed", "change data feed"),
        ("delta.enableRowTracking", "row ids"),
        ("delta.enableRowIds", "row ids"),
        ("delta.enableTypeWidening", "widening"),
        ("delta.enableInCommitTimestamps", "timestamps"),
        ("delta.enableDeletionVectors", "deletion vectors"),
        ("delta.enableVariantShredding", "shredding"),
        ("delta.enableIcebergCompatV1", "Iceberg V1"),
        ("delta.enableIcebergCompatV2", "Iceberg V2"),
        ("delta.enableIcebergCompatV3", "Iceberg V3"),
    ):
        if before.is_enabled(name) != state.is_enabled(name):
            yield f"{use} {'enabled' if state.is_enabled(name) else 'disabled'} later"
    if old.get("delta.rowTrackingSuspended") == "true" != new.get("delta.rowTrackingSuspended"):
        yield "row ids resumed"
    protection = "delta.requireCheckpointProtectionBeforeVersion"
    if int(new.get(protection, "0")) > int(old.get(protection, "0")):
        yield "checkpoints protected"
    yield from (f"feature {name} added" for name in state.features - before.features)


def _iter_column_uses(before: WrittenState, state: WrittenState) -> Iterator[str]:
    old, new = _read_fields(before), _read_fields(state)
    for name in old.keys() & new.keys():
        was, now = old[name], new[name]
        default = was["metadata"].get("CURRENT_DEFAULT"), now["metadata"].get("CURRENT_DEFAULT")
        if default[0] != default[1]:
            yield "default " + ("added" if default[0] is None else "dropped" if default[1] is None else "changed")
        mark, step = "delta.identity.highWaterMark", now["metadata"].get("delta.identity.step", 0)
        if was["metadata"].get(mark) != now["metadata"].get(mark):
            yield f"identity mark moved {'up' if step > 0 else 'down'}"
        if json.dumps(now).count('"toType"') > json.dumps(was).count('"toType"'):
            yield f"widened {_describe_location(was, now)}"
            yield from ("widened a partition column",) * (name in state.metadata["partitionColumns"])
            yield from ("widened with a preview name",) * ("typeWidening-preview" in state.features)
            yield from ("widened with Iceberg compatibility",) * any(
                state.is_enabled(f"delta.enableIcebergCompatV{n}") for n in (1, 2)
            )
            yield from ("widened twice",) * (len(now["metadata"].get("delta.typeChanges", [])) > 1)
    clustering = before.domains.get("delta.clustering"), state.domains.get("delta.clustering")
    if clustering[0] != clustering[1]:
        yield "clustering " + ("added" if not clustering[0] else "removed" if not clustering[1] else "changed")


def _describe_location(was: dict[str, Any], now: dict[str, Any]) -> str:
    if isinstance(now["type"], str):
        return f"to {now['type'].partition('(')[0]}"
    return f"in {'an' if now['type']['type'] == 'array' else 'a'} {now['type']['type']}"


def _iter_commit_uses(before: WrittenState, state: WrittenState, lines: list[dict[str, Any]]) -> Iterator[str]:
    adds = [line["add"] for line in lines if "add" in line]
    removes = [line["remove"] for line in lines if "remove" in line]
    if state.is_enabled("delta.appendOnly") and "appendOnly" in state.features and removes:
        yield "rearranged while append-only"
    if state.is_enabled("delta.enableChangeDataFeed") and any(each["dataChange"] for each in removes):
        yield "change files" if any("cdc" in line for line in lines) else "changes without change files"
    tracked = {"rowTracking", "rowIds"} & state.features
    for add in adds:
        old = before.live.get(add["path"])
        numbered = add.get("baseRowId") is not None
        if old is not None and numbered and "baseRowId" not in old:
            yield "row ids backfilled"
        if tracked and old is None and not numbered:
            yield "file without row ids"
        if add.get("clusteringProvider") is not None:
            yield "file of a clustering provider"
    for line in lines:
        mark = line.get("rowIdHighWaterMark")
        if mark is not None and "preservedRowIds" in mark:
            yield f"row ids preserved: {mark['preservedRowIds']}"
        tag = ((line.get("commitInfo") or {}).get("tags") or {}).get("delta.rowTracking.preserved")
        if tag is not None:
            yield f"rows preserved: {tag}"
