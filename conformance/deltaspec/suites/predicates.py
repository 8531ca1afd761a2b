"""Suite predicates: no matching row is lost, and no other row appears.

The oracle is the three-valued evaluation in `deltaspec.model`. Where SQL systems differ (the order of NaN, whether -0.0
equals 0.0), a row that matches under every reading must appear and one that matches under some reading may appear.
"""

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.messages import Scan
from deltaspec.model.rows.predicate_trees import build_tree
from deltaspec.model.rows.predicates import NanOrder, Predicate, evaluate
from deltaspec.model.rows.skipping import PredicateError, can_skip
from deltaspec.protocol.actions import Add
from deltaspec.protocol.schema import column_mapping
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, check
from deltaspec.suites.predicate_forms import (
    build_sql,
    draw_predicate,
    iter_bound_predicates,
    iter_case_predicates,
    iter_null_predicates,
    list_columns,
)
from deltaspec.suites.read import compare_rows
from deltaspec_generators.choices import SeededChoices

PREDICATES_PER_TABLE = 4
BOUND_PREDICATES_PER_TABLE = 4
NULL_PREDICATES_PER_TABLE = 2
_SMALLEST_BELOW_ZERO = -math.ulp(0.0)


def iter_predicates(subject: TableUnderTest, rows: Sequence[Mapping[str, Any]]) -> Iterator[Predicate]:
    """Draw the predicates of a table from its id and its rows."""
    columns = list_columns(subject.newest.schema)
    choices = SeededChoices(zlib.crc32(subject.id.encode()), 0)
    for _ in range(PREDICATES_PER_TABLE):
        yield draw_predicate(choices, columns, rows)
    yield from islice(iter_bound_predicates(columns, rows), BOUND_PREDICATES_PER_TABLE)
    yield from islice(iter_null_predicates(columns, rows), NULL_PREDICATES_PER_TABLE)
    yield from islice(iter_case_predicates(columns, rows), 1)


def list_readings(predicate: Predicate, row: Mapping[str, Any]) -> list[bool]:
    """Return whether a row matches under each order of NaN, with equal and with ordered zeros."""
    ordered_row, ordered = _order_zeros(row), _order_zeros(predicate)
    return [
        evaluate(condition, values, nan) is True
        for condition, values in ((predicate, row), (ordered, ordered_row))
        for nan in NanOrder
    ]


def _order_zeros(value: Any) -> Any:
    """Replace -0.0 by the largest number below zero, in rows and predicates."""
    if isinstance(value, float):
        return _SMALLEST_BELOW_ZERO if value == 0 and math.copysign(1, value) < 0 else value
    if isinstance(value, Mapping):
        return {name: _order_zeros(each) for name, each in value.items()}
    if isinstance(value, msgspec.Struct):
        return type(value)(*(_order_zeros(getattr(value, name)) for name in value.__struct_fields__))
    return value


@check(
    "predicates",
    "statistics.tight-by-default",
    needs=lambda table: bool(list_columns(table.versions[-1].schema)),
)
def check_matching_rows(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Rows for which a predicate is true, for several predicates."""
    support = candidate.capabilities.predicate
    if support == "none":
        raise NotAsked("the candidate does not take predicates")
    asked = refused = 0
    rows = list_model_rows(subject.newest.rows)
    for predicate in iter_predicates(subject, rows):
        try:
            _ask(candidate, subject, notes, predicate, rows)
        except Refused as error:
            if error.refusal.category != "unsupported":
                raise
            refused += 1
        asked += 1
    notes.add("predicates", asked - refused)
    if refused:
        notes.add("predicates_refused", refused)
    if refused == asked:
        raise NotAsked("the candidate does not support these predicates")


def _ask(
    candidate: Candidate,
    subject: TableUnderTest,
    notes: Notes,
    predicate: Predicate,
    rows: Sequence[Mapping[str, Any]],
) -> None:
    newest = subject.newest
    sql = build_sql(predicate, newest.schema)
    answer = candidate.scan(
        Scan(str(subject.location), "", predicate=sql, predicate_tree=build_tree(predicate, newest.schema))
    )
    is_exact = (answer.predicate or candidate.capabilities.predicate) == "exact"
    readings = [list_readings(predicate, row) for row in rows]
    required = [all(matches) for matches in readings]
    optional = [not all(matches) and (any(matches) or not is_exact) for matches in readings]
    try:
        compare_rows(
            newest.rows.filter(pa.array(required, pa.bool_())),
            answer.table,
            optional=newest.rows.filter(pa.array(optional, pa.bool_())),
        )
    except Mismatch as error:
        first, *more = str(error).splitlines()
        raise error.with_text("\n".join([first, f"  where {sql}", *more])) from None
    _note_skipping(predicate, subject, answer.files_skipped, notes)


def _note_skipping(predicate: Predicate, subject: TableUnderTest, skipped: int | None, notes: Notes) -> None:
    """Count the files that statistics allow to be skipped, and those that the candidate skipped."""
    if skipped is None:
        return
    state = subject.newest.state
    supported = "columnMapping" in state.features
    mapping = column_mapping.get_mapping_mode(state.configuration, supported=supported)
    try:
        skippable = [
            can_skip(
                predicate,
                msgspec.convert(body, Add),
                subject.newest.schema,
                subject.newest.partition_columns,
                mapping,
            )
            for body in state.live.values()
        ]
    except PredicateError:
        return
    notes.add("files_skippable", sum(skippable))
    notes.add("files_skipped", skipped)
