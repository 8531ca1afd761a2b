"""Requirements that a table tests, derived from its contents.

The rows of a table with deletion vectors test whether the vectors are honoured, the rows of a table with a V2
checkpoint whether its sidecars are read, and so on. A failed case names the requirements of its check and of its table.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from deltaspec.protocol.actions import ACTION_TYPES
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, DELETION_VECTORS, IN_COMMIT_TIMESTAMPS, TYPE_CHANGES
from deltaspec.protocol.schema.data_types import Struct, iter_fields
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.tables.readable import ReadableTable

Holds: TypeAlias = Callable[[ReadableTable], bool]


def _newest(table: ReadableTable) -> WrittenState:
    return table.versions[-1].state


def _adds(table: ReadableTable) -> Iterator[dict[str, Any]]:
    for each in table.versions:
        yield from each.state.live.values()


def _actions(table: ReadableTable) -> Iterator[dict[str, Any]]:
    for lines in table.files.commits.values():
        yield from (line for line in lines if isinstance(line, dict))


def _has_vectors(table: ReadableTable) -> bool:
    return any(add.get("deletionVector") for add in _adds(table))


def _has_vectors_without_property(table: ReadableTable) -> bool:
    newest = _newest(table)
    has_vector = any(add.get("deletionVector") for add in newest.live.values())
    return has_vector and newest.configuration.get(DELETION_VECTORS) != "true"


def _has_mode(mode: str | None) -> Holds:
    def holds(table: ReadableTable) -> bool:
        newest = _newest(table)
        return "columnMapping" in newest.features and newest.configuration.get(COLUMN_MAPPING_MODE) == mode

    return holds


def _is_mapped(table: ReadableTable) -> bool:
    return _newest(table).configuration.get(COLUMN_MAPPING_MODE) in ("name", "id")


def _has_mapping_property_alone(table: ReadableTable) -> bool:
    """Whether the table has the property of column mapping and does not support it."""
    has_mode = _newest(table).configuration.get(COLUMN_MAPPING_MODE) in ("name", "id")
    return has_mode and "columnMapping" not in _newest(table).features and not _has_legacy_mapping(table)


def _has_added_columns(table: ReadableTable) -> bool:
    """Whether some file may be older than a column: the newest schema has a field that an earlier one lacks."""
    return any(_field_paths(each.schema) < _field_paths(table.versions[-1].schema) for each in table.versions)


def _field_paths(schema: Struct) -> frozenset[tuple[str, ...]]:
    return frozenset(path for path, _ in iter_fields(schema))


def _has_type_changes(table: ReadableTable) -> bool:
    return any(field.metadata.get(TYPE_CHANGES) for _, field in iter_fields(table.versions[-1].schema))


def _has_null_partition_value(table: ReadableTable) -> bool:
    return any(not text for add in _adds(table) for text in (add.get("partitionValues") or {}).values())


def _has_unknown_actions(table: ReadableTable) -> bool:
    return any(not action.keys() <= ACTION_TYPES.keys() for action in _actions(table))


def _has_type(*names: str) -> Holds:
    return lambda table: bool(table.types & set(names))


def _has_checkpoint(naming: str) -> Holds:
    return lambda table: any(each.naming == naming for each in table.files.checkpoints)


def _has_sidecars(table: ReadableTable) -> bool:
    return any(each.sidecars for each in table.files.checkpoints)


def _has_no_base(table: ReadableTable) -> bool:
    return not table.files.checkpoints and len(table.versions) > 1


def _has_checkpoint_beyond_a_version(table: ReadableTable) -> bool:
    return any(each.version > table.versions[0].version for each in table.files.checkpoints)


def _has_hint(table: ReadableTable) -> bool:
    return table.files.last_checkpoint is not None


def _has_checkpoint_without_hint(table: ReadableTable) -> bool:
    return bool(table.files.checkpoints) and table.files.last_checkpoint is None


def _has_several_checkpoints_of_a_version(table: ReadableTable) -> bool:
    versions = [each.version for each in table.files.checkpoints]
    return len(versions) > len(set(versions))


def _has_in_commit_timestamps(table: ReadableTable) -> bool:
    return any(each.state.configuration.get(IN_COMMIT_TIMESTAMPS) == "true" for each in table.versions)


def _has_wide_bounds(table: ReadableTable) -> bool:
    return any('"tightBounds":false' in (add.get("stats") or "").replace(" ", "") for add in _adds(table))


def _has_statistics(table: ReadableTable) -> bool:
    return any(add.get("stats") for add in _adds(table))


def _has_replaced_metadata(table: ReadableTable) -> bool:
    return sum("metaData" in action for action in _actions(table)) > 1


def _has_replaced_protocol(table: ReadableTable) -> bool:
    return sum("protocol" in action for action in _actions(table)) > 1


def _has_unordered_commit(table: ReadableTable) -> bool:
    """Whether some commit has an add before a remove."""
    for lines in table.files.commits.values():
        kinds = [next(iter(line)) for line in lines if isinstance(line, dict) and line]
        if "add" in kinds and "remove" in kinds[kinds.index("add") :]:
            return True
    return False


def _has_vector_without_offset(table: ReadableTable) -> bool:
    vectors = [add.get("deletionVector") or {} for add in _adds(table)]
    return any(each.get("storageType") == "p" and each.get("offset") is None for each in vectors)


def _has_removed_domain(table: ReadableTable) -> bool:
    return any((action.get("domainMetadata") or {}).get("removed") for action in _actions(table))


def _has_repeated_application(table: ReadableTable) -> bool:
    apps = [action["txn"]["appId"] for action in _actions(table) if "txn" in action]
    return len(apps) > len(set(apps))


def _has_decreasing_application(table: ReadableTable) -> bool:
    last: dict[str, int] = {}
    for action in _actions(table):
        if "txn" in action:
            app, version = action["txn"]["appId"], action["txn"]["version"]
            if version < last.get(app, version):
                return True
            last[app] = version
    return False


def _has_legacy_mapping(table: ReadableTable) -> bool:
    return _newest(table).protocol.get("minReaderVersion") == 2


def _has_default(table: ReadableTable) -> bool:
    return any("CURRENT_DEFAULT" in field.metadata for _, field in iter_fields(table.versions[-1].schema))


TABLE_REQUIREMENTS: dict[str, Holds] = {
    "deletion-vectors.honoured": _has_vectors,
    "deletion-vectors.honoured-without-property": _has_vectors_without_property,
    "deletion-vectors.offset-absent": _has_vector_without_offset,
    "column-mapping.read-by-physical-name": _has_mode("name"),
    "column-mapping.read-by-id": _has_mode("id"),
    "column-mapping.read-by-display-name": _has_mode(None),
    "column-mapping.log-read-by-physical-name": _is_mapped,
    "column-mapping.property-needs-support": _has_mapping_property_alone,
    "consistency.missing-columns-null": _has_added_columns,
    "type-widening.converted": _has_type_changes,
    "partition-values.empty-is-null": _has_null_partition_value,
    "action.unknown-ignored": _has_unknown_actions,
    "schema.void-read-as-null": _has_type("void"),
    "variant.tolerated": _has_type("variant"),
    "variant-shredding.both-read": lambda table: "variantShredding" in _newest(table).features,
    "default-columns.not-for-reading": _has_default,
    "checkpoint.newest-preferred": _has_checkpoint("classic"),
    "checkpoint.not-counted-on": _has_no_base,
    "checkpoint.not-beyond-version": _has_checkpoint_beyond_a_version,
    "checkpoint.several-of-one-version": _has_several_checkpoints_of_a_version,
    "reconciliation.checkpoint-actions-not-replayed": _has_sidecars,
    "last-checkpoint.newer-found": _has_hint,
    "last-checkpoint.hint-not-needed": _has_checkpoint_without_hint,
    "in-commit-timestamp.used-for-time-travel": _has_in_commit_timestamps,
    "statistics.wide-null-count-else": _has_wide_bounds,
    "statistics.skipping": _has_statistics,
    "metadata.replaces-whole": _has_replaced_metadata,
    "protocol.latest-holds": _has_replaced_protocol,
    "add.order-does-not-matter": _has_unordered_commit,
    "domain.removed-hidden": _has_removed_domain,
    "transaction.latest-holds": _has_repeated_application,
    "transaction.may-decrease": _has_decreasing_application,
    "protocol.columns-mapped-by-either": _has_legacy_mapping,
    "compaction.replaces-commits": lambda table: bool(table.files.compactions),
}
"""Requirement -> whether a table puts it to the test."""


def list_table_requirements(table: ReadableTable) -> list[str]:
    """Return the requirements that a table puts to the test."""
    return [requirement for requirement, holds in TABLE_REQUIREMENTS.items() if holds(table)]
