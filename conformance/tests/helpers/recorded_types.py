"""Columns that record type changes."""

from typing import Any

from helpers.scenario import field


def changes(*steps: tuple[str, str] | tuple[str, str, str]) -> list[dict[str, str]]:
    names = ("fromType", "toType", "fieldPath")
    return [dict(zip(names, step, strict=False)) for step in steps]


def widened(kind: Any, *steps: tuple[str, str] | tuple[str, str, str], **more: Any) -> dict[str, Any]:
    return field("c", kind, **{"delta__typeChanges": changes(*steps), **more})
