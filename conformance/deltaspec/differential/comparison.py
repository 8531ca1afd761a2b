"""Compare the facts of two tables after the same operation."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from deltaspec.candidates.row_comparison import show_value
from deltaspec.differential.facts import Facts, Rows, Statistics

_SHOWN = 3
_LONGEST = 300


def compare_facts(first: Facts, second: Facts, free_apps: Collection[str], counts: Counter[str]) -> Iterator[str]:
    """Yield the differences, one text for each fact.

    Args:
        first: table of the first writer.
        second: table of the second writer.
        free_apps: applications whose newest transaction is not compared.
        counts: receives the numbers of compared and uncompared facts.
    """
    for name, value in first.values.items():
        counts["facts compared"] += 1
        other = second.values[name]
        if name == "transactions":
            value, other = (_leave_out(each, free_apps) for each in (value, other))
        if value != other:
            yield f"{name}: {_describe_difference(value, other)}"
    yield from _compare_rows("rows", first.rows, second.rows, counts)
    yield from _compare_row_ids(first, second, counts)
    if first.changes is not None and second.changes is not None:
        for kind, changes in first.changes.items():
            yield from _compare_rows(f"changes of type {kind}", changes, second.changes[kind], counts)
    yield from _compare_statistics(first.statistics, second.statistics, counts)
    for name, value in first.free.items():
        counts[f"not compared, left to the writer: {name} differ"] += value != second.free[name]


def _leave_out(transactions: Mapping[str, int] | None, apps: Collection[str]) -> dict[str, int]:
    return {app: version for app, version in (transactions or {}).items() if app not in apps}


def _compare_rows(name: str, first: Rows, second: Rows, counts: Counter[str]) -> Iterator[str]:
    counts[f"{'rows' if name == 'rows' else 'changes'} compared"] += first.total()
    only = first - second, second - first
    if only[0] or only[1]:
        shown = [
            f"{sign} {_show_row(row)}" for sign, rows in zip("-+", only, strict=True) for row in list(rows)[:_SHOWN]
        ]
        yield f"{name}: {only[0].total()} only in the first table, {only[1].total()} only in the second\n" + "\n".join(
            shown
        )


def _show_row(row: tuple[Any, ...]) -> str:
    return "(" + ", ".join(show_value(each) for each in row) + ")"


def _compare_row_ids(first: Facts, second: Facts, counts: Counter[str]) -> Iterator[str]:
    if first.row_ids is None or second.row_ids is None or first.row_ids.keys() != second.row_ids.keys():
        return
    counts["row ids and row commit versions compared"] += len(first.row_ids)
    for position, name in enumerate(("row ids", "row commit versions")):
        wrong = {key: (each[position], second.row_ids[key][position]) for key, each in first.row_ids.items()
                 if each[position] != second.row_ids[key][position]}  # fmt: skip
        if wrong:
            key, pair = min(wrong.items())
            yield f"{name}: {len(wrong)} rows differ\nrow {key}: {pair[0]} in the first table, {pair[1]} in the second"


def _compare_statistics(first: Statistics, second: Statistics, counts: Counter[str]) -> Iterator[str]:
    if first.live_rows is not None and second.live_rows is not None:
        counts["numbers of live rows in statistics compared"] += 1
        if first.live_rows != second.live_rows:
            yield f"statistics: {first.live_rows} live rows in the first table, {second.live_rows} in the second"
    if not first.is_exact or not second.is_exact:
        counts["not compared: bounds of a table with deletion vectors or wide bounds"] += 1
        return
    for name in first.bounds.keys() | second.bounds.keys():
        if name not in first.bounds or name not in second.bounds:
            counts["not compared, left to the writer: a column has statistics in one table only"] += 1
            continue
        counts["bounds and null counts of columns compared"] += 1
        if first.bounds[name] != second.bounds[name]:
            yield f"statistics of a column: {name} has {first.bounds[name]} and {second.bounds[name]} (min, max, nulls)"


def _describe_difference(first: Any, second: Any) -> str:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        keys = sorted(key for key in first.keys() | second.keys() if first.get(key) != second.get(key))
        return "; ".join(f"{key}: {first.get(key, 'missing')} and {second.get(key, 'missing')}" for key in keys)
    texts = [text if len(text := str(each)) <= _LONGEST else text[:_LONGEST] + "…" for each in (first, second)]
    return f"{texts[0]} and {texts[1]}"
