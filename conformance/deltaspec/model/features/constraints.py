"""What metadata asks of the rows of a table: invariants of columns, CHECK constraints, generated values, defaults.

What SQL says is not read here. Source: Column Invariants; CHECK Constraints; Generated Columns; Default Columns;
Identity Columns.
"""

from collections.abc import Collection, Mapping
from typing import Any

from deltaspec.model.features.table_features import get_current_name, get_known_features, strip_preview_suffix
from deltaspec.model.features.table_properties import CONSTRAINT_PREFIX
from deltaspec.model.json_values import JsonError, JsonTooDeep, Number, parse_lossless
from deltaspec.model.revisions import Revision

INVARIANT = "delta.invariants"
GENERATION = "delta.generationExpression"
DEFAULT = "CURRENT_DEFAULT"
_IDENTITY = "delta.identity."

_FEATURES = {INVARIANT: "invariants", GENERATION: "generatedColumns", DEFAULT: "allowColumnDefaults"}


class InvariantError(ValueError):
    """A value of `delta.invariants` that holds no expression; the message says why."""


class InvariantTooDeep(InvariantError):
    """One that is nested too deeply to be read: it may be sound."""


def read_check_constraints(configuration: Mapping[str, str]) -> dict[str, str]:
    """CHECK constraints of a table: name to the text of an SQL expression, in order of names."""
    names = sorted(key for key in configuration if key.startswith(CONSTRAINT_PREFIX))
    return {key.removeprefix(CONSTRAINT_PREFIX): configuration[key] for key in names}


def constraint_fault(name: str, expression: str) -> str | None:
    """The requirement that a CHECK constraint breaks whatever SQL means; None if it breaks none so.

    Source: CHECK Constraints.
    """
    if not name.strip():
        return "check-constraints.key"
    return None if expression.strip() else "check-constraints.value"


def read_invariant(metadata: Mapping[str, Any]) -> str | None:
    """The text of the SQL expression that rows must keep; None where the column has no invariant.

    Raises:
        InvariantError: the value is no JSON text with a text at `expression.expression`.
    """
    told = metadata.get(INVARIANT)
    if told is None:
        return None
    if not isinstance(told, str) or isinstance(told, Number):
        raise InvariantError("is no text")
    try:
        value = parse_lossless(told).value
    except JsonTooDeep as fault:
        raise InvariantTooDeep(str(fault)) from fault
    except JsonError as fault:
        raise InvariantError(f"is no JSON: {fault}") from fault
    for key in ("expression", "expression"):
        if not isinstance(value, dict) or key not in value:
            raise InvariantError("has nothing at expression.expression")
        value = value[key]
    if not isinstance(value, str) or isinstance(value, Number):
        raise InvariantError("has no text at expression.expression")
    if not value.strip():
        raise InvariantError("has an empty text at expression.expression")
    return value


def unsupported_keys(
    metadata: Mapping[str, Any], supported: Collection[str], revision: Revision = Revision.CURRENT
) -> list[str]:
    """Keys of a column's metadata that have no effect, for the table does not support their feature.

    Args:
        metadata: of the field.
        supported: features that the table supports.
        revision: of the text; features that it does not define ask for nothing.

    Source: Column Invariants; Generated Columns; Default Columns; Identity Columns (E43: what the key may do there
    is silent).
    """
    asked = {key: get_key_feature(key) for key, value in metadata.items() if value is not None}
    if not any(asked.values()):
        return []
    names = {get_current_name(strip_preview_suffix(name), revision) for name in supported}
    if not revision.since(Revision.R3) and "columnInvariants" in supported:
        names.add("invariants")  # [Changed in r3] the chapter had another name for it than the appendix (E21)
    known = get_known_features(revision)
    return sorted(key for key, needed in asked.items() if needed in known and needed not in names)


def get_key_feature(key: str) -> str | None:
    """The table feature that a key of a column's metadata belongs to; None for keys of other chapters."""
    return "identityColumns" if key.startswith(_IDENTITY) else _FEATURES.get(key)
