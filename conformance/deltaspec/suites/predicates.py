"""Suite predicates: no matching row is lost, and no other row appears.

The oracle is the three-valued evaluation in `deltaspec.model`. Where SQL systems differ (the order of NaN, whether -0.0
equals 0.0), a row that matches under every reading must appear and one that matches under some reading may appear. A
candidate for which -0.0 equals 0.0 in one file must find it in every file.
"""

import math
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import pyarrow as pa

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.host import Candidate, Died, Refused
from deltaspec.candidates.messages import Scan
from deltaspec.model.rows.predicate_trees import build_tree, find_type
from deltaspec.model.rows.predicates import (
    Compare,
    NanOrder,
    Operator,
    Predicate,
    evaluate,
    list_column_predicates,
)
from deltaspec.model.rows.skipping import PredicateError, can_skip
from deltaspec.protocol.actions import Add
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Struct, get_type_name
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, check
from deltaspec.suites.predicate_forms import (
    build_sql,
    draw_predicate,
    iter_bound_predicates,
    iter_case_predicates,
    iter_equal_predicates,
    iter_normal_form_predicates,
    iter_null_predicates,
    iter_prefix_predicates,
    iter_zero_predicates,
    list_columns,
)
from deltaspec.suites.read import compare_rows
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import schema_string, write_table

PREDICATES_PER_TABLE = 4
BOUND_PREDICATES_PER_TABLE = 4
NULL_PREDICATES_PER_TABLE = 2
ZERO_PREDICATES_PER_TABLE = 6
EQUAL_PREDICATES_PER_TABLE = 2
PREFIX_PREDICATES_PER_TABLE = 2
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
    yield from islice(iter_normal_form_predicates(columns, rows), 1)
    yield from islice(iter_zero_predicates(columns, rows), ZERO_PREDICATES_PER_TABLE)
    yield from islice(
        iter_equal_predicates(columns, rows, subject.newest.partition_columns), EQUAL_PREDICATES_PER_TABLE
    )
    yield from islice(iter_prefix_predicates(columns, rows), PREFIX_PREDICATES_PER_TABLE)


def list_readings(predicate: Predicate, row: Mapping[str, Any], *, zeros_may_differ: bool = True) -> list[bool]:
    """Return whether a row matches under each order of NaN, with equal zeros and, if they may differ, ordered ones."""
    questions = [(predicate, row)]
    if zeros_may_differ:
        questions.append((order_zeros(predicate), order_zeros(row)))
    return [evaluate(condition, values, nan) is True for condition, values in questions for nan in NanOrder]


_ZEROS = pa.table({"number": pa.array([-1.0, -0.0, 0.0, 1.0], pa.float64())})
_zeros_may_differ: WeakKeyDictionary[Candidate, bool] = WeakKeyDictionary()


def may_zeros_differ(candidate: Candidate) -> bool:
    """Return whether -0.0 may differ from 0.0 in the predicates of a candidate, which the protocol does not define.

    The candidate is asked once, about a file that has both. A candidate that only skips files must keep both: the
    engine that filters the rows decides.
    """
    if candidate.capabilities.predicate == "prunes":
        return False
    if candidate not in _zeros_may_differ:
        _zeros_may_differ[candidate] = _ask_about_zeros(candidate)
    return _zeros_may_differ[candidate]


def _ask_about_zeros(candidate: Candidate) -> bool:
    schema = parse_schema(schema_string([("number", "double")]))
    predicate = Compare(("number",), Operator.EQUAL, 0.0)
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
        table = Path(directory) / "table"
        write_table(build_table_with_data(fields=[("number", "double")], tables=[_ZEROS] * 3), table)
        request = Scan(
            str(table), "", predicate=build_sql(predicate, schema), predicate_tree=build_tree(predicate, schema)
        )
        try:
            answer = candidate.scan(request)
        except (Refused, Died):
            return True
    files = 2
    return answer.num_rows != files * 2 and (answer.predicate or candidate.capabilities.predicate) == "exact"


def order_zeros(value: Any) -> Any:
    """Replace -0.0 by the largest number below zero, in rows and predicates."""
    if isinstance(value, float):
        return _SMALLEST_BELOW_ZERO if value == 0 and math.copysign(1, value) < 0 else value
    if isinstance(value, tuple):
        return tuple(map(order_zeros, value))
    if isinstance(value, Mapping):
        return {name: order_zeros(each) for name, each in value.items()}
    if isinstance(value, msgspec.Struct):
        return type(value)(*(order_zeros(getattr(value, name)) for name in value.__struct_fields__))
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
        Scan(
            str(subject.location),
            "",
            predicate=sql,
            predicate_tree=build_tree(predicate, newest.schema, candidate.capabilities.predicate_forms),
        )
    )
    is_exact = (answer.predicate or candidate.capabilities.predicate) == "exact"
    zeros_may_differ = _compares_floats(predicate, newest.schema) and may_zeros_differ(candidate)
    readings = [list_readings(predicate, row, zeros_may_differ=zeros_may_differ) for row in rows]
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


def _compares_floats(predicate: Predicate, schema: Struct) -> bool:
    columns = [each.column for each in list_column_predicates(predicate)]
    return any(get_type_name(find_type(schema, column)) in ("float", "double") for column in columns)


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
