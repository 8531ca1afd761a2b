"""Rows of `metadata`, `schema_fields` and `configuration`, built from metaData actions."""

import re
from collections import Counter
from typing import Any

from deltaspec.model.actions import MetaData
from deltaspec.model.features import table_properties
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.data_types import (
    Array,
    Map,
    Struct,
    get_type_name,
    iter_fields,
)
from deltaspec.model.schema.schema_string import SchemaError, find_repeated_names
from deltaspec.views.table.column_constraints import build_constraint_columns, constraint_fault

Row = dict[str, Any]

_GUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def build_metadata_row(
    location: Row, action: MetaData, schema: Struct | None, fault: SchemaError | None, mapping: str | None
) -> Row:
    """Return the row of `metadata`, without the columns of `MappingHistory`.

    Args:
        location: version, file and line.
        action: the metadata.
        schema: parsed schema; None if it cannot be parsed.
        fault: why the schema cannot be parsed.
        mapping: column mapping mode; None if off.
    """
    names = action.partition_columns
    row: Row = {
        **location,
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


def build_field_rows(
    location: Row, schema: Struct, mapped: list[Row], supported: set[str] | None, revision: Revision
) -> list[Row]:
    """Return the rows of `schema_fields`.

    Args:
        location: version, file and line.
        schema: table schema.
        mapped: mapping columns of each field, in the order of `data_types.iter_fields`.
        supported: features that the table supports; None if unknown.
        revision: protocol revision.
    """
    return [
        {
            **location,
            "column": ".".join(path),
            "type": get_type_name(member.type),
            "nullable": member.nullable,
            **names,
            "unsupported_feature": table_properties.find_unsupported_type_feature(member.type, supported),
            **build_constraint_columns(member, schema, supported, revision),
        }
        for (path, member), names in zip(iter_fields(schema), mapped, strict=True)
    ]


def build_configuration_rows(
    location: Row,
    before: dict[str, str],
    current: dict[str, str],
    schema: Struct | None,
    supported: set[str] | None,
    revision: Revision,
) -> list[Row]:
    """Return the rows of `configuration`: one per changed property, sorted by name.

    Args:
        location: version, file and line.
        before: the replaced table properties.
        current: the new table properties.
        schema: table schema; None if unknown.
        supported: features that the table supports; None if unknown.
        revision: protocol revision.
    """
    rows = []
    for name in sorted({*before, *current}):
        value = current.get(name)
        if value == before.get(name):
            continue
        row: Row = {**location, "property": name, "value": value, "value_before": before.get(name)}
        if value is not None:
            row |= {
                "value_fault": table_properties.find_property_fault(name, value, revision),
                "undefined_value": table_properties.find_undefined_value(name, value, revision),
                "value_warning": table_properties.find_property_warning(name, value),
                "unsupported_feature": table_properties.find_unsupported_feature(name, value, supported, revision),
                "intended_name": table_properties.MISPRINTED_PROPERTIES.get(name),
                "constraint_fault": constraint_fault(name, value, schema),
            }
        rows.append(row)
    return rows
