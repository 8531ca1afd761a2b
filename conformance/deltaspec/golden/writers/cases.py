"""Golden cases for writers, from histories: a write spec with its data, and the expected table after each commit.

specs/<id>_write.json                what the form of the Delta acceptance tests can express of the history
specs/<id>_read_v<n>.json, specs/<id>_cdf_v<n>.json     rows and changes of version n; rows below `expected`
specs/<id>_checkpoint_v<n>.json, specs/<id>_crc_v<n>.json     derived files, with their expected content
specs-x/operations.json              every operation, with the outcome and the state that the history defines
data/commit_<n>/*.parquet            rows that commit n writes; data/operation_<n>/*.parquet for an operation
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.golden.build import encode_rows
from deltaspec.golden.case_format import encode_document
from deltaspec.golden.questions import COMMIT_VERSION, OURS
from deltaspec.golden.writers.expected_content import (
    build_checkpoint_rows,
    describe_checksum,
    describe_state,
    list_known_columns,
)
from deltaspec.golden.writers.expressing import Expression, Inexpressible, name_data_file
from deltaspec.golden.writers.form import Commit
from deltaspec.protocol.property_names import CHANGE_DATA_FEED
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.histories.kinds import KINDS, STEPS_OF_THE_KIT
from deltaspec_generators.histories.plain_table import (
    Effect,
    Forbidden,
    PlainTable,
    Row,
    add_columns_of_rows,
    build_empty_table,
    perform,
)
from deltaspec_generators.tables.readable import CHANGE_TYPE

OPERATIONS = "specs-x/operations.json"
_DERIVED = {"checkpoint": "checkpoint", "checksum": "crc"}


class WriterCase(msgspec.Struct, frozen=True):
    """A case in memory."""

    id: str
    files: dict[str, bytes]
    commits: int
    """Number of commits of the write spec."""
    operations: int
    outside: tuple[str, ...]
    """Why operations are not in the write spec; operations after one that is missing there have no reason."""


def build_writer_case(identity: str, title: str, steps: Sequence[Step]) -> WriterCase:
    """Build the case of a history."""
    case = _Case(identity)
    for step in steps:
        case.add(step)
    return case.finish(title)


class _Case:
    """A case in progress."""

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.files: dict[str, bytes] = {}
        self.commits: list[Commit] = []
        self.operations: list[dict[str, Any]] = []
        self.outside: list[str] = []
        self.past: list[PlainTable | None] = []
        self.expression = Expression()
        self.is_open = True
        """Whether the write spec can still grow: it has every change of the table until here."""

    def add(self, step: Step) -> None:
        """Add an operation and what it must leave."""
        before = self.past[-1] if self.past else None
        found = perform(before, step.operation, step.commit, self.past)
        number = len(self.operations)
        entry = self._describe_operation(step, before, number)
        self.operations.append(entry)
        if isinstance(found, Forbidden):
            refusal = {"requirement": found.requirement, "reason": found.reason, "categories": found.categories}
            entry["expected"] = {"outcome": "refused", **refusal}
            self.outside.append("the form has no operations that a writer must refuse")
            self.past.append(before)
            return
        version = self._express(step, before, found) if self.is_open else None
        entry["expected"] = {
            "outcome": "either" if found.may_be_refused else "done",
            **({} if version is None else {"version": version}),
            "state": describe_state(found.table),
            **self._describe_rows(before, found, number),
        }
        self.past.append(found.table)

    def _describe_operation(self, step: Step, before: PlainTable | None, number: int) -> dict[str, Any]:
        """Return an operation of the candidate protocol with its rows in a data file."""
        entry = dict(step.operation)
        if entry.get("rows") is not None:
            makes_table = entry["kind"] in ("create", "convert", "replace")
            table = build_empty_table(entry) if makes_table else before or PlainTable()
            if "new_columns" in entry:
                table = add_columns_of_rows(table, entry)
            names = [each.name for each in table.columns if any(each.name in row for row in entry["rows"])]
            path = f"data/operation_{number}/part-00000.parquet"
            self.files[path] = encode_rows(table.build_arrow(entry["rows"], names), None)
            entry["rows"] = path
        return {"operation": entry, **({"commit": step.commit} if step.commit else {})}

    def _describe_rows(self, before: PlainTable | None, found: Effect, number: int) -> dict[str, str]:
        """Write the rows after an operation, and its changes, unless the table and its rows are the same."""
        if before is not None and (before.rows, before.columns) == (found.table.rows, found.table.columns):
            return {}
        paths = {"rows": f"expected/operation_{number}/expected_data/rows.parquet"}
        names = list_known_columns(found.table)
        self.files[paths["rows"]] = encode_rows(found.table.build_arrow(found.table.rows, names), None)
        if (changes := _build_changes(before, found)) is not None:
            paths["changes"] = f"expected/operation_{number}/changes/rows.parquet"
            self.files[paths["changes"]] = encode_rows(changes, None)
        return paths

    # the write spec

    def _express(self, step: Step, before: PlainTable | None, found: Effect) -> int | None:
        """Add an operation to the write spec, and return its version; None if the spec has no commit for it."""
        try:
            if step.kind in _DERIVED:
                self._ask_derived(step, found.table)
                return None
            if KINDS[step.kind].changes == "nothing":
                self.is_open = step.kind not in STEPS_OF_THE_KIT
                raise Inexpressible(f"the form has no operation {step.kind}")
            version = len(self.commits)
            self.commits.append(self.expression.express(step, found, version))
        except Inexpressible as reason:
            self.outside.append(str(reason))
            self.is_open = self.is_open and found.table == before and step.kind != "clone"
            return None
        if step.operation.get("rows") is not None:
            self.files[name_data_file(version)] = encode_rows(found.table.build_arrow(found.added), None)
        self._ask_rows(f"read_v{version}", found.table, version=version)
        changes = _build_changes(before, found)
        if changes is not None and changes.num_rows:
            changes = changes.append_column(COMMIT_VERSION, pa.array([version] * changes.num_rows, pa.int64()))
            self._ask(f"cdf_v{version}", {"type": "cdf", "startVersion": version, "endVersion": version}, changes)
        return version

    def _ask_derived(self, step: Step, table: PlainTable) -> None:
        """Ask for a checkpoint or a checksum of the newest version."""
        version, kind = len(self.commits) - 1, _DERIVED[step.kind]
        if step.operation.get("form") is not None:
            raise Inexpressible(f"the form leaves the form of a checkpoint to the writer, not {step.operation['form']}")
        document: dict[str, Any] = {"type": kind, "version": version}
        if kind == "crc":
            self._ask(f"crc_v{version}", {**document, OURS: {"expected": describe_checksum(table)}})
            return
        self._ask(f"checkpoint_v{version}", document, build_checkpoint_rows(table), {OURS: {"rows": len(table.rows)}})

    def _ask_rows(self, name: str, table: PlainTable, **more: Any) -> None:
        names = list_known_columns(table)
        columns = {} if len(names) == len(table.columns) else {"columns": names}
        rows = table.build_arrow(table.rows, names)
        self._ask(name, {"type": "read", **more, **columns}, rows)

    def _ask(
        self, name: str, document: dict[str, Any], rows: pa.Table | None = None, more: dict[str, Any] | None = None
    ) -> None:
        stem = f"{self.id}_{name}"
        expected = {} if rows is None or more is not None else {"expected": {"rowCount": rows.num_rows}}
        self.files[f"specs/{stem}.json"] = encode_document({**document, **expected, **(more or {})})
        if rows is not None:
            self.files[f"expected/{stem}/expected_data/rows.parquet"] = encode_rows(rows, None)

    def finish(self, title: str) -> WriterCase:
        """Return the case."""
        if self.commits:
            document = {"type": "write", "commits": self.commits}
            self.files[f"specs/{self.id}_write.json"] = encode_document(document)
            newest = max(number for number, each in enumerate(self.operations) if "version" in each["expected"])
            table = self.past[newest]
            assert table is not None
            self._ask_rows("read", table)
        outside = {"notInWriteSpec": sorted(set(self.outside))} if self.outside else {}
        self.files[OPERATIONS] = encode_document({"type": "operations", **outside, "operations": self.operations})
        first = self.past[0]
        assert first is not None
        info = {"name": self.id, "description": title, "schema": msgspec.json.decode(first.render_schema())}
        kinds = sorted({each["operation"]["kind"] for each in self.operations})
        self.files["table_info.json"] = encode_document({**info, "properties": first.properties, "tags": kinds})
        counts = len(self.commits), len(self.operations)
        return WriterCase(self.id, self.files, *counts, tuple(self.outside))


def _build_changes(before: PlainTable | None, found: Effect) -> pa.Table | None:
    """Return the recorded changes of an operation; None if there are none, or if a writer may choose them."""
    if before is None or not all(each.is_enabled(CHANGE_DATA_FEED) for each in (before, found.table)):
        return None
    if before.columns != found.table.columns or len(list_known_columns(found.table)) < len(before.columns):
        return None
    if any(row in found.added for row in found.removed):
        return None
    old, new = {row["id"] for row in found.removed}, {row["id"] for row in found.added}
    kept = old & new if found.is_update else set()

    def name(kind: str, updated: str) -> Callable[[Iterable[Row]], list[str]]:
        return lambda rows: [updated if row["id"] in kept else kind for row in rows]

    kinds = name("delete", "update_preimage")(found.removed) + name("insert", "update_postimage")(found.added)
    rows = found.table.build_arrow((*found.removed, *found.added))
    return rows.append_column(CHANGE_TYPE, pa.array(kinds, pa.string()))
