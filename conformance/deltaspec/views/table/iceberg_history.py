"""Rows of the views over Iceberg compatibility, and the versions at which it is enabled."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features import iceberg_compat, row_tracking
from deltaspec.protocol.features.constraints import DEFAULT
from deltaspec.protocol.features.supported_features import get_supported_features, has_known_features
from deltaspec.protocol.features.table_features import strip_preview_suffix
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Struct, get_type_name, iter_fields
from deltaspec.views.files.file_replay import find_first_added_paths
from deltaspec.views.table import iceberg_compatibility

Row = dict[str, Any]


class IcebergHistory:
    """Enabled Iceberg compatibility along the history, updated version by version."""

    def __init__(self) -> None:
        self.enabled_since: list[tuple[int, tuple[str, ...]]] = []
        """Pairs of a version and the compatibilities enabled from it on, ascending; empty tuples if unknown."""
        self._before: tuple[Struct, list[str], str | None] | None = None
        """Schema, partition columns and mapping of the preceding version; None if it is not compatible."""

    @property
    def enabled_now(self) -> tuple[str, ...]:
        """Compatibilities that the last known version enables."""
        return self.enabled_since[-1][1] if self.enabled_since else ()

    def enabled_at(self, version: int) -> tuple[str, ...]:
        """Return the compatibilities that are enabled at a version."""
        return next((enabled for start, enabled in reversed(self.enabled_since) if start <= version), ())

    def apply(
        self,
        location: Row,
        protocol: Protocol | None,
        metadata: MetaData | None,
        schema: Struct | None,
        mapping: str | None,
        revision: Revision,
        *,
        reuses_files: bool = False,
    ) -> tuple[list[Row], list[Row], list[Row]]:
        """Apply the next protocol or metadata; an unknown protocol or metadata discards the earlier state.

        Args:
            location: version, file and line.
            protocol: table protocol; None if unknown.
            metadata: table metadata; None if unknown.
            schema: table schema; None if it cannot be parsed.
            mapping: column mapping mode; None if off.
            revision: protocol revision.
            reuses_files: whether the commit reuses files of another state or table.

        Returns:
            Rows of `iceberg`, of `iceberg_v3` and of `nested_ids`.
        """
        before, self._before = self._before, None
        if protocol is None or metadata is None or not has_known_features(protocol):
            self.enabled_since.append((location["version"], ()))
            return [], [], []
        features = get_supported_features(protocol)
        enabled = iceberg_compat.get_enabled_compatibilities(features, metadata.configuration, revision)
        self.enabled_since.append((location["version"], enabled))
        if enabled and schema is not None:
            self._before = (schema, metadata.partition_columns, mapping)
        renamed = None
        if before is not None and self._before is not None and not reuses_files:
            renamed = iceberg_compatibility.find_renamed_partition_columns(before, self._before)
        common = {
            each: {
                **location,
                "renamed_partition_columns": renamed,
                **(_type_facts(schema, each, features) if schema is not None else {}),
            }
            for each in enabled
        }
        proposed = common.pop(iceberg_compat.PROPOSED, None)
        rows = [
            {
                **row,
                "compatibility": each,
                "column_mapping_mode": mapping,
                "conflicts_with_deletion_vectors": iceberg_compatibility.conflicts_with_vectors(
                    each, features, metadata.configuration
                ),
                "v1_also_enabled": each == "V2" and "V1" in enabled,
            }
            for each, row in common.items()
        ]
        v3_rows = [
            {
                **row,
                "columns_are_mapped": mapping is not None,
                "row_tracking_enabled": row_tracking.is_enabled(protocol, metadata, revision),
                "other_compatibilities": list(common),
                "computed_defaults": None if schema is None else _find_computed_defaults(schema),
            }
            for row in (proposed,)
            if row is not None
        ]
        if schema is None or mapping is None or enabled in ((), ("V1",)):
            return rows, v3_rows, []
        decides = "V2" if "V2" in enabled else iceberg_compat.PROPOSED
        nested_ids = _nested_id_rows(location | {"compatibility": decides}, schema, mapping, revision)
        return rows, v3_rows, nested_ids

    def forget(self) -> None:
        """Record that versions are unknown."""
        self.enabled_since.clear()
        self._before = None


def _type_facts(schema: Struct, compatibility: str, features: set[str]) -> Row:
    columns = iceberg_compatibility.find_forbidden_columns(schema, compatibility)
    found: Row = {"forbidden_columns": [f"{'.'.join(path)}: {get_type_name(kind)}" for path, kind in columns]}
    if "typeWidening" in {strip_preview_suffix(name) for name in features}:
        changes = iceberg_compatibility.find_forbidden_type_changes(schema)
        descriptions = [f"{'.'.join(path)}: {get_type_name(old)} to {get_type_name(new)}" for path, old, new in changes]
        found["forbidden_type_changes"] = descriptions
    return found


def _find_computed_defaults(schema: Struct) -> list[str] | None:
    """Return `path: default` of each default that is not a literal; None if it is unknown whether one is."""
    from deltaspec.sql.parser import is_literal  # few tables have defaults

    defaults = {path: field.metadata.get(DEFAULT) for path, field in iter_fields(schema)}
    texts = {".".join(path): text for path, text in defaults.items() if isinstance(text, str)}
    literal = {path: is_literal(text) for path, text in texts.items()}
    found = [f"{path}: {texts[path]}" for path, holds in literal.items() if holds is False]
    return found if found or None not in literal.values() else None


def _nested_id_rows(location: Row, schema: Struct, mapping: str, revision: Revision) -> list[Row]:
    rows = []
    for each in iceberg_compatibility.find_nested_id_faults(schema, mapping, revision):
        faults = {
            "missing_ids": list(each.missing),
            "ids_under_wrong_key": list(each.under_another_key),
            "ids_in_wrong_field": list(each.elsewhere),
            "unresolved_names": list(each.misnamed),
            "out_of_range_ids": list(each.out_of_range),
            "duplicate_ids": list(each.shared),
        }
        faulty = [name for names in faults.values() for name in names]
        rows.append({**location, "column": ".".join(each.path), **faults, "faulty_ids": faulty})
    return rows


def find_paths_written_under(
    compatibility: str,
    intervals: pl.DataFrame,
    history: IcebergHistory,
    operations: Mapping[int, str | None],
    *,
    begins_with_checkpoint: bool,
) -> pl.Series:
    """Return keys of the paths whose files were certainly written while a compatibility was enabled.

    It is enabled in the commit that adds such a file and in the preceding version. No earlier action has the path, and
    the commit does not reuse existing files. If versions precede the validated history, the commit must have an
    operation.

    Args:
        compatibility: `V2` or `V3`.
        intervals: every add and remove of the validated history.
        history: history after the last version.
        operations: version to commitInfo.operation, None if a commit has none.
        begins_with_checkpoint: whether versions before the validated history exist.
    """
    versions = [
        version
        for version, operation in operations.items()
        if version > 0
        and compatibility in history.enabled_at(version - 1)
        and compatibility in history.enabled_at(version)
        and not reuses_existing_files(operation)
        and not (begins_with_checkpoint and operation is None)
    ]
    return find_first_added_paths(intervals, versions)
