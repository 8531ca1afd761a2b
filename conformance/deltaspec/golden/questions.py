"""Questions about a table, and their answers, as files of a golden case.

`specs/` has the types that the harnesses of acceptance workloads read: `read` and `snapshot`. `specs-x/` has all other
types, because those harnesses do not parse them. Every file of rows is `expected/<spec>/expected_data/rows.parquet`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.golden.conditions import (
    Condition,
    build_sql,
    count_skippable_files,
    iter_selected,
    list_conditions,
)
from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec.protocol.schema import column_mapping
from deltaspec_generators.table_files import LOG
from deltaspec_generators.table_state import WrittenState, vector_id
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable

OURS = "x-deltaspec"
ROW_ID, ROW_COMMIT_VERSION = "__row_id", "__row_commit_version"
COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"


class Question(msgspec.Struct, frozen=True):
    """A spec with the expected rows, if it has any."""

    name: str
    document: dict[str, Any]
    rows: pa.Table | None = None
    is_common: bool = True
    """Whether the harnesses of acceptance workloads parse it."""

    @property
    def path(self) -> str:
        return f"{'specs' if self.is_common else 'specs-x'}/{self.name}.json"

    @property
    def rows_path(self) -> str:
        return f"expected/{self.name}/expected_data/rows.parquet"


def list_questions(table: ReadableTable, *, conditions: Sequence[Condition] = (), drawn: bool = True) -> list[Question]:
    """List the questions about a valid table.

    Args:
        table: the table.
        conditions: further conditions.
        drawn: whether to ask with conditions that follow from the rows.
    """
    newest = table.versions[-1]
    if table.catalog is not None:
        return list(_iter_catalog_questions(table, table.catalog))
    found = [_ask_snapshot("snapshot", newest), *_iter_scans(newest)]
    for each in table.versions[:-1]:
        found.append(_ask_snapshot(f"snapshot-version-{each.version}", each, version=each.version))
        found.append(_ask_rows(f"version-{each.version}", each.rows, version=each.version))
    asked = [*(list_conditions(newest) if drawn else ()), *conditions]
    found += [_ask_condition(f"where-{number}", each, newest) for number, each in enumerate(asked, 1)]
    found += _iter_changes(table)
    found.append(_ask_state(newest))
    if all(LOG + commit_name(each.version) in table.files.written_ms for each in table.versions):
        found.append(_ask_timestamps(table))
    if newest.row_ids is not None:
        rows = newest.rows.append_column(ROW_ID, pa.array(newest.row_ids, pa.int64()))
        rows = rows.append_column(ROW_COMMIT_VERSION, pa.array(newest.row_commit_versions, pa.int64()))
        found.append(Question("row-ids", _describe_read("row-ids", rows), rows, is_common=False))
    return found


def _iter_catalog_questions(table: ReadableTable, known: CatalogAnswer) -> Iterator[Question]:
    """Yield questions with what the catalog knows, and the question by path, which must be refused."""
    newest = table.versions[-1]
    catalog = msgspec.to_builtins(known)
    for each in (newest, *table.versions[:-1]):
        at = {} if each is newest else {"version": each.version}
        name = "-".join(["catalog-read", *(f"version-{version}" for version in at.values())])
        document = _describe_read("catalog-read", each.rows, catalog=catalog, **at)
        yield Question(name, document, each.rows, is_common=False)
    snapshot = _ask_snapshot("catalog-snapshot", newest)
    document = {**snapshot.document, "type": "catalog-snapshot", "catalog": catalog}
    yield Question("catalog-snapshot", document, is_common=False)
    yield Question("by-path", {"type": "snapshot", "error": {"errorCode": "catalog-managed.found-by-readers"}})


def _describe_read(kind: str, rows: pa.Table, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more, "expected": {"rowCount": rows.num_rows}}


def _ask_rows(name: str, rows: pa.Table, **more: Any) -> Question:
    return Question(name, _describe_read("read", rows, **more), rows)


def _iter_scans(newest: ExpectedVersion) -> Iterator[Question]:
    """Yield a scan of all columns, and of the first, the last, and only the partition columns."""
    rows = newest.rows
    yield _ask_rows("all", rows)
    names = rows.column_names
    projections = [[names[0]], [names[-1]], list(newest.partition_columns)]
    unique = [each for index, each in enumerate(projections) if each and each not in projections[:index]]
    for number, columns in enumerate((each for each in unique if each != names), 1):
        yield _ask_rows(f"columns-{number}", rows.select(columns), columns=columns)


def _ask_condition(name: str, condition: Condition, newest: ExpectedVersion) -> Question:
    column = next(each for each in newest.schema.fields if each.name == condition.column)
    rows = newest.rows.take(pa.array(list(iter_selected(condition, newest.plain_rows)), pa.int64()))
    supported = "columnMapping" in newest.state.features
    mapping = column_mapping.get_mapping_mode(newest.state.configuration, supported=supported)
    skippable = count_skippable_files(condition, newest, column_mapping.physical_name(column, mapping))
    document = _describe_read("read", rows, predicate=build_sql(condition, column.type))
    return Question(name, {**document, OURS: {"filesSkippable": skippable}}, rows)


def _ask_snapshot(name: str, expected: ExpectedVersion, **more: Any) -> Question:
    protocol, metadata = expected.state.protocol, expected.state.metadata
    document = {"type": "snapshot", **more, "expected": {"protocol": protocol, "metadata": metadata}}
    return Question(name, {**document, OURS: {"version": expected.version}})


def _iter_changes(table: ReadableTable) -> Iterator[Question]:
    """Yield the changes of every version with the newest schema, and of all consecutive ones together."""
    newest = table.versions[-1].schema
    versions = [each for each in table.versions if each.changes is not None and each.schema == newest]
    if not versions:
        return
    is_range = versions[-1].version - versions[0].version == len(versions) - 1
    for each in versions:
        if each.plain_changes or len(versions) == 1:
            yield _ask_changes([each])
    if is_range and len(versions) > 1:
        yield _ask_changes(versions)


def _ask_changes(versions: Sequence[ExpectedVersion]) -> Question:
    parts = []
    for each in versions:
        assert each.changes is not None
        count = each.changes.num_rows
        moments = pa.array([each.timestamp_ms * 1000] * count, pa.int64()).cast(pa.timestamp("us", "UTC"))
        part = each.changes.append_column(COMMIT_VERSION, pa.array([each.version] * count, pa.int64()))
        parts.append(part.append_column(COMMIT_TIMESTAMP, moments))
    rows = pa.concat_tables(parts)
    first, last = versions[0].version, versions[-1].version
    document = _describe_read("cdf", rows, startVersion=first, endVersion=last)
    return Question(f"changes-{first}-to-{last}", document, rows, is_common=False)


def _ask_state(newest: ExpectedVersion) -> Question:
    state: WrittenState = newest.state
    expected: dict[str, Any] = {
        "version": newest.version,
        "files": [_describe_file(path, body) for path, body in sorted(state.live.items())],
        "transactions": {app: body["version"] for app, body in sorted(state.transactions.items())},
        "domains": {name: body["configuration"] for name, body in sorted(state.domains.items())},
    }
    if state.is_enabled(IN_COMMIT_TIMESTAMPS):
        expected["inCommitTimestamp"] = newest.timestamp_ms
    return Question("state", {"type": "state", "expected": expected}, is_common=False)


def _describe_file(path: str, body: dict[str, Any]) -> dict[str, Any]:
    vector = vector_id(body)
    return {"path": path, **({} if vector is None else {"deletionVectorId": vector})}


def _ask_timestamps(table: ReadableTable) -> Question:
    """Ask for the version at the time of each commit, and one millisecond before it."""
    moments = [(each.timestamp_ms, each.version) for each in table.versions]
    for each, later in zip(table.versions, table.versions[1:], strict=False):
        moments.append((later.timestamp_ms - 1, each.version))
    expected = [{"timestampMs": moment, "version": version} for moment, version in sorted(moments)]
    times = dict(sorted(table.files.written_ms.items()))
    document = {"type": "timestamps", "modificationTimes": times, "expected": expected}
    return Question("timestamps", document, is_common=False)
