"""Statistics whose entries have the names of the other way of naming columns: logical for physical, or inversely."""

import json
from typing import Any

import msgspec
import polars as pl

from deltaspec.views.files.statistics_facts import sparse
from deltaspec.views.table.mapping_history import EntryNames

_MEMBERS = ("minValues", "maxValues", "nullCount")


def misnamed(stats: Any, names: EntryNames | None) -> pl.Series:
    """`misnamed_statistics` of `file_actions`: the first such entry of each text.

    Only texts that hold one of the words in question are decoded.

    Args:
        stats: statistics texts, an Arrow array or chunked array of strings.
        names: what entries may be called; None where there is no other way.
    """
    found: dict[int, str] = {}
    if names is not None and len(stats):
        words = sorted(set(names.words()))
        spelled = sorted({json.dumps(word, ensure_ascii=escaped) for word in words for escaped in (True, False)})
        texts = pl.Series(pl.from_arrow(stats), dtype=pl.String)
        rows = texts.str.contains_any(spelled).fill_null(False).arg_true()
        for row, text in zip(rows.to_list(), texts.gather(rows).to_list(), strict=True):
            entry = _first_of(text, names)
            if entry is not None:
                found[row] = entry
    return sparse("misnamed_statistics", len(stats), found)


def _first_of(text: str, names: EntryNames) -> str | None:
    try:
        statistics = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):  # what other rules find
        return None
    if not isinstance(statistics, dict):
        return None
    for member in _MEMBERS:
        entry = _misnamed_entry(statistics.get(member), names)
        if entry is not None:
            return f"{member}.{entry}".encode("utf-8", "backslashreplace").decode()
    return None


def _misnamed_entry(entries: Any, names: EntryNames) -> str | None:
    if not isinstance(entries, dict):
        return None
    suspects: list[str] = [name for name in entries if name in names.other]
    if suspects and (names.is_certain or not any(name in names.used for name in entries)):
        return suspects[0]
    for name, nested in entries.items():
        below = names.used.get(name)
        entry = _misnamed_entry(nested, below) if below is not None else None
        if entry is not None:
            return f"{name}.{entry}"
    return None
