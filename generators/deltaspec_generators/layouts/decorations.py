"""Add content that readers must ignore: explicit nulls, unknown fields and actions, blank lines."""

from typing import Any

from deltaspec_generators.choices import Choices
from deltaspec_generators.table_files import Line
from deltaspec_generators.table_state import Body

OPTIONAL_FIELDS = {
    "add": ("stats", "tags", "deletionVector", "baseRowId", "clusteringProvider"),
    "remove": ("deletionTimestamp", "extendedFileMetadata", "partitionValues", "size", "tags", "deletionVector"),
    "metaData": ("name", "description", "createdTime"),
    "txn": ("lastUpdated",),
    "cdc": ("tags",),
    "protocol": ("readerFeatures", "writerFeatures"),
}
"""Optional fields that may be an explicit null instead of being absent."""


def decorate_lines(choices: Choices, lines: list[Line], *, blank_lines: bool) -> None:
    """Add content that readers must ignore: nulls, unknown fields, unknown actions, a blank line at the end."""
    for index, line in enumerate(lines):
        if isinstance(line, dict) and choices.chance(1, 2):
            lines[index] = {kind: _decorate_body(choices, kind, body) for kind, body in line.items()}
    if choices.chance(1, 2):
        lines.append({"futureAction": {"path": "x", "nested": [1, None]}})
    if blank_lines and choices.chance(1, 2):
        lines.append("")


def _decorate_body(choices: Choices, kind: str, body: Body) -> Body:
    found: dict[str, Any] = dict(body)
    for name in OPTIONAL_FIELDS.get(kind, ()):
        if name not in body and choices.chance(1, 2):
            found[name] = None
    if kind != "commitInfo" and choices.chance(1, 2):
        found["futureField"] = choices.pick((None, 1, "text", {"deep": [True]}))
    return found
