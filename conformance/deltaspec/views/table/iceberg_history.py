"""Rows of the views over compatibility with Iceberg, and the versions at which it is enabled."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.commit import iceberg_compat
from deltaspec.model.commit.operations import reuses_existing_files
from deltaspec.model.features.protocol import get_supported_features, has_known_features
from deltaspec.model.features.table_features import strip_preview_suffix
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.data_types import Struct, get_type_name
from deltaspec.views.files.file_replay import find_first_added_paths

Row = dict[str, Any]


class IcebergHistory:
    """Which compatibility the versions so far enable, and what one more version makes of it."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, tuple[str, ...]]] = []
        """Version from which on which are enabled, ascending; none where that is not known."""
        self._before: tuple[Struct, list[str], str | None] | None = None
        """Schema, partition columns and mapping of the version before, where it is compatible."""

    @property
    def enabled_now(self) -> tuple[str, ...]:
        """Which the last version that is known enables."""
        return self.spans[-1][1] if self.spans else ()

    def enabled_at(self, version: int) -> tuple[str, ...]:
        """Which are enabled at a version."""
        return next((enabled for start, enabled in reversed(self.spans) if start <= version), ())

    def take(
        self,
        place: Row,
        protocol: Protocol | None,
        metadata: MetaData | None,
        schema: Struct | None,
        mapping: str | None,
        revision: Revision,
        *,
        taken_over: bool = False,
    ) -> tuple[list[Row], list[Row]]:
        """Step to the next protocol or metadata; what is not known of them makes all before it forgotten.

        Args:
            place: version, file and line.
            protocol: of the table.
            metadata: of the table.
            schema: of the table; None where it cannot be read.
            mapping: column mapping in force.
            revision: the text.
            taken_over: the commit takes over another state or table, and replaces none.

        Returns:
            Rows of `iceberg` and of `nested_ids`.
        """
        before, self._before = self._before, None
        if protocol is None or metadata is None or not has_known_features(protocol):
            self.spans.append((place["version"], ()))
            return [], []
        features = get_supported_features(protocol)
        enabled = iceberg_compat.get_enabled_compatibilities(features, metadata.configuration, revision)
        self.spans.append((place["version"], enabled))
        if enabled and schema is not None:
            self._before = (schema, metadata.partition_columns, mapping)
        renamed = None
        if before is not None and self._before is not None and not taken_over:
            renamed = iceberg_compat.find_renamed_partition_columns(before, self._before)
        rows = [
            {
                **place,
                "compatibility": each,
                "column_mapping_mode": mapping,
                "conflicts_with_deletion_vectors": iceberg_compat.conflicts_with_vectors(
                    each, features, metadata.configuration
                ),
                "v1_also_enabled": each == "V2" and "V1" in enabled,
                "renamed_partition_columns": renamed,
                **(_of_types(schema, each, features) if schema is not None else {}),
            }
            for each in enabled
        ]
        wanted = "V2" in enabled and schema is not None and mapping is not None
        return rows, _nested(place, schema, mapping, revision) if wanted and schema and mapping else []

    def forget(self) -> None:
        """Note that versions are unknown."""
        self.spans.clear()
        self._before = None


def _of_types(schema: Struct, compatibility: str, features: set[str]) -> Row:
    columns = iceberg_compat.find_forbidden_columns(schema, compatibility)
    found: Row = {"forbidden_columns": [f"{'.'.join(path)}: {get_type_name(kind)}" for path, kind in columns]}
    if "typeWidening" in {strip_preview_suffix(name) for name in features}:
        changes = iceberg_compat.find_forbidden_type_changes(schema)
        told = [f"{'.'.join(path)}: {get_type_name(old)} to {get_type_name(new)}" for path, old, new in changes]
        found["forbidden_type_changes"] = told
    return found


def _nested(place: Row, schema: Struct, mapping: str, revision: Revision) -> list[Row]:
    return [
        {
            **place,
            "column": ".".join(each.path),
            "missing_ids": list(each.missing),
            "ids_under_wrong_key": list(each.under_another_key),
            "ids_in_wrong_field": list(each.elsewhere),
            "unresolved_names": list(each.misnamed),
            "out_of_range_ids": list(each.out_of_range),
            "duplicate_ids": list(each.shared),
        }
        for each in iceberg_compat.find_nested_id_faults(schema, mapping, revision)
    ]


def find_paths_written_under_v2(
    intervals: pl.DataFrame,
    history: IcebergHistory,
    operations: Mapping[int, str | None],
    *,
    begins_with_checkpoint: bool,
) -> pl.Series:
    """Keys of the paths whose files were written, beyond doubt, while V2 was enabled.

    The commit that adds such a file follows a version that has V2 enabled, no earlier action speaks of its path, and
    the commit does not take over files of another state or table. Where versions before the judged history may have
    had the file, the commit has to say what it does.

    Args:
        spanned: every add and remove of the judged history.
        history: after the last version.
        operations: what each commit says it does.
        begins_with_checkpoint: there are versions before the judged history.
    """
    versions = [
        version
        for version, operation in operations.items()
        if version > 0
        and "V2" in history.enabled_at(version - 1)
        and "V2" in history.enabled_at(version)
        and not reuses_existing_files(operation)
        and not (begins_with_checkpoint and operation is None)
    ]
    return find_first_added_paths(intervals, versions)


def join_written_under_v2(files: pl.DataFrame, written: Iterable[str]) -> pl.DataFrame:
    """Files with the column `written_under_v2`: their paths are among those of `find_paths_written_under_v2`."""
    return files.with_columns(written_under_v2=pl.col("path_key").is_in(pl.Series(written, dtype=pl.String).implode()))
