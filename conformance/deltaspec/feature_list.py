"""The table of features as text, JSON and Markdown."""

import json
from collections.abc import Sequence

import msgspec

from deltaspec.protocol.features.feature_table import FeatureEntry, build_feature_table

_HEADER = ("feature", "status", "kind", "requires", "known to", "checked", "not checked")


def render_feature_list(output_format: str) -> str:
    """Return the table of features as `text`, `json` or `markdown`."""
    entries = build_feature_table()
    if output_format == "json":
        return json.dumps(msgspec.to_builtins(entries), ensure_ascii=False, indent=2)
    if output_format == "markdown":
        return "\n".join(_format_row(row) for row in (_HEADER, ["-"] * len(_HEADER), *map(_list_cells, entries)))
    return "\n".join(line for entry in entries for line in _describe(entry))


def _list_cells(entry: FeatureEntry) -> list[str]:
    excluded = [f"not {name}" for name in entry.excludes]
    needed = ", ".join((*entry.requires, *excluded))
    known = ", ".join(entry.engines)
    return [f"`{entry.name}`", entry.status, entry.kind, needed, known, entry.checked, entry.unchecked or ""]


def _format_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _describe(entry: FeatureEntry) -> list[str]:
    lines = [f"{entry.name:<28} {entry.status:<11} {entry.kind}"]
    details = {
        "requires": ", ".join(entry.requires),
        "excludes": ", ".join(entry.excludes),
        "known to": ", ".join(entry.engines),
        "checked": entry.checked,
        "not checked": entry.unchecked or "",
    }
    return lines + [f"    {name:<12} {text}" for name, text in details.items() if text]
