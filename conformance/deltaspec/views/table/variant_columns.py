"""Variant columns of a table with their other roles, and whether their defaults are null. Source: Variant Data Type,
Compatibility with other Delta Features, Default Columns (current).
"""

import json
import re
from collections.abc import Iterable, Iterator

import msgspec

from deltaspec.protocol.features.constraints import DEFAULT
from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec.protocol.schema.column_mapping import list_physical_paths
from deltaspec.protocol.schema.data_types import Field, Primitive, Struct, iter_fields
from deltaspec.views.table import clustering_columns

VARIANT = Primitive("variant")
_SPACES = re.compile(r"\s*([()])\s*|\s+")
_ANY_CASE = re.DOTALL | re.IGNORECASE
_CAST = re.compile(r"cast ?\((.*)\bas variant\)", _ANY_CASE)
_NULL = re.compile(r"null|null ?:: ?variant", _ANY_CASE)
_NUMBER, _TEXT = r"[+-]?[\d.]+(e[+-]?\d+)?", r"((date|timestamp|timestamp_ntz|x) ?)?'([^'\\]|'')*'"
_LITERAL = re.compile(rf"{_NUMBER}|true|false|{_TEXT}", _ANY_CASE)
_PARSED = re.compile(r"parse_json ?\( ?'((?:[^'\\]|'')*)' ?\)", _ANY_CASE)


class VariantColumn(msgspec.Struct, frozen=True):
    """A column of type variant, at any depth, and its other roles."""

    path: tuple[str, ...]
    is_partition_column: bool
    is_clustering_column: bool
    is_generated: bool
    default: str | None
    """Default expression as written; None if there is no default expression."""


def find_variant_columns(
    schema: Struct, partition_columns: Iterable[str], clustered: Iterable[tuple[str, ...]], mapping: str | None
) -> Iterator[VariantColumn]:
    """Yield the variant columns of a table.

    Args:
        schema: Schema of the table.
        partition_columns: Logical names.
        clustered: Clustering columns as the domain stores them.
        mapping: Column mapping mode: `id`, `name` or None.
    """
    partitions, clusters = set(partition_columns), set(clustering_columns.resolve_columns(clustered, schema, mapping))
    for (path, field), (physical, _) in zip(iter_fields(schema), list_physical_paths(schema, mapping), strict=True):
        if field.type != VARIANT:
            continue
        yield VariantColumn(
            path,
            is_partition_column=len(path) == 1 and path[0] in partitions,
            is_clustering_column=physical in clusters,
            is_generated=GENERATION_EXPRESSION in field.metadata,
            default=_default(field),
        )


def _default(field: Field) -> str | None:
    found = field.metadata.get(DEFAULT)
    return str(found) if isinstance(found, str) else None


def is_null_default(expression: str) -> bool | None:
    """Return whether a SQL expression is null; None if only an engine can evaluate it.

    Recognized are null, literals and `parse_json` of a literal, each optionally cast to variant.
    """
    text = _bare(expression)
    cast = _CAST.fullmatch(text)
    text = _bare(cast[1]) if cast is not None else text
    if _NULL.fullmatch(text):
        return True
    if _LITERAL.fullmatch(text):
        return False
    parsed = _PARSED.fullmatch(text)
    # a JSON null is a variant that contains null; the protocol does not say whether it counts
    return False if parsed is not None and _is_json_value(parsed[1]) else None


def _bare(expression: str) -> str:
    """Remove superfluous whitespace, and parentheses around the complete expression."""
    text = expression.strip()
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:-1] and ")" not in text[1:-1]:
        text = text[1:-1].strip()
    return text if "'" in text else _SPACES.sub(lambda match: match[1] or " ", text)


def _is_json_value(text: str) -> bool:
    try:
        return json.loads(text.replace("''", "'")) is not None
    except (ValueError, RecursionError):
        return False
