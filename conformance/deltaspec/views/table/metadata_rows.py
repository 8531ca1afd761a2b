"""Rows of `metadata`, `schema_fields` and `configuration`, built from metaData actions."""

import re
from collections import Counter
from collections.abc import Collection
from itertools import chain
from typing import Any

from deltaspec.model.actions import MetaData
from deltaspec.model.features import collations, table_properties
from deltaspec.model.features.feature_uses import FeatureUse
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.data_types import Array, Map, Struct, get_type_name, iter_fields
from deltaspec.model.schema.schema_string import TYPE_CHANGES, SchemaError, find_repeated_names
from deltaspec.views.table.column_constraints import build_constraint_columns, constraint_fault
from deltaspec.views.table.schema_columns import ColumnCache

Row = dict[str, Any]

_GUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def build_metadata_row(action: MetaData, schema: Struct | None, fault: SchemaError | None, mapping: str | None) -> Row:
    """Return the row of `metadata`, without location and the columns of `MappingHistory`.

    Args:
        action: the metadata.
        schema: parsed schema; None if it cannot be parsed.
        fault: why the schema cannot be parsed.
        mapping: column mapping mode; None if off.
    """
    names = action.partition_columns
    row: Row = {
        "id": action.id,
        "id_is_guid": _GUID.fullmatch(action.id) is not None,
        "provider": action.format.provider,
        "schema_fault": fault.kind if fault else None,
        "schema_fault_pointer": str(fault) if fault else None,
        "partition_columns": names,
        "repeated_partition_columns": sorted(name for name, count in Counter(names).items() if count > 1),
        "column_mapping_mode": mapping,
    }
    if schema is None:
        return row
    types = {member.name: member.type for member in schema.fields}
    return row | {
        "unknown_partition_columns": [name for name in names if name not in types],
        "nested_partition_columns": [name for name in names if isinstance(types.get(name), Struct | Array | Map)],
        "repeated_columns": find_repeated_names(schema),
    }


def build_column_rows(schema: Struct, supported: set[str] | None, revision: Revision) -> list[Row]:
    """Return the columns of `schema_fields` that depend only on the field, the features and the revision."""
    return [
        {
            "column": ".".join(path),
            "type": get_type_name(member.type),
            "nullable": member.nullable,
            "collation_fault": collations.find_collation_fault(member, supported),
            **({} if member.metadata else build_constraint_columns(member, schema, supported, revision)),
        }
        for path, member in iter_fields(schema)
    ]


def build_field_rows(
    columns: ColumnCache[list[Row]],
    schema: Struct,
    mapped: list[Row],
    supported: set[str] | None,
    unsupported: Collection[FeatureUse],
    revision: Revision,
) -> list[Row]:
    """Return the rows of `schema_fields` without location.

    Args:
        columns: results of `build_column_rows`.
        schema: table schema.
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
    known = chain.from_iterable(columns.collect(schema, supported, revision))
    rows = []
    for row, names, (_, member) in zip(known, mapped, iter_fields(schema), strict=True):
        column = row["column"]
        unsupported_keys = None if supported is None else keys.get(column, [])
        row = {**row, **names, "unsupported_feature": needed.get(column), "unsupported_keys": unsupported_keys}
        if member.metadata:  # an invariant is validated against the complete schema
            row |= build_constraint_columns(member, schema, supported, revision)
        rows.append(row)
    return rows


def build_configuration_row(
    name: str, value: str | None, schema: Struct | None, unsupported: Collection[FeatureUse], revision: Revision
) -> Row:
    """Return the row of `configuration` for a property, without location and `value_before`.

    Args:
        name: name of the property.
        value: its value; None if it is not set.
        schema: table schema; None if unknown.
        unsupported: uses of unsupported features that the version introduces.
        revision: protocol revision.
    """
    if value is None:
        return {"property": name, "value": None}
    needed = (use.feature for use in unsupported if (use.kind, use.name) == ("property", name))
    return {
        "property": name,
        "value": value,
        "value_fault": table_properties.find_property_fault(name, value, revision),
        "undefined_value": table_properties.find_undefined_value(name, value, revision),
        "value_warning": table_properties.find_property_warning(name, value),
        "unsupported_feature": next(needed, None),
        "intended_name": table_properties.MISPRINTED_PROPERTIES.get(name),
        "constraint_fault": constraint_fault(name, value, schema),
    }
