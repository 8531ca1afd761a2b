"""Restrictions on variant columns. Source: Variant Data Type, Compatibility with other Delta Features, Default Columns
(current).
"""

import json
import re
from collections.abc import Iterator

from deltaspec.model.commit.clustering_changes import resolve_columns
from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import CommitCheck, TableVersion, refuse_illegal_state
from deltaspec.protocol.features.constraints import DEFAULT
from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import list_physical_paths
from deltaspec.protocol.schema.data_types import Primitive, iter_fields

_TOKENS = re.compile(r"'(?:[^'\\]|'')*'|[+-]?[\d.]+(?:e[+-]?\d+)?|\w+|\S", re.IGNORECASE)
_LITERAL = re.compile(r"true|false|[+-]?[\d.]+(?:e[+-]?\d+)?|'.+", re.DOTALL)


def check_variant_columns(table: TableVersion) -> Iterator[Refused]:
    """Compatibility with other Delta Features: forbid variants as partition, clustering or generated columns or
    defaults.
    """
    schema, metadata = table.schema, table.metadata
    if schema is None or metadata is None or table.revision is not Revision.CURRENT:  # [Changed in current]
        return
    clustered = resolve_columns(table)
    physical_paths = [path for path, _ in list_physical_paths(schema, table.mapping)]
    for (path, field), physical in zip(iter_fields(schema), physical_paths, strict=True):
        if field.type != Primitive("variant"):
            continue
        name, default = ".".join(path), field.metadata.get(DEFAULT)
        if len(path) == 1 and name in metadata.partition_columns:
            yield Refused("variant.not-partitioning", name)
        if physical in clustered:
            yield Refused("variant.not-clustering", name)
        if GENERATION_EXPRESSION in field.metadata:
            yield Refused("variant.not-generated", name)
        if isinstance(default, str) and _is_value(default):
            yield Refused("variant.default-null", f"{name}: {default}")


def _is_value(expression: str) -> bool:
    """Return whether a default is certainly not null: a literal or parsed JSON, optionally cast to variant.

    Only an engine can evaluate other expressions.
    """
    tokens = [each if each.startswith("'") else each.lower() for each in _TOKENS.findall(expression)]
    match tokens:
        case ["cast", "(", *inner, "as", "variant", ")"]:
            tokens = inner
    match tokens:
        case ["(", *inner, ")"] if "(" not in inner and ")" not in inner:
            tokens = inner
    match tokens:
        case ["parse_json", "(", text, ")"]:
            return _is_json_value(text)
        case ["date" | "timestamp" | "timestamp_ntz" | "x", literal]:
            return len(literal) > 1 and literal.startswith("'")
        case [literal]:
            return _LITERAL.fullmatch(literal) is not None
    return False


def _is_json_value(text: str) -> bool:
    """Return whether a SQL string contains JSON other than null, for which the protocol has no answer."""
    try:
        return text.startswith("'") and json.loads(text[1:-1].replace("''", "'")) is not None
    except (ValueError, RecursionError):
        return False


CHECKS: tuple[CommitCheck, ...] = (refuse_illegal_state(check_variant_columns),)
"""In the order in which `validation.check_commit` evaluates them."""
