"""Perform a history through a candidate and judge the table after every operation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.host import Candidate, Died, Refused
from deltaspec.candidates.messages import ApplyAnswer, Capabilities, Scan, SnapshotAnswer
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.row_comparison import WrongType, find_row_difference
from deltaspec.model.features.identity_values import find_value_faults
from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features import clustering
from deltaspec.protocol.features.constraints import DEFAULT
from deltaspec.protocol.features.supported_features import get_reader_features, get_supported_features
from deltaspec.protocol.property_names import CHANGE_DATA_FEED, CONSTRAINT_PREFIX, IN_COMMIT_TIMESTAMPS, ROW_TRACKING
from deltaspec.suites.cleanup_judging import CleanupJudge
from deltaspec.suites.history_requests import (
    build_request,
    find_reason_to_skip,
    find_undeclared,
)
from deltaspec.suites.kit_steps import OTHER_PROVIDER, perform_step_of_the_kit
from deltaspec.suites.mixed_engines import get_writer, list_readers
from deltaspec.suites.performance import Aspect, Performance, Problem, StepOutcome
from deltaspec.suites.row_id_judging import RowIdJudge
from deltaspec.suites.write_judging import (
    CHANGE_TYPE,
    TableReader,
    compare_digests,
    compute_digests,
    describe_files,
    find_newest_version,
    get_clock_ms,
    list_clustering_columns,
    validate_table,
)
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.histories.drawing import FEATURE_PROPERTIES, Offer, Step, draw_history
from deltaspec_generators.histories.kinds import STEPS_OF_THE_KIT
from deltaspec_generators.histories.plain_table import (
    GENERATED,
    ID,
    REFUSAL_CATEGORIES,
    Effect,
    Forbidden,
    NotApplicable,
    PlainTable,
    Row,
    fill_generated,
    perform,
    render_type,
)
from deltaspec_generators.histories.purposes import list_purposes

_REMOVES_FILES = ("vacuum", "cleanup-log")


class HistoryUnderTest(msgspec.Struct):
    """A history to perform in a directory; all checks share one performance."""

    seed: int
    number: int
    directory: Path
    steps: tuple[Step, ...] | None = None
    """Set for a saved history; otherwise drawn for the offer of the candidate."""
    _done: Performance | None = None

    def perform(self, candidate: Candidate) -> Performance:
        """Perform the history once. Raises `GivenUp`."""
        if self._done is None:
            self._done = perform_history(candidate, self.list_steps(candidate.capabilities), self.directory)
        return self._done

    def list_steps(self, capabilities: Capabilities) -> tuple[Step, ...]:
        """Return the operations for a candidate."""
        if self.steps is None:
            offer = Offer.of(capabilities.drawn_kinds, capabilities.writer_features)
            purposes = list_purposes(self.number, offer.kinds, offer.features)
            return draw_history(SeededChoices(self.seed, self.number), offer, purposes)
        return self.steps


def perform_history(candidate: Candidate, steps: Sequence[Step], directory: Path) -> Performance:
    """Perform operations on a new table below a directory, and judge it after each one.

    A refused operation and wrong rows end the history; violations do not. An operation that is refused as unsupported
    is left out.
    """
    (directory / "table").mkdir(parents=True)
    (directory / "rows").mkdir()
    (directory / "neighbour").mkdir()
    (directory / "neighbour" / "file").write_text("must not change")
    run = _Run(candidate, directory)
    for number, step in enumerate(steps):
        if not run.perform_step(number, step):
            break
    return run.done


class _Run:
    """A history in progress."""

    def __init__(self, candidate: Candidate, directory: Path) -> None:
        self.candidate, self.directory, self.table = candidate, directory, directory / "table"
        self.reader = TableReader(self.table)
        self.done = Performance()
        self.past: list[PlainTable | None] = []
        self.versions: list[int] = []
        self.row_ids = RowIdJudge()
        self.table_id: str | None = None
        self.is_clone = False
        """Whether the table refers to the files of another one."""
        self.digests = self._read_digests()
        self.started_ms = 0
        """Time of the last request, in milliseconds since the epoch."""
        self.outcome: StepOutcome | None = None
        """Outcome of the step; None if the candidate was not asked."""

    def perform_step(self, number: int, step: Step) -> bool:
        """Perform a step, judge the table and count the outcome; return whether the history continues."""
        self.outcome = None
        continues = self._perform_step(number, step)
        if self.outcome is not None:
            self.done.count("operations", f"{step.operation['kind']}: {self.outcome}")
        return continues

    def _perform_step(self, number: int, step: Step) -> bool:
        before = self.past[-1] if self.past else None
        if undeclared := find_undeclared(step.operation, self.candidate.capabilities):
            if before is None:
                self.done.not_asked = f"the candidate does not declare {undeclared}"
            return self._skip(step, before, f"left out: the candidate does not declare {undeclared}")
        try:
            expected = perform(before, step.operation, step.commit, self.past)
        except NotApplicable as error:
            return self._skip(step, before, f"left out: {error}")
        if reason := find_reason_to_skip(step, self.versions, find_newest_version(self.table)):
            return self._skip(step, before, reason)
        self.step, self.old = step, before
        self.done.titles.append(f"{number}: {step.title}")
        if step.kind in STEPS_OF_THE_KIT:
            assert isinstance(expected, Effect)
            perform_step_of_the_kit(step.operation, self.table, self.reader.read_state())
            self.digests = self._read_digests()
            return self._proceed(expected.table)
        newest = find_newest_version(self.table)
        clusters = LogReader(str(self.table)).read_state() if before and before.is_clustered_by_others else None
        cleanup = CleanupJudge(self.table, self.reader) if step.kind == "cleanup-log" else None
        try:
            rows = self.directory / "rows" / f"{number}.arrow"
            request = build_request(self.table, step, before, self.versions, rows)
            self.started_ms = get_clock_ms()
            answer: ApplyAnswer | Refused | Died = self.candidate.apply(request)
        except (Refused, Died) as error:
            answer = error
        if list_readers(self.candidate):
            self.done.titles[-1] += f"  [{get_writer(self.candidate)}]"
        if isinstance(answer, Died):
            self._note("operations", str(answer), died=answer)
            return False
        self.done.count("operations", "operations")
        self.outcome = "refused" if isinstance(answer, Refused) else "done"
        if step.kind == "clone" and self.outcome == "done":
            newest = self._use_clone(Path(request.table))
        self._judge_files(step, may_remove=step.kind in _REMOVES_FILES and self.outcome == "done")
        if cleanup is not None and self.outcome == "done":
            self._judge_cleanup(cleanup)
        if clusters is not None and self.outcome == "done" and step.kind == "optimize":
            self._judge_clusters(clusters)
        match expected, answer:
            case Forbidden(), Refused():
                self._judge_refusal(expected, answer, newest)
                return self._proceed(before)
            case Forbidden(), _:
                self._note("refusals", f"accepted a write that the protocol forbids ({expected.requirement}): "
                                       f"{expected.reason}")  # fmt: skip
                return False
            case Effect(may_be_refused=True), Refused():
                self._judge_permitted_refusal(answer, newest)
                return self._proceed(before)
            case Effect(), Refused():
                return self._judge_unexpected_refusal(step, answer, newest, before)
        assert isinstance(expected, Effect)
        assert isinstance(answer, ApplyAnswer)
        return self._judge_effect(expected, answer, newest)

    def _use_clone(self, table: Path) -> int:
        """Continue the history on another table; return the version that it had before: none."""
        self.table, self.reader, self.is_clone = table, TableReader(table), True
        self.versions, self.past = [-1] * len(self.versions), [None] * len(self.past)
        self.table_id, self.row_ids, self.old = None, RowIdJudge(), None
        return -1

    # judging

    def _judge_files(self, step: Step, *, may_remove: bool) -> None:
        before, self.digests = self.digests, self._read_digests()
        found = compare_digests(before, self.digests)
        folder = f"{self.table.name}/"
        if outside := tuple(
            path for path in (*found.added, *found.changed, *found.removed) if not path.startswith(folder)
        ):
            self._note("files", f"wrote outside of the table: {describe_files(outside)}")
        if found.changed:
            self._note("files", f"changed existing files: {describe_files(found.changed)}")
        if found.removed and not may_remove:
            self._note("files", f"removed files: {describe_files(found.removed)}")
        self.done.count("files", "files compared", len(before))

    def _judge_cleanup(self, judge: CleanupJudge) -> None:
        """Compare the deleted files of the log with the files that may and should be deleted."""
        clocks = (self.started_ms, get_clock_ms())
        if (problem := judge.find_problem(clocks, self.candidate.capabilities.writer_features)) is not None:
            self._note("cleanup", problem)
        for name, number in judge.counts.items():
            self.done.count("cleanup", name, number)

    def _judge_clusters(self, before: LoadedTable) -> None:
        """Look for files of another clustering implementation that were clustered again."""
        old, new = before.snapshot.files, LogReader(str(self.table)).read_state().snapshot.files
        others = {key: each.path for key, each in old.items() if each.clustering_provider == OTHER_PROVIDER}
        gone = tuple(path for key, path in others.items() if key not in new)
        self.done.count("clustering", "files of another implementation compared", len(others))
        if gone and any(each.clustering_provider for key, each in new.items() if key not in old):
            self._note("clustering", f"clustered files that {OTHER_PROVIDER} has clustered: {describe_files(gone)}")

    def _judge_refusal(self, expected: Forbidden, refused: Refused, newest: int) -> None:
        self.done.count("refusals", "forbidden writes refused")
        category = refused.refusal.category
        if self._has_trace(newest):
            self._note("refusals", f"refused a forbidden write, but left a commit: version {newest + 1}")
        elif category not in expected.categories:
            self._note(
                "refusals",
                f"refused a forbidden write with category {category}, expected {' or '.join(expected.categories)}: "
                f"{expected.reason}; {_shorten(refused.refusal.message)}",
                is_weak=True,
            )  # fmt: skip

    def _judge_permitted_refusal(self, refused: Refused, newest: int) -> None:
        """Judge the refusal of an operation that a writer may also perform."""
        self.done.count("refusals", "writes refused that may be")
        category = refused.refusal.category
        if self._has_trace(newest):
            self._note("refusals", f"refused an operation, but left a commit: version {newest + 1}")
        elif category not in (*REFUSAL_CATEGORIES, "invalid-request"):
            text = f"refused with category {category} what a writer may refuse as unsupported"
            self._note("refusals", f"{text}; {_shorten(refused.refusal.message)}", is_weak=True)

    def _judge_unexpected_refusal(self, step: Step, refused: Refused, newest: int, before: PlainTable | None) -> bool:
        refusal = refused.refusal
        if self._has_trace(newest):
            self._note("refusals", f"refused an operation, but left a commit: version {newest + 1}")
            return False
        if refusal.category == "unsupported" and before is not None:
            self.outcome = "not supported"
            self.done.count("operations", "operations not supported")
            self.done.not_supported.add(step.kind)
            if step.kind == "widen-column":
                self._note(
                    "type-changes", f"does not offer a type change that the protocol lists; {_shorten(refusal.message)}"
                )
                self.outcome = "not supported"
            self.done.titles[-1] += "  (not supported)"
            return self._proceed(before)
        if refusal.category == "unsupported":
            self.outcome = "not supported"
            self.done.not_asked = f"the candidate does not create such a table: {_shorten(refusal.message)}"
            return False
        name = refusal.code or refusal.native
        self._note("operations", f"refused {step.operation['kind']}, which the table allows: {refusal.category}"
                                 f"{f' ({name})' if name else ''}: {_shorten(refusal.message)}")  # fmt: skip
        return False

    def _judge_effect(self, expected: Effect, answer: ApplyAnswer, newest: int) -> bool:
        version = find_newest_version(self.table)
        first = newest + 1
        if version > newest and not answer.committed:
            self._note("operations", f"answered that nothing was committed, but the log has version {version}")
        if answer.committed and answer.version is not None and answer.version != version:
            self._note("operations", f"answered version {answer.version}; the newest version is {version}")
        if version < 0:
            self._note("operations", "answered, but the log has no version")
            return False
        self._judge_validity()
        self.done.count("type-changes", "type changes", self.step.kind == "widen-column")
        try:
            state = self.reader.read_state()
            has_ids = expected.table.is_enabled(ROW_TRACKING)
            rows = self.reader.read_rows(version, row_ids=has_ids)
        except Refused as refused:
            self._note("rows", f"the table cannot be read: {refused}")
            return False
        if version == newest and self.old is not None:  # nothing to do, so there is no commit for its options
            same = replace(expected.table, transactions=self.old.transactions, domains=self.old.domains)
            expected = replace(expected, table=same)
        self._judge_state(expected.table, state)
        ids = rows.select(["__row_id", "__row_commit_version"]) if has_ids else None
        rows = rows.drop_columns(["__row_id", "__row_commit_version"]) if has_ids else rows
        expected = replace(expected, table=self._adopt_generated(expected.table, rows))
        if (difference := _compare(expected.table.build_arrow(expected.table.rows), rows)) is not None:
            self._note("rows", f"wrong rows: {difference}")
            return False
        self.done.count("rows", "rows compared", rows.num_rows)
        self._judge_transaction(rows, first, version)
        if ids is not None:
            self.done.count("row-ids", "rows compared", ids.num_rows)
            for problem in self.row_ids.find_problems(expected, rows, ids, range(first, version + 1)):
                self._note("row-ids", problem)
        if expected.table.is_enabled(IN_COMMIT_TIMESTAMPS):
            self._judge_timestamps(first, version)
        self._judge_changes(expected, first, version)
        self._judge_readers(expected.table)
        return self._proceed(expected.table)

    def _adopt_generated(self, table: PlainTable, rows: pa.Table) -> PlainTable:
        """Return the expected table with the values of identity columns that the writer chose, and judge them."""
        identities = {each.name: each.identity for each in table.columns if each.identity is not None}
        if not identities or not {ID, *identities} <= set(rows.column_names):
            return table
        filled = fill_generated(table, rows.to_pylist())
        for name, identity in identities.items():
            is_new = [row[name] is GENERATED for row in table.rows]
            new, old = ([row[name] for row, each in zip(filled.rows, is_new, strict=True) if each is wanted]
                        for wanted in (True, False))  # fmt: skip
            if None in new:
                self._note("rows", f"a row has no value of the identity column {name}")
            elif faults := find_value_faults(identity, old, new):
                self._note("rows", f"generated {faults[0][0]} for the identity column {name}: {faults[0][1]}")
            self.done.count("rows", "identity values compared", len(new))
        return filled

    def _judge_validity(self) -> None:
        violations, counts = validate_table(self.table, allow_outside=self.is_clone)
        for name, number in counts.items():
            self.done.count("valid", name, number)
        self.done.count("valid", "tables validated")
        new = {rule: text for rule, text in violations.items() if rule not in self.done.rules}
        self.done.rules |= set(violations)
        operation = f"{self.step.operation['kind']} by {get_writer(self.candidate)}"
        for rule in new:  # only the first violation of a history is reported; violations of other rules are counted
            self.done.count("valid", f"{operation} violates {rule}")
        if new:
            self._note("valid", f"violates {', '.join(sorted(new))}\n" + "\n".join(list(new.values())[:3]))

    def _judge_state(self, table: PlainTable, state: SnapshotAnswer) -> None:
        metadata = state.metadata or {}
        fields = json.loads(metadata.get("schemaString", "{}")).get("fields", [])
        configuration = metadata.get("configuration", {})
        domains = state.domains or {}
        wanted = {key: text for key, text in table.properties.items() if not key.startswith("delta.feature.")}
        self.table_id = self.table_id or metadata.get("id")
        facts: dict[str, tuple[Any, Any]] = {
            "table id": (self.table_id, metadata.get("id")),
            "columns": ([(each.name, each.type) for each in table.columns],
                        [(each["name"], render_type(each["type"])) for each in fields]),
            "column defaults": ({each.name: str(each.default) for each in table.columns if each.default is not None},
                                {each["name"]: each["metadata"][DEFAULT] for each in fields
                                 if DEFAULT in each["metadata"]}),
            "partition columns": (list(table.partition_by), list(metadata.get("partitionColumns", []))),
            "clustering columns": (list(table.cluster_by), [] if table.is_clustered_by_others else
                                   list_clustering_columns(fields, domains.get(clustering.DOMAIN))),
            "transactions": (dict(table.transactions), state.transactions),
            "domains": (dict(table.domains), {key: text for key, text in domains.items() if key[:6] != "delta."}),
            "constraints": ({f"{CONSTRAINT_PREFIX}{name}".lower() for name in table.constraints},
                            {key.lower() for key in configuration if key.startswith(CONSTRAINT_PREFIX)}),
            "properties": (wanted, {key: configuration.get(key) for key in wanted}),
            "unset properties": ([], sorted(table.unset_properties & configuration.keys())),
            "added features": (sorted(table.features), sorted(table.features & _list_supported(state))),
            "dropped features": ([], sorted(table.dropped_features & _list_supported(state))),
        }  # fmt: skip
        for name, (expected, found) in facts.items():
            self.done.count("state", "facts compared")
            if expected != found:
                self._note("state", f"wrong {name}: expected {expected}, found {found}")

    def _judge_transaction(self, rows: pa.Table, first: int, version: int) -> None:
        """If an operation made several versions, compare the version with its txn and the version with its rows."""
        if (txn := self.step.commit.get("txn")) is None:
            return
        for each in range(first, version):
            has_txn = (self.reader.read_state(each).transactions or {}).get(txn["app_id"]) == txn["version"]
            has_rows = _compare(rows, self.reader.read_rows(each, row_ids=False)) is None
            if has_txn != has_rows:
                what = "txn, but not the rows" if has_txn else "rows, but not the txn"
                self._note("rows", f"version {each} has the {what} of the operation")

    def _judge_timestamps(self, first: int, version: int) -> None:
        """Compare in-commit timestamps with the clock at the request and now, and with earlier timestamps."""
        now = get_clock_ms()
        before = self.reader.read_state(first - 1).in_commit_timestamp if first else -1
        for each in range(first, version + 1):
            found = self.reader.read_state(each).in_commit_timestamp
            if found is not None and before is not None:  # the commit that enables them has no earlier timestamp
                self.done.count("timestamps", "timestamps compared")
                low, high = max(self.started_ms, before + 1), max(now, before + 1)
                if not low <= found <= high:
                    wanted = f"{low}" if low == high else f"from {low} to {high}"
                    self._note("timestamps", f"version {each} has the in-commit timestamp {found}, expected {wanted} "
                                             f"(the clock, or the one before plus 1 ms)")  # fmt: skip
            before = found

    def _judge_changes(self, expected: Effect, first: int, version: int) -> None:
        is_recorded = expected.table.is_enabled(CHANGE_DATA_FEED)
        if self.old is not None and (not is_recorded or not self.old.is_enabled(CHANGE_DATA_FEED)):
            return
        if self.step.kind == "clone":  # the protocol does not say which changes it records
            return
        if not is_recorded or version < first:
            return
        try:
            found = self.reader.read_changes(first, version)
        except Refused as refused:
            self._note("changes", f"the changes cannot be read: {refused}")
            return
        deleted, inserted = list(expected.removed), list(expected.added)
        unchanged = [row for row in deleted if row in inserted]
        wanted = _build_changes(expected.table, [row for row in deleted if row not in unchanged],
                                [row for row in inserted if row not in unchanged])  # fmt: skip
        optional = _build_changes(expected.table, unchanged, unchanged)
        if set(self.old.columns if self.old else ()) - set(expected.table.columns):
            return
        if (difference := _compare(wanted, found, optional)) is not None:
            self._note("changes", f"wrong changes: {difference}")
        self.done.count("changes", "operations with changes compared")
        self.done.count("changes", "changes compared", found.num_rows)

    def _judge_readers(self, table: PlainTable) -> None:
        """Let every engine read the table that one of them wrote."""
        wanted = table.build_arrow(table.rows)
        for reader in list_readers(self.candidate):
            outcome, text = "equal", None
            try:
                text = _compare(wanted, reader.scan(Scan(str(self.table), "")).table)
                outcome = "equal" if text is None else "wrong rows"
            except (Refused, Died) as error:
                is_supported = not isinstance(error, Refused) or error.refusal.category != "unsupported"
                outcome, text = "failed" if is_supported else "not supported", _shorten(str(error))
            name, writer = reader.capabilities.name, get_writer(self.candidate)
            for feature in list_features(table):
                self.done.count("readers", f"{writer} > {name}: {feature}: {outcome}")
            if outcome in ("wrong rows", "failed"):
                self._note("readers", f"{name} cannot read what {writer} wrote: {outcome}\n{text}")

    # helpers

    def _note(self, aspect: Aspect, text: str, *, is_weak: bool = False, died: Died | None = None) -> None:
        """Record a problem; the message names the operation."""
        self.outcome = "failed"
        head, _, rest = text.partition("\n")
        lines = (f"{self.step.operation['kind']}: {head}", f"operation {self.done.titles[-1]}", rest)
        message = "\n".join(filter(None, lines))
        self.done.note(aspect, Problem(message, len(self.done.titles), is_weak, died))

    def _proceed(self, table: PlainTable | None) -> bool:
        self.past.append(table)
        self.versions.append(find_newest_version(self.table))
        return True

    def _skip(self, step: Step, table: PlainTable | None, reason: str) -> bool:
        self.done.titles.append(f"({step.title}: {reason})")
        return self._proceed(table) and table is not None

    def _has_trace(self, newest: int) -> bool:
        return find_newest_version(self.table) != newest

    def _read_digests(self) -> dict[str, bytes]:
        found = compute_digests(self.directory)
        return {path: digest for path, digest in found.items() if not path.startswith("rows/")}


def _list_supported(state: SnapshotAnswer) -> frozenset[str]:
    """Return the features that a protocol lists or that its versions imply."""
    protocol = msgspec.convert(state.protocol, Protocol)
    return frozenset(get_supported_features(protocol) | get_reader_features(protocol))


def _build_changes(table: PlainTable, deleted: Sequence[Row], inserted: Sequence[Row]) -> pa.Table:
    names = [each.name for each in table.columns]
    rows = [{name: row.get(name) for name in names} for row in (*deleted, *inserted)]
    kinds = ["delete"] * len(deleted) + ["insert"] * len(inserted)
    return table.build_arrow(rows).append_column(CHANGE_TYPE, pa.array(kinds, pa.string()))


def list_features(table: PlainTable) -> list[str]:
    """List the features that a table uses; `none` if it uses none."""
    found = [name for name, enabling in FEATURE_PROPERTIES.items() if enabling.items() <= table.properties.items()]
    found += ["checkConstraints"] * bool(table.constraints)
    found += ["generatedColumns"] * any(each.generated for each in table.columns)
    found += ["invariants"] * any(not each.nullable for each in table.columns)
    return found or ["none"]


def _compare(expected: pa.Table, found: pa.Table, optional: pa.Table | None = None) -> str | None:
    try:
        difference = find_row_difference(expected, found, optional=optional)
    except WrongType as error:
        return f"wrong columns or types: {error}"
    return None if difference is None else str(difference)


def _shorten(text: str) -> str:
    return " ".join(text.split())[:300]
