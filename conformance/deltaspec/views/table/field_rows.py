"""Rows of `schema_fields`, schema by schema."""

from collections.abc import Collection, Iterable
from itertools import chain
from operator import is_
from typing import Any

import msgspec

from deltaspec.protocol.features import collations
from deltaspec.protocol.property_names import TYPE_CHANGES
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Struct, get_type_name, iter_fields
from deltaspec.protocol.schema.schema_string import find_void_without_null
from deltaspec.views.table.column_constraints import build_constraint_columns, has_invariants
from deltaspec.views.table.schema_columns import ColumnCache, find_appended_columns
from deltaspec.views.table.state_rows import StateRows
from deltaspec.views.table.used_features import FeatureUse

Row = dict[str, Any]


class _Built(msgspec.Struct, frozen=True):
    """Inputs that the current rows were built from."""

    schema: Struct
    mapped: list[Row]
    supported: set[str] | None


class FieldRows:
    """Builder of the rows of `schema_fields`; a version that only appends columns adds only their rows."""

    def __init__(self, revision: Revision) -> None:
        self._revision = revision
        self._columns = ColumnCache(_build_column_rows)
        self._built: _Built | None = None
        """None if unknown, or if the rows state uses of unsupported features."""

    def forget(self) -> None:
        """Record that versions are unknown."""
        self._built = None

    def apply(
        self,
        view: StateRows,
        location: Row,
        schema: Struct,
        mapped: list[Row],
        supported: set[str] | None,
        unsupported: Collection[FeatureUse],
    ) -> None:
        """Add the rows that differ from the preceding version to `view`.

        Args:
            view: rows of the preceding versions.
            location: location columns of the rows.
            schema: table schema.
            mapped: mapping columns of each field, in the order of `data_types.iter_fields`; if the columns of a field
                do not change, they are the same object.
            supported: features that the table supports; None if unknown.
            unsupported: uses of unsupported features that the version introduces.
        """
        before, self._built = self._built, None if unsupported else _Built(schema, mapped, supported)
        if before is not None and before.supported == supported and not unsupported and not has_invariants(schema):
            appended = find_appended_columns(before.schema, schema)
            if appended is not None and all(map(is_, before.mapped, mapped)):
                added = _build_column_rows(appended, supported, self._revision)
                mapped = mapped[len(before.mapped) :]
                rows = _build_field_rows(added, appended, schema, mapped, supported, unsupported, self._revision)
                view.extend(location, ((row["column"], row) for row in rows))
                return
        known = chain.from_iterable(self._columns.collect(schema, supported, self._revision))
        rows = _build_field_rows(known, schema, schema, mapped, supported, unsupported, self._revision)
        view.replace(location, ((row["column"], row) for row in rows))


def _build_column_rows(schema: Struct, supported: set[str] | None, revision: Revision) -> list[Row]:
    """Return the columns of `schema_fields` that depend only on the field, the features and the revision."""
    return [
        {
            "column": ".".join(path),
            "type": get_type_name(member.type),
            "nullable": member.nullable,
            "void_without_null": find_void_without_null(member),
            "collation_fault": collations.find_collation_fault(member, supported),
            **({} if member.metadata else build_constraint_columns(member, schema, supported, revision)),
        }
        for path, member in iter_fields(schema)
    ]


def _build_field_rows(
    known: Iterable[Row],
    fields: Struct,
    schema: Struct,
    mapped: list[Row],
    supported: set[str] | None,
    unsupported: Collection[FeatureUse],
    revision: Revision,
) -> list[Row]:
    """Return the rows of `schema_fields` without location.

    Args:
        known: rows of `_build_column_rows` for `fields`.
        fields: columns of the table.
        schema: table schema, with all columns.
        mapped: mapping columns of each field, in the order of `data_types.iter_fields`.
        supported: features that the table supports; None if unknown.
        unsupported: uses of unsupported features that the version introduces.
        revision: protocol revision.
    """
    needed = {use.name: use.feature for use in sorted(unsupported, reverse=True) if use.kind == "type"}
    keys: dict[str, list[str]] = {}
    for use in sorted(unsupported):
        if use.kind == "column metadata" and use.key != TYPE_CHANGES:
            keys.setdefault(use.name, []).append(use.key)
    rows = []
    for row, names, (_, member) in zip(known, mapped, iter_fields(fields), strict=True):
        column = row["column"]
        unsupported_keys = None if supported is None else keys.get(column, [])
        row = {**row, **names, "unsupported_feature": needed.get(column), "unsupported_keys": unsupported_keys}
        if member.metadata:  # an invariant is validated against the complete schema
            row |= build_constraint_columns(member, schema, supported, revision)
        rows.append(row)
    return rows
