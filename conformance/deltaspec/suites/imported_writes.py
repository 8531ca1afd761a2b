"""Suite imported: cases for writers that others published. The candidate writes, and the kit reads what it wrote."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.messages import Apply, SnapshotAnswer
from deltaspec.candidates.write_operations import CommitOptions, parse_operation
from deltaspec.golden.importing.questions import (
    LoadSnapshot,
    PerformCommits,
    PerformOperations,
    ReadChanges,
    ReadRows,
)
from deltaspec.golden.importing.write_specs import (
    CannotPerform,
    Performable,
    follow_live_commits,
    translate_commit,
)
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.suites.changes import COMMIT_TIMESTAMP, COMMIT_VERSION
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, Weak, check
from deltaspec.suites.history_requests import find_undeclared
from deltaspec.suites.imported import read_expected_rows
from deltaspec.suites.performance import Aspect
from deltaspec.suites.read import compare_rows
from deltaspec.suites.snapshot import compare_value
from deltaspec.suites.write_history import perform_history
from deltaspec.suites.write_judging import (
    TableReader,
    build_plain_changes,
    find_newest_version,
    list_derived_versions,
    validate_table,
)
from deltaspec_generators.histories.plain_table import NotApplicable
from deltaspec_generators.tables.readable import arrow_image

_NO_TABLE = Struct(())


@check("imported", operation="apply")
def check_commits(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The commits of a write spec: the table validates and has the rows, changes and state that the case states."""
    assert subject.imported is not None
    question = subject.imported.question
    assert isinstance(question, PerformCommits)
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as place:
        replay = _Replay(candidate, question, Path(place), notes)
        for number in range(len(question.commits)):
            replay.perform(number)
        replay.judge()


@check("imported", operation="apply")
def check_operations(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A history of deltaspec, judged in every aspect as in suite write."""
    assert subject.imported is not None
    question = subject.imported.question
    assert isinstance(question, PerformOperations)
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as place:
        try:
            done = perform_history(candidate, question.steps, Path(place))
        except (NotApplicable, KeyError, TypeError) as error:
            raise NotAsked(f"the operations are not a history: {error!r}") from None
    for aspect, counts in done.counts.items():
        for name, number in counts.items():
            notes.add(f"{aspect}: {name}", number)
    if done.not_asked:
        raise NotAsked(done.not_asked)
    for aspect in get_args(Aspect):
        if (problem := done.problems.get(aspect)) is not None:
            notes.history = tuple(done.titles[: problem.steps])
            if problem.died is not None:
                raise problem.died
            raise (Weak if problem.is_weak else Mismatch)(f"{aspect}: {problem.message}")


class _Replay:
    """A write spec in progress."""

    def __init__(self, candidate: Candidate, question: PerformCommits, place: Path, notes: Notes) -> None:
        self.candidate, self.question, self.place, self.notes = candidate, question, place, notes
        self.table = place / "table"
        self.table.mkdir()
        self.reader = TableReader(self.table)
        self.versions: list[int] = []
        """Newest version after each commit, which may differ from its number."""
        self.live: tuple[int, ...] | None = ()
        self.titles: list[str] = []

    def perform(self, number: int) -> None:
        """Perform a commit, and write the checkpoint and the checksum that the case asks for after it."""
        commit = self.question.commits[number]
        schema = self._read_schema() if number else _NO_TABLE
        try:
            wanted = translate_commit(commit, schema, self.live)
        except CannotPerform as reason:
            raise NotAsked(f"commit {number}: {reason}") from None
        self.titles.append(f"{number}: {wanted.operation['kind']}")
        self.notes.history = tuple(self.titles)
        if undeclared := find_undeclared(wanted.operation, self.candidate.capabilities):
            raise NotAsked(f"commit {number}: the candidate does not declare {undeclared}")
        self._apply(wanted, number, schema)
        self.versions.append(find_newest_version(self.table))
        self.live = follow_live_commits(commit, number, self.live)
        self.notes.add("commits", 1)
        for kind, asked in (("checkpoint", self.question.checkpoints), ("checksum", self.question.checksums)):
            if number in asked:
                self._write_derived(kind)

    def _apply(self, wanted: Performable, number: int, schema: Struct) -> None:
        fields = dict(wanted.operation)
        if wanted.data_files or fields["kind"] == "append":
            new = parse_schema(fields["schema"]) if "schema" in fields else schema
            fields["rows"] = str(self.place / f"{number}.arrow")
            _write_rows([self.question.data_files[path] for path in wanted.data_files], new, Path(fields["rows"]))
        commit = CommitOptions(**wanted.commit) if wanted.commit else None
        self._request(Apply(str(self.table), parse_operation(fields), commit), f"commit {number}")

    def _request(self, request: Apply, what: str) -> None:
        try:
            self.candidate.apply(request)
        except Refused as refused:
            if refused.refusal.category == "unsupported":
                raise NotAsked(f"{what}: refused as unsupported: {' '.join(refused.refusal.message.split())}") from None
            raise

    def _write_derived(self, kind: str) -> None:
        if kind not in self.candidate.capabilities.kinds:
            self.notes.add(f"not asked: {kind}", 1)
            return
        self._request(Apply(str(self.table), parse_operation({"kind": kind})), kind)
        if self.versions[-1] not in list_derived_versions(self.table, kind):
            raise Mismatch(f"{kind}: answered, but version {self.versions[-1]} has none")
        self.notes.add(kind, 1)

    def _read_schema(self) -> Struct:
        state = self.reader.read_state()
        assert state.metadata is not None
        return parse_schema(state.metadata["schemaString"])

    # judging

    def judge(self) -> None:
        """Raise `Mismatch` if the table is not valid, or has other rows, changes or state than the case."""
        violations, _ = validate_table(self.table)
        if violations:
            raise Mismatch(f"the table violates the protocol: {next(iter(violations.values()))}")
        for each in self.question.expected:
            try:
                self._compare(each)
            except Mismatch as error:
                raise error.with_text(f"{each.name}: {error}") from None
            except Refused as refused:
                raise Mismatch(f"{each.name}: the table cannot be read: {refused}") from None

    def _compare(self, each: ReadRows | ReadChanges | LoadSnapshot) -> None:
        number = each.version if each.version is not None else len(self.versions) - 1
        if not 0 <= number < len(self.versions):
            raise NotAsked(f"{each.name}: the case has no commit {number}")
        state = self.reader.read_state(self.versions[number])
        assert state.metadata is not None
        schema = parse_schema(state.metadata["schemaString"])
        match each:
            case ReadRows():
                self._compare_rows(each, self.versions[number], schema)
            case ReadChanges():
                self._compare_changes(each, number, schema)
            case LoadSnapshot():
                _compare_state(each, state)

    def _compare_rows(self, asked: ReadRows, version: int, schema: Struct) -> None:
        if asked.rows is None or asked.predicate is not None:
            self.notes.add("not compared: reads with a predicate or without expected rows", 1)
            return
        found = self.reader.read_rows(version, row_ids=False)
        if asked.columns is not None:
            found = found.select(list(asked.columns))
        compare_rows(read_expected_rows(asked.rows, asked, schema), found)
        self.notes.add("rows", found.num_rows)

    def _compare_changes(self, asked: ReadChanges, last: int, schema: Struct) -> None:
        """Compare changed rows as deleted and inserted ones, without the versions, which the writer chooses."""
        first = self.versions[asked.start - 1] + 1 if asked.start else 0
        found = self.reader.read_changes(first, self.versions[last])
        expected = read_expected_rows(asked.rows, asked, schema)
        added = [name for name in (COMMIT_VERSION, COMMIT_TIMESTAMP) if name in expected.column_names]
        expected = build_plain_changes(expected.drop_columns(added))
        compare_rows(expected, found.select(expected.column_names))
        self.notes.add("changes", found.num_rows)


def _compare_state(asked: LoadSnapshot, state: SnapshotAnswer) -> None:
    """Compare what a replay reproduces: columns, partition columns, properties, transactions and domains."""
    metadata = state.metadata or {}
    if "schemaString" in asked.metadata:
        schemas = (parse_schema(each["schemaString"]) for each in (asked.metadata, metadata))
        wanted, found = ([[each.name, str(each.type)] for each in one.fields] for one in schemas)
        compare_value("columns", wanted, found)
    for name in ("partitionColumns", "configuration"):
        if name in asked.metadata:
            expected, actual = asked.metadata[name], metadata.get(name)
            if isinstance(expected, dict) and isinstance(actual, dict):
                expected = {key: text for key, text in expected.items() if not key.startswith("delta.columnMapping.")}
                actual = {key: actual.get(key) for key in expected}
            compare_value(name, expected, actual)
    transactions, domains = state.transactions or {}, state.domains or {}
    compare_value("transactions", asked.transactions, {app: transactions.get(app) for app in asked.transactions})
    compare_value("domains", asked.domains, {name: domains.get(name) for name in asked.domains})


def _write_rows(paths: Sequence[Path], schema: Struct, target: Path) -> None:
    """Copy rows into an Arrow file with the types of the table. Raises `NotAsked`."""
    types = {each.name: arrow_image(each.type) for each in schema.fields}
    try:
        empty = pa.table({name: pa.array([], kind) for name, kind in types.items()})
        rows = pa.concat_tables([pq.ParquetFile(path).read() for path in paths]) if paths else empty
        columns = [rows.column(name).cast(types[name]) for name in rows.column_names]
    except (OSError, KeyError, pa.ArrowException) as error:
        raise NotAsked(f"the rows of a commit do not fit the table: {error}") from None
    found = pa.table(columns, names=rows.column_names)
    with pa.ipc.new_file(str(target), found.schema) as writer:
        writer.write_table(found)
