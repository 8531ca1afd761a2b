"""Constraints that metadata defines for rows: invariants, CHECK constraints, generated columns and defaults.

SQL is not parsed here. Source: Column Invariants; CHECK Constraints; Generated Columns; Default Columns;
Identity Columns.
"""

from collections.abc import Collection, Mapping
from typing import Any

from deltaspec.protocol.features.table_features import get_current_name, get_known_features, strip_preview_suffix
from deltaspec.protocol.json_values import JsonError, JsonTooDeep, Number, parse_lossless
from deltaspec.protocol.property_names import CONSTRAINT_PREFIX, GENERATION_EXPRESSION, IDENTITY_PREFIX, INVARIANTS
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Struct

DEFAULT = "CURRENT_DEFAULT"

_FEATURES = {INVARIANTS: "invariants", GENERATION_EXPRESSION: "generatedColumns", DEFAULT: "allowColumnDefaults"}


class InvariantError(ValueError):
    """A value of `delta.invariants` without an expression; the message says why."""


class InvariantTooDeep(InvariantError):
    """A value nested too deeply to be read; it may be valid."""


def read_check_constraints(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the CHECK constraints of a table as name to SQL expression, ordered by name."""
    names = sorted(key for key in configuration if key.startswith(CONSTRAINT_PREFIX))
    return {key.removeprefix(CONSTRAINT_PREFIX): configuration[key] for key in names}


def list_misspelled_constraints(configuration: Mapping[str, str]) -> list[str]:
    """Return the properties whose prefix is the prefix of CHECK constraints in another case, in order (S62)."""
    return sorted(
        key
        for key in configuration
        if key.lower().startswith(CONSTRAINT_PREFIX) and not key.startswith(CONSTRAINT_PREFIX)
    )


def find_constraint_fault(name: str, expression: str) -> str | None:
    """Return the requirement that a CHECK constraint violates regardless of its SQL, or None.

    Source: CHECK Constraints.
    """
    if not name.strip():
        return "check-constraints.key"
    return None if expression.strip() else "check-constraints.value"


def read_invariant(metadata: Mapping[str, Any]) -> str | None:
    """Return the SQL expression that rows must satisfy, or None if the column has no invariant.

    Raises:
        InvariantError: The value is not JSON with a string at `expression.expression`.
    """
    value_text = metadata.get(INVARIANTS)
    if value_text is None:
        return None
    if not isinstance(value_text, str) or isinstance(value_text, Number):
        raise InvariantError("is not a string")
    try:
        value = parse_lossless(value_text).value
    except JsonTooDeep as fault:
        raise InvariantTooDeep(str(fault)) from fault
    except JsonError as fault:
        raise InvariantError(f"is not JSON: {fault}") from fault
    for key in ("expression", "expression"):
        if not isinstance(value, dict) or key not in value:
            raise InvariantError("has nothing at expression.expression")
        value = value[key]
    if not isinstance(value, str) or isinstance(value, Number):
        raise InvariantError("has no string at expression.expression")
    if not value.strip():
        raise InvariantError("has an empty string at expression.expression")
    return value


def read_defaults(schema: Struct) -> dict[str, str]:
    """Return the SQL expression of each top-level column that has a default."""
    expressions = {field.name: field.metadata.get(DEFAULT) for field in schema.fields}
    return {name: value for name, value in expressions.items() if isinstance(value, str)}


def find_unsupported_keys(
    metadata: Mapping[str, Any], supported: Collection[str], revision: Revision = Revision.CURRENT
) -> list[str]:
    """Return the metadata keys of a column that have no effect because the table does not support their feature.

    Args:
        metadata: Metadata of the field.
        supported: Features that the table supports.
        revision: Protocol revision; keys of features that it does not define are ignored.

    Source: Column Invariants; Generated Columns; Default Columns; Identity Columns (E43: the protocol does not say what
    such a key may do).
    """
    needed_by_key = {key: get_key_feature(key) for key, value in metadata.items() if value is not None}
    if not any(needed_by_key.values()):
        return []
    names = {get_current_name(strip_preview_suffix(name), revision) for name in supported}
    known = get_known_features(revision)
    return sorted(key for key, needed in needed_by_key.items() if needed in known and needed not in names)


def get_key_feature(key: str) -> str | None:
    """Return the table feature that a metadata key of a column belongs to; None for keys of other chapters."""
    return "identityColumns" if key.startswith(IDENTITY_PREFIX) else _FEATURES.get(key)
