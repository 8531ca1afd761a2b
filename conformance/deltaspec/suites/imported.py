"""Suite imported: the questions of cases that others published, with their own expected answers."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.arrow_rows import list_model_rows
from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.messages import At, Changes, Refusal, Scan, Snapshot, SnapshotAnswer, Wanted
from deltaspec.candidates.row_comparison import WrongType, normalize
from deltaspec.golden.importing.questions import CannotAsk, LoadSnapshot, ReadChanges, ReadRows, Refuse
from deltaspec.golden.importing.sql_predicates import NotTranslatable, build_predicate_tree
from deltaspec.model.rows.predicate_trees import InvalidPredicate, parse_predicate
from deltaspec.model.rows.predicates import Predicate, evaluate
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.suites.changes import COMMIT_TIMESTAMP, COMMIT_VERSION, sign_versions
from deltaspec.suites.checks import ImportedQuestion, Mismatch, NotAsked, Notes, TableUnderTest, Weak, check
from deltaspec.suites.read import compare_rows
from deltaspec.suites.refuse import request_refusal
from deltaspec.suites.snapshot import METADATA_FIELDS, compare_metadata, compare_protocol, compare_value
from deltaspec_generators.tables.readable import CHANGE_TYPE, arrow_image

_COMMIT_COLUMNS = {CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP}
MAX_ROWS = 5_000_000
"""Maximum number of expected rows of a question, as in the acceptance workloads."""


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
    question = _get_question(subject).question
    assert isinstance(question, ReadRows)
    at = _require_version(candidate, question.version)
    expected = _read_expected_rows_or_reference(subject, question)
    columns = None if question.columns is None else tuple((name,) for name in question.columns)
    if question.predicate is None:
        rows = candidate.scan(Scan(str(subject.location), "", at=at, columns=columns)).table
    else:
        rows = _scan_with_predicate(candidate, subject, question, at)
    compare_rows(expected, rows)
    notes.add("rows", rows.num_rows)


def _scan_with_predicate(candidate: Candidate, subject: TableUnderTest, question: ReadRows, at: At | None) -> pa.Table:
    """Return the matching rows; if the candidate only skips files, evaluate the predicate on its answer."""
    support = candidate.capabilities.predicate
    if support == "none":
        raise NotAsked("the candidate does not take predicates")
    assert question.predicate is not None
    tree, predicate = _parse_predicate(question.predicate, subject)
    names = None if question.columns is None else [(name,) for name in question.columns]
    columns = tuple(names) if names is not None and support == "exact" else None
    answer = candidate.scan(
        Scan(str(subject.location), "", at=at, columns=columns, predicate=question.predicate, predicate_tree=tree)
    )
    if (answer.predicate or support) == "exact":
        return answer.table
    if columns is not None:
        raise NotAsked("the candidate did not apply the predicate to the rows of a projection")
    image = pa.schema([(each.name, arrow_image(each.type)) for each in subject.newest.schema.fields])
    try:
        rows = normalize(answer.table, image)
    except WrongType as error:
        raise Mismatch(f"wrong columns or types: {error}") from None
    rows = rows.filter(pa.array([evaluate(predicate, row) is True for row in list_model_rows(rows)], pa.bool_()))
    return rows if question.columns is None else rows.select(list(question.columns))


def _read_expected_rows_or_reference(subject: TableUnderTest, question: ReadRows) -> pa.Table:
    """Return the expected rows of the case, or the rows of the reference reader if the case has none."""
    imported = _get_question(subject)
    if question.rows is not None:
        return read_expected_rows(question.rows, question, subject.newest.schema)
    if imported.reference_rows is None:
        raise NotAsked(f"no expected rows, and the reference reader cannot read the table: {imported.problem}")
    return imported.reference_rows


def read_expected_rows(paths: Sequence[Path], question: ReadRows | ReadChanges, schema: Struct) -> pa.Table:
    """Read the expected rows of a question with the types of a table; Spark writes timestamps without their zone.

    Raises:
        NotAsked: The files cannot be read, are too large, or contradict the question or the table.
    """
    types = {each.name: arrow_image(each.type) for each in schema.fields}
    unknown = set(question.columns or ()) - set(types) - _COMMIT_COLUMNS
    if types and unknown:
        raise NotAsked(f"the table has no column {', '.join(sorted(unknown))}")
    try:
        files = [pq.ParquetFile(path) for path in paths]
        total = sum(file.metadata.num_rows for file in files)
        if total > MAX_ROWS:
            raise NotAsked(f"{total:,} expected rows; at most {MAX_ROWS:,} are compared")
        rows = pa.concat_tables([file.read() for file in files], promote_options="permissive")
        columns = [rows.column(name).cast(types.get(name, rows.column(name).type)) for name in rows.column_names]
    except (OSError, pa.ArrowException) as error:
        raise NotAsked(f"the file with the expected rows cannot be read: {error}") from None
    if question.num_rows is not None and question.num_rows != total:
        raise NotAsked(f"the case contradicts itself: {question.num_rows} rows, but {total} in its files")
    return pa.table(columns, names=rows.column_names)


@check("imported", operation="changes")
def check_changes(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Changed rows of a range of versions; commit timestamps depend on copies, so they are not compared."""
    question = _get_question(subject).question
    assert isinstance(question, ReadChanges)
    expected = read_expected_rows(question.rows, question, subject.newest.schema)
    answer = candidate.changes(Changes(str(subject.location), "", start=question.start, end=question.end))
    wanted = [name for name in expected.column_names if name != COMMIT_TIMESTAMP]
    left_out = {COMMIT_TIMESTAMP}
    if question.columns is not None:  # a projection of the host, so that every candidate can be asked
        left_out |= set(answer.table.column_names) - set(wanted)
    rows = sign_versions(answer.table)
    kept = [position for position, name in enumerate(rows.column_names) if name not in left_out]
    compare_rows(expected.select(wanted), rows.select(kept))
    notes.add("rows", rows.num_rows)


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
    listed: dict[Wanted, object] = {"transactions": question.transactions, "domains": question.domains}
    want = tuple(name for name, expected in listed.items() if expected)
    if hidden := set(want) - set(candidate.capabilities.want):
        raise NotAsked(f"the candidate does not list {', '.join(hidden)}")
    at = _require_version(candidate, question.version)
    answer = candidate.snapshot(Snapshot(str(subject.location), at=at, want=want, app_ids=tuple(question.transactions)))
    if question.transactions or question.domains:
        _compare_listed(question, answer)
    if question.expected_version is not None:
        compare_value("version", question.expected_version, answer.version)
    if answer.protocol is not None:
        compare_protocol(question.protocol, {name: answer.protocol.get(name) for name in question.protocol})
    if answer.metadata is not None:
        shown = [name for name in METADATA_FIELDS if name in question.metadata]
        compare_metadata(question.metadata, answer.metadata, shown)
    notes.add("snapshots", 1)


def _compare_listed(question: LoadSnapshot, answer: SnapshotAnswer) -> None:
    transactions, domains = answer.transactions or {}, answer.domains or {}
    compare_value("transactions", question.transactions, {app: transactions.get(app) for app in question.transactions})
    compare_value("domains", question.domains, {name: domains.get(name) for name in question.domains})


@check("imported")
def check_refusal(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A table or version that cannot be read; any error about the table counts."""
    question = _get_question(subject).question
    assert isinstance(question, Refuse)
    location = str(subject.location)
    if question.changes is None:
        at = _require_version(candidate, question.version)
        refusal = request_refusal(candidate, location, at=at, reads_rows=question.reads_rows)
    else:
        refusal = _request_refusal_of_changes(candidate, location, *question.changes)
    if refusal.category == "internal":
        raise Weak(f"refused as internal, expected an error about the table ({question.code}): {refusal.message}")
    notes.add("refused", 1)


def _request_refusal_of_changes(candidate: Candidate, location: str, start: int, end: int | None) -> Refusal:
    if "changes" not in candidate.capabilities.ops:
        raise NotAsked("the candidate does not offer the operation changes")
    try:
        answer = candidate.changes(Changes(location, "", start=start, end=end))
    except Refused as error:
        return error.refusal
    raise Mismatch(f"{answer.num_rows} changed rows were read")


@check("imported")
def check_nothing(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A question that this release of deltaspec cannot ask; it is listed with the reason."""
    question = _get_question(subject).question
    assert isinstance(question, CannotAsk)
    raise NotAsked(question.reason)
