"""`logs()` draws everything it promises, and examples shrink to small logs."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from feature_coverage import collect_feature_uses
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st

from deltaspec.protocol.actions import ACTION_TYPES
from deltaspec.protocol.features.table_features import get_known_features
from deltaspec.protocol.revisions import Revision
from deltaspec_generators.table_files import LOG, TableFiles
from deltaspec_generators.table_state import WrittenState, vector_id
from deltaspec_generators.tables.features import FEATURES, PROPOSED, REQUIRED_FEATURES, list_allowed
from deltaspec_generators.tables.log_specs import FAMILIES
from deltaspec_generators.tables.strategies import GeneratedLog, logs, logs_with_states

IN_COMMITS = set(ACTION_TYPES) - {"checkpointMetadata", "sidecar"}
ALL_HEALTH_CHECKS = list(HealthCheck)


def collect_observations(drawn: GeneratedLog) -> set[str]:
    """Collect the observations on one drawn log, by name."""
    files, seen = drawn.files, collect_feature_uses(drawn)
    for lines in files.commits.values():
        kinds = [next(iter(line)) for line in lines if isinstance(line, dict)]
        seen |= {f"action {kind}" for kind in kinds}
        seen |= {"blank line"} if "" in lines else set()
        if "commitInfo" in kinds and kinds[0] != "commitInfo":
            seen.add("commitInfo not first")
        for line in lines:
            if isinstance(line, dict):
                ((kind, body),) = line.items()
                seen |= {f"{kind}.{name}" for name, value in body.items() if value is not None}
                seen |= {"explicit null"} if None in body.values() else set()
                seen |= _observe_action(kind, body)
    for checkpoint in files.checkpoints:
        form = f"{checkpoint.naming}{' v2' if checkpoint.v2 else ''}"
        seen |= {f"checkpoint {form}", f"checkpoint {form} with sidecars" if checkpoint.sidecars else "no sidecars"}
        rows = [row for row in checkpoint.rows if isinstance(row, dict)]
        rows += [row for sidecar in checkpoint.sidecars for row in sidecar.rows]
        seen |= {f"checkpoint row {kind}" for row in rows for kind in row}
        seen |= {f"checkpoint {name}" for row in rows for name in row.get("add", {}) if name.endswith("_parsed")}
        if any("add" in row and "stats" not in row["add"] and row["add"].get("stats_parsed") for row in rows):
            seen.add("checkpoint without JSON statistics")
    seen |= {"compaction"} if files.compactions else set()
    for body in files.checksums.values():
        seen |= {f"crc {name}" for name in body} if isinstance(body, dict) else set()
    seen.add(_describe_hint(files))
    seen |= {"cleaned up"} if 0 not in files.commits else set()
    seen |= {f"foreign {path}" for path in files.extra if path.startswith(LOG)}
    for state in drawn.states:
        seen |= _observe_state(state)
    return seen


def _observe_action(kind: str, body: dict[str, Any]) -> set[str]:
    if kind == "domainMetadata":
        form = "map" if isinstance(body["configuration"], dict) else "text"
        mark = {name for name in ("highWaterMark", "rowIdHighWaterMark") if f'"{name}"' in str(body["configuration"])}
        return {f"domain of {form}", "domain tombstone" if body["removed"] else "domain", *mark}
    if kind not in ("add", "remove"):
        return set()
    seen = {f"{kind} dataChange {body['dataChange']}"}
    values = (body.get("partitionValues") or {}).values()
    seen |= {"null partition value"} if None in values else set()
    seen |= {"empty partition value"} if "" in values else set()
    seen |= {"path with escapes"} if "%" in body["path"] else set()
    seen |= {"absolute path"} if "://" in body["path"] else set()
    if body.get("deletionVector"):
        seen.add(f"{kind} vector {body['deletionVector']['storageType']}")
    return seen


def _observe_state(state: WrittenState) -> set[str]:
    seen = {f"feature {name}" for name in state.features}
    seen.add(f"protocol {state.protocol['minReaderVersion']},{state.protocol['minWriterVersion']}")
    seen |= {
        f"property {name}={value}" for name, value in state.configuration.items() if name.startswith("delta.enable")
    }
    fields = json.loads(state.metadata["schemaString"])["fields"]
    kinds = {each["name"]: each["type"] for each in fields}
    seen |= {f"text type {each['metadata'].get('__CHAR_VARCHAR_TYPE_STRING')}" for each in fields}
    for name, kind in kinds.items():
        seen.add(f"column {kind if isinstance(kind, str) else kind['type']}")
        seen |= {f"partition {kind}"} if name in state.metadata["partitionColumns"] else set()
    return seen


def _describe_hint(files: TableFiles) -> str:
    if files.last_checkpoint is None:
        return "hint absent"
    assert isinstance(files.last_checkpoint, dict)
    newest = max(each.version for each in files.checkpoints)
    stale = "stale" if files.last_checkpoint["version"] < newest else "fresh"
    return f"hint {stale}{' with checksum' if 'checksum' in files.last_checkpoint else ''}"


INTEGERS = "long integer short byte"
PRIMITIVES = f"{INTEGERS} double float decimal(10,2) decimal(38,18) boolean string binary date timestamp timestamp_ntz"
EXPECTED = (
    {f"action {kind}" for kind in IN_COMMITS}
    | {"action futureAction", "domain tombstone", "blank line", "explicit null", "commitInfo not first"}
    | {f"{kind} vector {storage}" for kind in ("add", "remove") for storage in "iup"}
    | {f"{kind} dataChange {value}" for kind in ("add", "remove") for value in (True, False)}
    | {"null partition value", "empty partition value", "path with escapes", "absolute path"}
    | {"checkpoint classic", "checkpoint multipart"}
    | {f"checkpoint {naming} v2" for naming in ("classic", "uuid-json", "uuid-parquet")}
    | {f"checkpoint {naming} v2 with sidecars" for naming in ("classic", "uuid-json", "uuid-parquet")}
    | {f"checkpoint row {kind}" for kind in set(ACTION_TYPES) - {"commitInfo", "cdc", "sidecar"}}
    | {"checkpoint stats_parsed", "checkpoint partitionValues_parsed", "checkpoint without JSON statistics"}
    | {"compaction", "cleaned up", "crc allFiles", "crc inCommitTimestampOpt", "crc txnId", "crc futureField"}
    | {"hint absent", "hint fresh", "hint fresh with checksum", "hint stale"}
    | {f"feature {name}" for name in FEATURES}
    | {f"protocol {pair}" for pair in ("1,1", "1,2", "1,3", "1,4", "2,5", "2,6", "1,7", "2,7", "3,7")}
    | {f"column {kind}" for kind in (*PRIMITIVES.split(), "struct", "array", "map", "variant", "void")}
    | {"text type char(5)", "text type varchar(10)"}
    | {f"partition {kind}" for kind in PRIMITIVES.split() if kind != "long"}
    | {"foreign _delta_log/.tmp"}
)
FIELDS = {
    "add": "path partitionValues size modificationTime dataChange stats tags deletionVector baseRowId"
    " defaultRowCommitVersion clusteringProvider",
    "remove": "path dataChange deletionTimestamp extendedFileMetadata partitionValues size stats tags deletionVector"
    " baseRowId defaultRowCommitVersion",
    "cdc": "path partitionValues size dataChange tags",
    "metaData": "id name description format schemaString partitionColumns configuration createdTime",
    "protocol": "minReaderVersion minWriterVersion readerFeatures writerFeatures",
    "txn": "appId version lastUpdated",
    "domainMetadata": "domain configuration removed",
    "commitInfo": "inCommitTimestamp txnId operation engineInfo tags timestamp",
}


USES_IN_EVERY_REVISION = {
    *("append-only enabled later", "append-only disabled later", "rearranged while append-only"),
    *(
        "change files",
        "changes without change files",
        "change data feed enabled later",
        "change data feed disabled later",
    ),
    *(
        "constraint added",
        "constraint dropped",
        "constraint with a space in its name",
        "feature checkConstraints added",
    ),
    *("column with invariants", "column not null"),
    *("generated as id", "generated as 'X'"),
    *("identity mark moved up", "identity mark moved down", "identity column with explicit inserts"),
    *("row ids backfilled", "row ids enabled later", "row ids disabled later"),
    *("deletion vectors enabled later", "deletion vectors disabled later"),
}
USES_SINCE_R2 = {"rows preserved: true", "rows preserved: false"}
USES_SINCE_R3 = {
    *("default added", "default changed", "default dropped"),
    *("clustered by names", "clustered by lists", "clustered by a field", "file of a clustering provider"),
    *("clustering added", "clustering changed", "clustering removed"),
    *("Iceberg V1", "Iceberg V2", "Iceberg V1 disabled later", "Iceberg V2 disabled later"),
}
USES_IN_CURRENT = {
    *("Iceberg V3", "Iceberg V3 disabled later"),
    *(f"widened to {name}" for name in ("integer", "long", "double", "decimal", "timestamp_ntz")),
    *("widened in an array", "widened in a map", "widened in a struct", "widened a partition column"),
    *(
        "widened twice",
        "widened with a preview name",
        "widened with Iceberg compatibility",
        "column with columnMapping.nested.ids",
    ),
    *("row ids suspended", "row ids resumed", "file without row ids", "default of a variant"),
    *("timestamps enabled later", "timestamps disabled later"),
    *("shredding enabled", "shredding enabled later", "shredding disabled later", "checkpoints protected"),
    *("staged copy", "staged only", "staged in an unmanaged table"),
    *(f"feature {name}" for name in PROPOSED),
}
"""Uses that only the current revision and its proposals have."""
MAX_ROUNDS = 10
SOURCES = tuple(f"generators/deltaspec_generators/{name}" for name in ("layouts", "operations", "schemas", "tables"))


def observe_until(expected: set[str], revision: Revision) -> set[str]:
    """Collect observations on drawn logs until everything expected was observed, at most `MAX_ROUNDS` rounds.

    Every round draws independent logs: some with any features, and some for each group of features.
    """
    seen: set[str] = set()
    families = [{*family} & {*list_allowed(revision)} for family in FAMILIES]
    choices: list[tuple[int, set[str] | None]] = [(50, None)]
    for family in filter(None, families):
        needed = {REQUIRED_FEATURES[name] for name in family if name in REQUIRED_FEATURES}
        choices.append((30 if "typeWidening" in family else 12, family | needed))
    for number in range(MAX_ROUNDS):
        for index, (count, features) in enumerate(choices):
            seen |= _observe_logs(f"{number} {index}", count, revision, features)
            if expected <= seen:
                return seen
    return seen


def _observe_logs(name: str, count: int, revision: Revision, features: set[str] | None) -> set[str]:
    seen: set[str] = set()

    @settings(
        max_examples=2, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=ALL_HEALTH_CHECKS
    )
    @given(drawn=logs_with_states(revision=revision, features=features))
    def collect(drawn: GeneratedLog) -> None:
        seen.update(collect_observations(drawn))

    for each in range(count):  # only the first examples are independent; later ones resemble them
        seed(f"{name} {each}")(collect)()
    return seen


@pytest.mark.slow(*SOURCES)
def test_everything_is_drawn() -> None:
    fields = {f"{kind}.{name}" for kind, names in FIELDS.items() for name in names.split()}
    expected = EXPECTED | fields | USES_IN_EVERY_REVISION | USES_SINCE_R2 | USES_SINCE_R3 | USES_IN_CURRENT
    assert sorted(expected - observe_until(expected, Revision.CURRENT)) == []


IN_EVERY_REVISION = USES_IN_EVERY_REVISION | {
    *(f"action {kind}" for kind in IN_COMMITS),
    *(f"add vector {storage}" for storage in "iup"),
    *(f"column {kind}" for kind in (*PRIMITIVES.split(), "struct", "array", "map", "void")),
    *(f"partition {kind}" for kind in PRIMITIVES.split() if kind != "long"),
    *(
        "checkpoint classic",
        "checkpoint multipart",
        "checkpoint stats_parsed",
        "cleaned up",
        "hint fresh with checksum",
    ),
    *("domain tombstone", "add.baseRowId", "remove.deletionVector", "metaData.description"),
}
SINCE_R2 = USES_SINCE_R2 | {"add.defaultRowCommitVersion", "remove.defaultRowCommitVersion"}
SINCE_R3 = USES_SINCE_R3 | {
    *(f"checkpoint {naming} v2 with sidecars" for naming in ("classic", "uuid-json", "uuid-parquet")),
    *("compaction", "remove.stats", "domain of text"),
}
BEFORE_R3 = {
    *("action rowIdHighWaterMark", "checkpoint row rowIdHighWaterMark", "checkpoint row commitInfo", "domain of map"),
    *("feature timestampNTZ", "feature columnInvariants"),
}
ONLY_IN_R1 = {"row ids preserved: True", "row ids preserved: False"}
ONLY_IN_CURRENT = USES_IN_CURRENT - {
    *("file without row ids", "column with columnMapping.nested.ids", "staged in an unmanaged table"),
}
BY_REVISION: dict[Revision, tuple[set[str], set[str]]] = {
    Revision.R1: (IN_EVERY_REVISION | BEFORE_R3 | ONLY_IN_R1, ONLY_IN_CURRENT | SINCE_R2 | SINCE_R3),
    Revision.R2: (IN_EVERY_REVISION | BEFORE_R3 | SINCE_R2, ONLY_IN_CURRENT | SINCE_R3 | ONLY_IN_R1),
    Revision.R3: (
        IN_EVERY_REVISION
        | SINCE_R2
        | (SINCE_R3 - {"default dropped"})
        | {"highWaterMark", "rowIdHighWaterMark", "column with parquet.field.nested.ids"},
        ONLY_IN_CURRENT
        | BEFORE_R3
        | ONLY_IN_R1
        | {"crc numFiles", "column variant", "column with columnMapping.nested.ids"},
    ),
}
"""Observations that logs of an older revision must have, and observations that they must not have."""


@pytest.mark.slow(*SOURCES)
@pytest.mark.parametrize("revision", BY_REVISION)
def test_everything_of_an_older_revision_is_drawn(revision: Revision) -> None:
    expected, unexpected = BY_REVISION[revision]
    expected = expected | {f"feature {name}" for name in get_known_features(revision)}
    seen = observe_until(expected, revision)
    assert sorted(expected - seen) == []
    assert sorted(unexpected & seen) == []
    features = {each for each in seen if each.startswith("feature ") and not each.endswith(" added")}
    assert {each.removeprefix("feature ") for each in features} == get_known_features(revision)


def test_field_list_equals_the_fields_of_the_model() -> None:
    for kind, names in FIELDS.items():
        assert set(names.split()) == set(ACTION_TYPES[kind].__struct_encode_fields__)


def list_actions(files: TableFiles) -> list[dict[str, Any]]:
    return [line for lines in files.commits.values() for line in lines if isinstance(line, dict)]


@pytest.mark.slow(*SOURCES)
@pytest.mark.parametrize(
    ("feature", "condition", "most_actions", "most_commits"),
    [
        ("appendOnly", lambda files: True, 3, 1),
        (
            "deletionVectors",
            lambda files: any((line.get("add") or {}).get("deletionVector") for line in list_actions(files)),
            9,
            2,
        ),
        ("v2Checkpoint", lambda files: any(each.sidecars for each in files.checkpoints), 3, 1),
    ],
    ids=["anything", "vector", "sidecar"],
)
def test_minimal_log_is_small(
    feature: str, condition: Callable[[TableFiles], bool], most_actions: int, most_commits: int
) -> None:
    # Few commits and features, so that shrinking takes seconds.
    found = find(
        logs(max_commits=2, features=(feature,), decorated=False),
        condition,
        settings=settings(
            max_examples=1000,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate, Phase.shrink],  # the explain phase takes longer than shrinking
            suppress_health_check=ALL_HEALTH_CHECKS,
        ),
    )
    assert len(found.commits) <= most_commits
    assert len(list_actions(found)) <= most_actions
    assert not found.extra or any(path.startswith("deletion_vector") for path in found.extra), list(found.extra)


@settings(max_examples=30, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(data=st.data(), features=st.sets(st.sampled_from(FEATURES)))
def test_only_given_features_are_drawn(data: st.DataObject, features: set[str]) -> None:
    needed = {needed for name, needed in REQUIRED_FEATURES.items() if name in features}
    drawn = data.draw(logs_with_states(features=features, max_commits=3))
    for state in drawn.states:
        assert state.features <= features | needed


@settings(max_examples=30, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(files=logs(max_commits=2, decorated=False))
def test_undecorated_logs_have_no_unknown_fields_or_actions(files: TableFiles) -> None:
    assert len(files.commits) <= 2
    for line in list_actions(files):
        ((kind, body),) = line.items()
        assert kind in IN_COMMITS, f"{line=}"
        assert "futureField" not in body, f"{line=}"
        assert vector_id(body) is None or kind in ("add", "remove"), f"{line=}"
