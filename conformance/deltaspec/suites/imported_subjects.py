"""Imported cases as tables under test: one for each question."""

import json
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property

import pyarrow as pa

from deltaspec.candidates.host import Died, GivenUp, Refused
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import At, Scan, Snapshot
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.registry import open_candidate
from deltaspec.golden.importing.questions import ImportedCase, Question, ReadRows
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.suites.checks import ImportedQuestion, TableUnderTest
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable

_UNKNOWN = WrittenState(
    version=0,
    protocol={"minReaderVersion": 1, "minWriterVersion": 2},
    metadata={"schemaString": json.dumps({"type": "struct", "fields": []}), "partitionColumns": []},
)
"""State of a table that the reference reader cannot read: nothing is required of the candidate."""


class _AnyProtocol(Engine):
    """The reference reader without its refusals: the candidate may support more."""

    def check_supported(self, state: object) -> None:
        """Accept every protocol."""


class ImportedTables:
    """The questions of imported cases, by id: the case, a slash, and the question."""

    def __init__(self, cases: Sequence[ImportedCase]) -> None:
        self.cases = cases

    @cached_property
    def _by_id(self) -> dict[str, tuple[ImportedCase, Question]]:
        return {f"{case.id}/{question.name}": (case, question) for case in self.cases for question in case.questions}

    def list_ids(self) -> list[str]:
        """List the ids of all questions."""
        return list(self._by_id)

    def describe(self, identity: str) -> TableUnderTest:
        """Return a question with the state of its table. Raises `KeyError`."""
        case, question = self._by_id[identity]
        state, problem = _read_state(case, getattr(question, "version", None))
        rows = None
        if isinstance(question, ReadRows) and question.rows is None and not problem:
            rows, problem = _read_rows(case, question)
        table = ReadableTable(TableFiles(), (_describe_version(state),), (case.description,))
        return TableUnderTest(identity, case.table, table, imported=ImportedQuestion(question, rows, problem))


def _read_state(case: ImportedCase, version: int | None) -> tuple[WrittenState, str]:
    """Read the state of a version with the reference reader; its schema and features decide what can be asked."""
    at = None if version is None else At(version=version)
    try:
        found = InProcess(_AnyProtocol()).snapshot(Snapshot(str(case.table), at=at))
        assert found.protocol is not None
        assert found.metadata is not None
        parse_schema(found.metadata["schemaString"])
    except (Refused, Died, ValueError) as error:
        return _UNKNOWN, str(error)
    return WrittenState(version=found.version, protocol=found.protocol, metadata=found.metadata), ""


def _read_rows(case: ImportedCase, question: ReadRows) -> tuple[pa.Table | None, str]:
    """Read the rows of a table with the reference reader, in a process with limits."""
    at = None if question.version is None else At(version=question.version)
    try:
        with closing(open_candidate("reference")) as reference:
            return reference.scan(Scan(str(case.table), "", at=at)).table, ""
    except (Refused, Died, GivenUp) as error:
        return None, str(error)


def _describe_version(state: WrittenState) -> ExpectedVersion:
    return ExpectedVersion(
        version=state.version,
        timestamp_ms=0,
        schema=parse_schema(state.metadata["schemaString"]),
        partition_columns=tuple(state.metadata["partitionColumns"]),
        plain_rows=(),
        row_ids=None,
        row_commit_versions=None,
        plain_changes=None,
        state=state,
    )
