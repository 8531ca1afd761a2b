"""Suite imported: the questions of cases that others published, with their own expected answers."""

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.host import Candidate
from deltaspec.candidates.messages import At, Scan, Snapshot
from deltaspec.candidates.reference.predicate_parser import InvalidPredicate, parse_predicate
from deltaspec.golden.importing.questions import CannotAsk, LoadSnapshot, ReadRows, Refuse
from deltaspec.golden.importing.sql_predicates import NotTranslatable, build_predicate_tree
from deltaspec.model.rows.predicates import Predicate, evaluate
from deltaspec.suites.checks import ImportedQuestion, NotAsked, Notes, TableUnderTest, Weak, check
from deltaspec.suites.read import compare_rows
from deltaspec.suites.refuse import request_refusal
from deltaspec.suites.snapshot import METADATA_FIELDS, compare_metadata, compare_protocol, compare_value
from deltaspec_generators.tables.readable import arrow_image

MAX_ROWS = 5_000_000
"""Most expected rows of a question, as in the acceptance workloads."""


def _get_question(subject: TableUnderTest) -> ImportedQuestion:
    assert subject.imported is not None
    return subject.imported


def _require_version(candidate: Candidate, version: int | None) -> At | None:
    if version is not None and "version" not in candidate.capabilities.at:
        raise NotAsked("the candidate cannot travel to a version")
    return None if version is None else At(version=version)


@check("imported")
def check_read(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Rows of a version, with a projection or a predicate."""
    imported = _get_question(subject)
    question = imported.question
    assert isinstance(question, ReadRows)
    at = _require_version(candidate, question.version)
    expected = _read_expected_rows(subject, question)
    if question.num_rows is not None and question.num_rows != expected.num_rows:
        raise NotAsked(f"the case contradicts itself: {question.num_rows} rows, but {expected.num_rows} in its files")
    columns = None if question.columns is None else tuple((name,) for name in question.columns)
    tree, predicate = None, None
    if question.predicate is not None:
        if candidate.capabilities.predicate == "none":
            raise NotAsked("the candidate does not take predicates")
        tree, predicate = _parse_predicate(question.predicate, subject)
    is_exact = candidate.capabilities.predicate == "exact"
    filters = predicate is not None and not is_exact
    answer = candidate.scan(
        Scan(
            str(subject.location),
            "",
            at=at,
            columns=None if filters else columns,
            predicate=question.predicate,
            predicate_tree=tree,
        )
    )
    rows = answer.table
    if predicate is not None and (filters or (answer.predicate or "exact") != "exact"):
        found = [evaluate(predicate, row) is True for row in list_model_rows(rows)]
        rows = rows.filter(pa.array(found, pa.bool_()))
        rows = rows if question.columns is None or not filters else rows.select(list(question.columns))
    compare_rows(expected, rows)
    notes.add("rows", rows.num_rows)


def _read_expected_rows(subject: TableUnderTest, question: ReadRows) -> pa.Table:
    """Read the expected rows with the types of the table; Spark writes timestamps without their zone."""
    imported = _get_question(subject)
    if question.rows is None:
        if imported.reference_rows is None:
            raise NotAsked(f"no expected rows, and the reference reader cannot read the table: {imported.problem}")
        return imported.reference_rows
    types = {each.name: arrow_image(each.type) for each in subject.newest.schema.fields}
    try:
        files = [pq.ParquetFile(path) for path in question.rows]
        total = sum(file.metadata.num_rows for file in files)
        if total > MAX_ROWS:
            raise NotAsked(f"{total:,} expected rows; at most {MAX_ROWS:,} are compared")
        rows = pa.concat_tables([file.read() for file in files], promote_options="permissive")
        columns = [rows.column(name).cast(types.get(name, rows.column(name).type)) for name in rows.column_names]
    except (OSError, pa.ArrowException) as error:
        raise NotAsked(f"the file with the expected rows cannot be read: {error}") from None
    return pa.table(columns, names=rows.column_names)


def _parse_predicate(sql: str, subject: TableUnderTest) -> tuple[list[object], Predicate]:
    """Return a predicate as a tree, for candidates that do not read SQL, and for the filter of the host."""
    schema = subject.newest.schema
    try:
        tree = build_predicate_tree(sql, schema)
        return tree, parse_predicate(tree, schema)
    except (NotTranslatable, InvalidPredicate, ValueError) as error:
        raise NotAsked(f"the predicate {error}: {sql}") from None


@check("imported", operation="snapshot")
def check_snapshot(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Protocol and metadata of a version."""
    question = _get_question(subject).question
    assert isinstance(question, LoadSnapshot)
    answer = candidate.snapshot(Snapshot(str(subject.location), at=_require_version(candidate, question.version)))
    if question.expected_version is not None:
        compare_value("version", question.expected_version, answer.version)
    if answer.protocol is not None:
        compare_protocol(question.protocol, {name: answer.protocol.get(name) for name in question.protocol})
    if answer.metadata is not None:
        shown = [name for name in METADATA_FIELDS if name in question.metadata]
        compare_metadata(question.metadata, answer.metadata, shown)
    notes.add("snapshots", 1)


@check("imported")
def check_refusal(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A table or version that cannot be read; any error about the table counts."""
    question = _get_question(subject).question
    assert isinstance(question, Refuse)
    at = _require_version(candidate, question.version)
    refusal = request_refusal(candidate, str(subject.location), at=at, reads_rows=question.reads_rows)
    if refusal.category == "internal":
        raise Weak(f"refused as internal, expected an error about the table ({question.code}): {refusal.message}")
    notes.add("refused", 1)


@check("imported")
def check_nothing(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A question that this release of deltaspec cannot ask; it is listed with the reason."""
    question = _get_question(subject).question
    assert isinstance(question, CannotAsk)
    raise NotAsked(question.reason)


CHECK_OF_QUESTION = {
    ReadRows: check_read,
    LoadSnapshot: check_snapshot,
    Refuse: check_refusal,
    CannotAsk: check_nothing,
}
