"""Drawing commits: each operation adds actions to the commit at hand, and only such as the table allows at that point.

One path takes part in at most one operation of a commit, so that no logical file is both added and removed in it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators import draws, files, revisions, vectors
from deltaspec_generators.draws import Column, Outline
from deltaspec_generators.log_state import Body, TableState, after, vector_id

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000


@dataclass
class LogDraft:
    """A log while it is drawn."""

    draw: st.DrawFn
    outline: Outline
    allowed: frozenset[str]
    """Features that the table may have, now or later."""
    columns: tuple[Column, ...]
    state: TableState = field(default_factory=TableState)
    """After the last finished commit."""
    states: list[TableState] = field(default_factory=list)
    commits: list[list[Body]] = field(default_factory=list)
    protocol: Body = field(default_factory=dict)
    """Of the commit at hand, as `metadata` is."""
    metadata: Body = field(default_factory=dict)
    actions: list[Body] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    high_water_mark: int = -1
    in_commit_timestamp_ms: int = 0
    numbers: int = 0
    """Files and identifiers made so far."""
    removed: dict[str, Body] = field(default_factory=dict)
    """The last add of each path that is not live."""
    deleted: dict[tuple[str, str | None], frozenset[int]] = field(default_factory=dict)
    """Rows that a deletion vector removes, by logical file."""
    typed_stats: dict[str, Body] = field(default_factory=dict)
    """Statistics as Python values, by their JSON text."""
    stored: dict[str, bytes] = field(default_factory=dict)
    """Deletion-vector files by path relative to the table."""

    @property
    def revision(self) -> Revision:
        """The text that the table keeps."""
        return self.outline.revision

    @property
    def tracks_rows(self) -> bool:
        """Whether files of the commit at hand get row ids."""
        return bool(self.features & {*revisions.ROW_ID_FEATURES})

    @property
    def version(self) -> int:
        """Of the commit at hand."""
        return self.state.version + 1

    def next_number(self) -> int:
        """A number not given out before."""
        self.numbers += 1
        return self.numbers

    def on(self, name: str) -> bool:
        """Whether a boolean property is true in the commit at hand."""
        configuration: dict[str, str] = self.metadata["configuration"]
        return configuration.get(name) == "true"

    @property
    def features(self) -> frozenset[str]:
        """Supported in the commit at hand."""
        return TableState(protocol=self.protocol).features

    @property
    def append_only(self) -> bool:
        """Whether data may not be removed, before or after the commit at hand."""
        return "appendOnly" in self.features and (self.on("delta.appendOnly") or self.state.on("delta.appendOnly"))

    def untouched(self) -> list[Body]:
        """Live files that the commit at hand says nothing about."""
        return [add for path, add in self.state.live.items() if path not in self.touched]


def draw_commits(draw: st.DrawFn, outline: Outline, most: int, allowed: Collection[str]) -> LogDraft:
    """A log of at most so many commits that begins with the outline and stays within the allowed features.

    How many there are is drawn first, and each commit and operation is a draw of its own, so that any can shrink away.
    """
    draft = LogDraft(draw, outline, frozenset(allowed), outline.columns)
    for _ in range(draw(st.integers(1, most))):
        draw(_commits(draft))
    return draft


@st.composite
def _commits(draw: st.DrawFn, draft: LogDraft) -> None:
    """One more commit."""
    version = draft.version
    gap = draw(st.sampled_from((60_000, 1, 2 * DAY_MS, 9 * DAY_MS))) if version else 0
    timestamp = (draft.state.timestamp_ms or START_MS) + gap
    draft.actions, draft.touched = [], set()
    if version == 0:
        _first(draft)
    for _ in range(draw(st.integers(0, 4))):
        draw(_operations(draft, timestamp))
    _finish(draft, timestamp)
    draft.commits.append(draft.actions)
    draft.state = after(draft.state, draft.actions, timestamp)
    draft.states.append(draft.state)


@st.composite
def _operations(draw: st.DrawFn, draft: LogDraft, timestamp: int) -> None:
    """One operation, chosen from the same list every time, so that it stays what it is when another shrinks away."""
    applicable = _applicable(draft)
    draw(st.sampled_from(_OPERATIONS).filter(applicable.__contains__))(draft, timestamp)


def _first(draft: LogDraft) -> None:
    draft.protocol, draft.metadata = draft.outline.protocol, draft.outline.metadata
    draft.actions += [{"protocol": draft.protocol}, {"metaData": draft.metadata}]
    draft.actions += [{"domainMetadata": body} for body in draft.outline.domains]


Operation = Callable[[LogDraft, int], None]


def _applicable(draft: LogDraft) -> list[Operation]:
    found: list[Operation] = [_append]
    untouched = draft.untouched()
    kinds = {kind for action in draft.actions for kind in action}
    if untouched and not draft.append_only:
        found.append(_remove)
    if untouched:
        found += [_rewrite, _update_statistics]
    # What the files of a commit may do depends on its metadata, so that is settled before them.
    if draft.version and not kinds & {"metaData", "protocol", "add", "remove"}:
        found.append(_change_metadata)
        if _upgrades(draft) and not draft.actions:
            found.append(_upgrade)
    if "txn" not in kinds:
        found.append(_transaction)
    if "domainMetadata" not in kinds and "domainMetadata" in draft.features:
        found.append(_domain)
    if vectors.applicable(draft):
        found.append(vectors.delete_rows)
    if _restorable(draft):
        found.append(_restore)
    return found


def _append(draft: LogDraft, timestamp: int) -> None:
    for _ in range(draft.draw(st.integers(1, 2))):
        draft.actions.append({"add": files.new_file(draft, timestamp, data_change=True)})


def _remove(draft: LogDraft, timestamp: int) -> None:
    removed = draft.draw(st.sampled_from(draft.untouched()))
    draft.actions.append({"remove": files.tombstone(draft, removed, timestamp, data_change=True)})


def _rewrite(draft: LogDraft, timestamp: int) -> None:
    """Optimize: files of one partition give way to one that holds the same rows."""
    first = draft.draw(st.sampled_from(draft.untouched()))
    partition = first["partitionValues"]
    others = [add for add in draft.untouched() if add["partitionValues"] == partition and add is not first]
    old = [first, *others[: draft.draw(st.integers(0, 1))]]
    for add in old:
        draft.actions.append({"remove": files.tombstone(draft, add, timestamp, data_change=False)})
    rows = sum(files.row_count(add) - len(draft.deleted.get((add["path"], vector_id(add)), ())) for add in old)
    new = files.new_file(draft, timestamp, data_change=False, rows=rows, partition=partition)
    draft.actions.append({"add": new})


def _update_statistics(draft: LogDraft, timestamp: int) -> None:
    """An add for a logical file that is live already; it keeps everything but statistics and tags."""
    add = dict(draft.draw(st.sampled_from(draft.untouched())))
    add |= {"dataChange": False, "tags": {"refreshed": "true"}}
    draft.touched.add(add["path"])
    draft.actions.append({"add": add})


def _restorable(draft: LogDraft) -> list[Body]:
    vectors_on = "deletionVectors" in draft.features and draft.on("delta.enableDeletionVectors")
    return [
        add
        for path, add in draft.removed.items()
        if path not in draft.touched and (vectors_on or "deletionVector" not in add)
    ]


def _restore(draft: LogDraft, timestamp: int) -> None:
    """A file that was removed earlier is live again, with the deletion vector and row ids it had."""
    add = {**draft.draw(st.sampled_from(_restorable(draft))), "dataChange": True}
    draft.touched.add(add["path"])
    draft.actions.append({"add": add})


def _transaction(draft: LogDraft, timestamp: int) -> None:
    body: Body = {"appId": draft.draw(st.sampled_from(("app", "büro/1"))), "version": draft.draw(st.integers(0, 3))}
    if draft.draw(st.booleans()):
        body["lastUpdated"] = timestamp
    draft.actions.append({"txn": body})


def _domain(draft: LogDraft, timestamp: int) -> None:
    user = [body for name, body in draft.state.domains.items() if not name.startswith("delta.")]
    if bool(user) and draft.draw(st.booleans()):
        draft.actions.append({"domainMetadata": {**draft.draw(st.sampled_from(user)), "removed": True}})
        return
    name = draft.draw(st.sampled_from(("app.settings", "app.é")))
    body = revisions.domain(draft.revision, name, draft.draw(st.sampled_from(({}, {"a": "b"}))))
    if draft.revision.since(Revision.R3) and draft.draw(st.booleans()):
        body["configuration"] = ""  # any text is a configuration
    draft.actions.append({"domainMetadata": body})


def _change_metadata(draft: LogDraft, timestamp: int) -> None:
    draw = draft.draw
    metadata: Body = {**draft.metadata, "configuration": dict(draft.metadata["configuration"])}
    changes = ["describe", "property", "column"]
    toggled = [
        name
        for feature, name in draws.PROPERTIES.items()
        if feature in draft.features and feature not in (*revisions.ROW_ID_FEATURES, "inCommitTimestamp")
    ]
    match draw(st.sampled_from([*changes, "toggle"] if toggled else changes)):
        case "describe":
            metadata["description"] = draw(st.sampled_from(("", "a table")))
        case "property":
            metadata["configuration"]["owner"] = draw(st.sampled_from(("someone", "nobody")))
        case "toggle":
            name = draw(st.sampled_from(toggled))
            metadata["configuration"][name] = "false" if draft.on(name) else "true"
        case "column":
            _add_column(draft, metadata)
    draft.metadata = metadata
    draft.actions.append({"metaData": metadata})


def _add_column(draft: LogDraft, metadata: Body) -> None:
    name = f"added{draft.next_number()}"
    column = Column(name, "string", name)
    if draft.columns[0].id is not None:
        configuration = metadata["configuration"]
        highest = int(configuration["delta.columnMapping.maxColumnId"]) + 1
        column = replace(column, id=highest, physical=draws.physical_name(highest))
        configuration["delta.columnMapping.maxColumnId"] = str(highest)
    draft.columns = (*draft.columns, column)
    metadata["schemaString"] = draws.schema_of(draft.columns)


def _upgrades(draft: LogDraft) -> list[str]:
    """Features that a protocol without reader features can still get, and that ask nothing of files there already."""
    if draft.protocol["minReaderVersion"] == 3 or not draft.features <= draft.allowed:
        return []
    candidates = ("v2Checkpoint", "deletionVectors", "domainMetadata", "inCommitTimestamp", "vacuumProtocolCheck")
    known = revisions.known(draft.revision, candidates)
    return [name for name in candidates if name in known and name in draft.allowed - draft.features]


def _upgrade(draft: LogDraft, timestamp: int) -> None:
    """Legacy or writer-only features become listed ones on both sides, with new ones beside them."""
    new = draft.draw(st.lists(st.sampled_from(_upgrades(draft)), min_size=1, unique=True))
    writers = sorted(draft.features | set(new))
    readers = [name for name in writers if name in draws.READER_WRITER_FEATURES]
    draft.protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": readers,
        "writerFeatures": writers,
    }
    configuration = dict(draft.metadata["configuration"])
    if "deletionVectors" in new:
        configuration["delta.enableDeletionVectors"] = "true"
    if "inCommitTimestamp" in new:
        configuration["delta.enableInCommitTimestamps"] = "true"
        configuration["delta.inCommitTimestampEnablementVersion"] = str(draft.version)
        configuration["delta.inCommitTimestampEnablementTimestamp"] = str(_in_commit_timestamp(draft, timestamp))
    draft.metadata = {**draft.metadata, "configuration": configuration}
    draft.actions += [{"protocol": draft.protocol}, {"metaData": draft.metadata}]


def _in_commit_timestamp(draft: LogDraft, timestamp: int) -> int:
    return max(timestamp, draft.in_commit_timestamp_ms + 1)


def _finish(draft: LogDraft, timestamp: int) -> None:
    """Change files, the row-id mark, provenance and the order of lines."""
    draw = draft.draw
    changed = any("remove" in action and action["remove"]["dataChange"] for action in draft.actions)
    feed = "delta.enableChangeDataFeed"
    if changed and "changeDataFeed" in draft.features and draft.on(feed) and draw(st.booleans()):
        draft.actions.append({"cdc": files.change_file(draft)})
    _record_mark(draft)
    for action in draft.actions:
        if "remove" in action:
            path = action["remove"]["path"]
            draft.removed[path] = draft.state.live[path]
    for action in draft.actions:
        if "add" in action:
            draft.removed.pop(action["add"]["path"], None)
    if draw(st.booleans()):
        draft.actions = draw(st.permutations(draft.actions))
    timestamps = "inCommitTimestamp" in draft.features and draft.on("delta.enableInCommitTimestamps")
    if timestamps or not draft.actions or draw(st.booleans()):
        info = _commit_info(draft, timestamp)
        if timestamps:
            draft.in_commit_timestamp_ms = _in_commit_timestamp(draft, timestamp)
            info = {"inCommitTimestamp": draft.in_commit_timestamp_ms, **info}
        draft.actions.insert(0 if timestamps else draw(st.integers(0, len(draft.actions))), {"commitInfo": info})


_OPERATIONS: tuple[Operation, ...] = (
    _append,
    _remove,
    vectors.delete_rows,
    vectors.delete_rows,
    _rewrite,
    _transaction,
    _domain,
    _change_metadata,
    _upgrade,
    _update_statistics,
    _restore,
)


def _record_mark(draft: LogDraft) -> None:
    """The row-id high-water mark, where it rose; by r1 in every commit that adds a file."""
    adds = draft.revision is Revision.R1 and any("add" in action for action in draft.actions)
    rises = draft.high_water_mark > draft.state.row_id_mark
    if draft.tracks_rows and (rises or adds):
        keys = ("rowIdHighWaterMark", "highWaterMark") if draft.revision is Revision.R3 else ("rowIdHighWaterMark",)
        key = draft.draw(st.sampled_from(keys))
        draft.actions.append(revisions.row_id_mark(draft.revision, draft.high_water_mark, key))


def _commit_info(draft: LogDraft, timestamp: int) -> Body:
    info: dict[str, Any] = {"timestamp": timestamp, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
    if "catalogManaged" in draft.features or draft.draw(st.booleans()):
        info |= {"engineInfo": "drawn/1.0", "isBlindAppend": False, "txnId": files.identifier(draft.next_number())}
    if "rowTracking" in draft.features:
        info["tags"] = {"delta.rowTracking.preserved": "true"}
    return info


__all__ = ["LogDraft", "draw_commits", "vector_id"]
