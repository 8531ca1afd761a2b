"""Statistics entries named by the logical name instead of the physical name of a column, or vice versa."""

import json
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.files.entry_names import EntryNames, find_misnamed_entry
from deltaspec.views.files.statistics_facts import sparse
from deltaspec.wire import arrow_compute as pc


def find_misnamed_statistics(stats: Any, names: EntryNames | None) -> pl.Series:
    """Return the column `misnamed_statistics` of `file_actions`: the first misnamed entry of each string.

    Only strings that contain one of the wrong names are decoded.

    Args:
        stats: statistics strings, an Arrow array or chunked array.
        names: names that entries may have; None if logical and physical names do not differ.
    """
    found: dict[int, str] = {}
    if names is not None and len(stats):
        wrong_names = sorted(set(names.wrong_names()))
        encoded_names = sorted(
            {json.dumps(word, ensure_ascii=escaped) for word in wrong_names for escaped in (True, False)}
        )
        texts = pc.to_series(stats)
        rows = texts.str.contains_any(encoded_names).fill_null(False).arg_true()
        for row, text in zip(rows.to_list(), texts.gather(rows).to_list(), strict=True):
            entry = _find_first_entry(text, names)
            if entry is not None:
                found[row] = entry
    return sparse("misnamed_statistics", len(stats), found)


def _find_first_entry(text: str, names: EntryNames) -> str | None:
    try:
        statistics = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):  # other rules report it
        return None
    if not isinstance(statistics, dict):
        return None
    entry = find_misnamed_entry(statistics, names)
    return None if entry is None else entry.encode("utf-8", "backslashreplace").decode()
