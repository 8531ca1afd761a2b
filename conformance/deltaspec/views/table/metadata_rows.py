"""Rows of `metadata` and `configuration`, built from metaData actions."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from deltaspec.protocol.actions import MetaData
from deltaspec.protocol.features import table_properties
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Array, Map, Primitive, Struct
from deltaspec.protocol.schema.schema_string import SchemaError, find_repeated_schema_key
from deltaspec.views.table.column_constraints import constraint_fault
from deltaspec.views.table.used_features import FeatureUse

Row = dict[str, Any]

_GUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def build_metadata_row(
    action: MetaData, schema: Struct | None, fault: SchemaError | None, mapping: str | None, repeated: list[str]
) -> Row:
    """Return the row of `metadata`, without location and the columns of `MappingHistory`.

    Args:
        action: the metadata.
        schema: parsed schema; None if it cannot be parsed.
        fault: why the schema cannot be parsed.
        mapping: column mapping mode; None if off.
        repeated: paths of fields that repeat the name of a sibling.
    """
    names = action.partition_columns
    row: Row = {
        "id": action.id,
        "id_is_guid": _GUID.fullmatch(action.id) is not None,
        "provider": action.format.provider,
        "repeated_key": find_repeated_schema_key(action.schema_string),
        "schema_fault": fault.kind if fault else None,
        "schema_fault_pointer": str(fault) if fault else None,
        "partition_columns": names,
        "repeated_partition_columns": sorted(name for name, count in Counter(names).items() if count > 1),
        "column_mapping_mode": mapping,
    }
    if schema is None:
        return row
    types = {member.name: member.type for member in schema.fields} if names else {}
    return row | {
        "void_partition_columns": [name for name in names if types.get(name) == Primitive("void")],
        "unknown_partition_columns": [name for name in names if name not in types],
        "nested_partition_columns": [name for name in names if isinstance(types.get(name), Struct | Array | Map)],
        "repeated_columns": repeated,
    }


def build_configuration_row(
    name: str,
    configuration: Mapping[str, str],
    schema: Struct | None,
    unsupported: Collection[FeatureUse],
    revision: Revision,
) -> Row:
    """Return the row of `configuration` for a property, without location and `value_before`.

    Args:
        name: name of the property.
        configuration: properties of the table; without the property if it is not set.
        schema: table schema; None if unknown.
        unsupported: uses of unsupported features that the version introduces.
        revision: protocol revision.
    """
    value = configuration.get(name)
    if value is None:
        return {"property": name, "value": None}
    is_current = revision is Revision.CURRENT
    needed = (use.feature for use in unsupported if (use.kind, use.name) == ("property", name))
    return {
        "property": name,
        "value": value,
        "value_fault": table_properties.find_property_fault(name, value, revision),
        "undefined_value": table_properties.find_undefined_value(name, value, revision),
        "fault_by_proposal": table_properties.find_fault_by_proposal(name, value) if is_current else None,
        "value_warning": table_properties.find_property_warning(name, value),
        "unsupported_feature": next(needed, None),
        "intended_name": table_properties.MISPRINTED_PROPERTIES.get(name),
        "name_in_other_case": table_properties.find_name_in_other_case(name, configuration),
        "constraint_fault": constraint_fault(name, value, schema),
    }
