"""`--cover pairs`: choose drawn tables until every pair of features, and of feature and checkpoint kind, occurs."""

from collections.abc import Iterator
from itertools import combinations

import msgspec
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.golden.drawing import DrawnCases
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.restrictions import CHECKPOINT_KINDS, list_drawn_features
from deltaspec_generators.tables.table_specs import ALL_FEATURES

Pair = tuple[str, str]
_UNPRODUCTIVE = 20
"""Tables in a row without a new pair, after which tables are drawn for a pair that is missing."""


class PairCoverage(msgspec.Struct):
    """Tables that cover pairs."""

    chosen: list[tuple[DrawnCases, int]]
    missing: list[Pair]
    """Pairs that occur in none of them, because no table was found or the limit was reached."""


def cover_pairs(cases: DrawnCases, limit: int) -> PairCoverage:
    """Choose at most `limit` tables that contain as many pairs as possible.

    Each table has a pair that none before it has. First tables are drawn as they come, then for pairs that are missing.
    """
    left = dict.fromkeys(_list_pairs(cases))
    found = PairCoverage([], [])
    number = unproductive = 0
    while left and len(found.chosen) < limit and unproductive < _UNPRODUCTIVE:
        is_new = _take(cases, number, cases.draw(number), left, found)
        unproductive = 0 if is_new else unproductive + 1
        number += 1
    while left and len(found.chosen) < limit:
        pair = next(iter(left))
        drawn = _require(cases, pair)
        try:
            table = drawn.draw(number)
        except InvalidUsage:
            del left[pair]
            found.missing.append(pair)
            continue
        _take(drawn, number, table, left, found)
        left.pop(pair, None)
        number += 1
    found.missing += left
    return found


def _take(drawn: DrawnCases, number: int, table: ReadableTable, left: dict[Pair, None], found: PairCoverage) -> bool:
    """Choose a table if it has a pair that is left; return whether it has."""
    new = [pair for pair in _iter_pairs(table) if pair in left]
    for pair in new:
        del left[pair]
    if new:
        found.chosen.append((drawn, number))
    return bool(new)


def _list_pairs(cases: DrawnCases) -> Iterator[Pair]:
    """Yield the pairs that the restrictions permit."""
    allowed, known = cases.restrictions.allowed, list_drawn_features(cases.restrictions.revision)
    permitted = {*(ALL_FEATURES if allowed is None else allowed), *cases.restrictions.required}
    names = [name for name in ALL_FEATURES if name in permitted - {*cases.restrictions.forbidden} and name in known]
    yield from combinations(names, 2)
    yield from ((name, kind) for name in names for kind in cases.restrictions.checkpoints or CHECKPOINT_KINDS)


def _iter_pairs(table: ReadableTable) -> Iterator[Pair]:
    names = [name for name in ALL_FEATURES if name in table.versions[-1].state.features]
    kinds = [kind for kind in CHECKPOINT_KINDS if f"checkpoint:{kind}" in table.dimensions]
    yield from combinations(names, 2)
    yield from ((name, kind) for name in names for kind in kinds)


def _require(cases: DrawnCases, pair: Pair) -> DrawnCases:
    """Return cases whose tables have a pair."""
    before = cases.restrictions
    first, second = pair
    features = (first,) if second in CHECKPOINT_KINDS else pair
    required = tuple(dict.fromkeys((*before.required, *features)))
    checkpoints = (second,) if second in CHECKPOINT_KINDS else before.checkpoints
    return replace(cases, restrictions=replace(before, required=required, checkpoints=checkpoints))
