"""Default values: the rows they apply to. Source: Default Columns (since r3)."""

from collections.abc import Mapping
from typing import Any

from deltaspec.protocol.schema.data_types import Struct


class Omitted:
    """Marker for a value that a write omits, or sets to the SQL keyword DEFAULT."""


OMITTED = Omitted()


def apply_defaults(row: Mapping[str, Any], schema: Struct, results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row that a write stores: an omitted column, or one set to `OMITTED`, gets the result of its default.

    An explicit null is a value. Columns without a default get null.

    Args:
        row: Values by column, as the user provides them.
        schema: Schema of the table.
        results: Results of the default expressions in this row, by column.
    """
    found = {}
    for field in schema.fields:
        value = row.get(field.name, OMITTED)
        found[field.name] = results.get(field.name) if value is OMITTED else value
    return found
