"""The schema of one version, with everything that decides how data files are read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deltaspec.protocol.features import iceberg_compat, table_features
from deltaspec.protocol.schema.data_types import DataType, Struct


class TableSchema(msgspec.Struct, frozen=True):
    """Table schema of one version, which data files are validated against."""

    schema: Struct
    mapping: str | None
    """Column mapping mode: `id`, `name` or None."""
    partition_columns: list[str]
    """Logical names, in the order of the metadata."""
    configuration: dict[str, str]
    features: frozenset[str]
    """Features that the table supports."""
    forgotten: frozenset[tuple[tuple[str, ...], DataType]] = frozenset()
    """Logical paths, each with the type before a change that an earlier schema recorded and this one does not."""
    unrecorded: Mapping[tuple[str, str], int] = msgspec.field(default_factory=dict)
    """Column paths, each with the type before a change that a commit did not record -> version of that commit."""
    names_in_files: frozenset[str] | None = None
    """Names that any column has or had in files, at any depth; None if unknown, or if columns are not mapped."""

    def supports(self, feature: str) -> bool:
        """Return whether the table supports a feature or a preview of it."""
        return table_features.supports_feature_or_preview(set(self.features), feature)

    @property
    def iceberg(self) -> tuple[str, ...]:
        """Enabled Iceberg compatibilities."""
        return iceberg_compat.get_enabled_compatibilities(self.features, self.configuration)
