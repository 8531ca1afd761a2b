"""What commits do with the table itself: transactions, domains, its description, properties, columns and protocol."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators import outlines, revisions
from deltaspec_generators.log_draft import CHANGES, LogDraft, applicable, change, operation
from deltaspec_generators.log_state import Body
from deltaspec_generators.table_columns import Column, physical_name

_ON_THEIR_OWN = (*revisions.ROW_ID_FEATURES, "inCommitTimestamp")
"""Features whose properties ask for more than being set."""


@operation(lambda draft: "txn" not in draft.kinds)
def transaction(draft: LogDraft, timestamp: int) -> None:
    """An application says how far it has come."""
    body: Body = {"appId": draft.draw(st.sampled_from(("app", "büro/1"))), "version": draft.draw(st.integers(0, 3))}
    if draft.draw(st.booleans()):
        body["lastUpdated"] = timestamp
    draft.actions.append({"txn": body})


@operation(lambda draft: "domainMetadata" not in draft.kinds and "domainMetadata" in draft.features)
def domain(draft: LogDraft, timestamp: int) -> None:
    """A domain of a user's is set, or removed."""
    user = [body for name, body in draft.state.domains.items() if not name.startswith("delta.")]
    if bool(user) and draft.draw(st.booleans()):
        draft.actions.append({"domainMetadata": {**draft.draw(st.sampled_from(user)), "removed": True}})
        return
    name = draft.draw(st.sampled_from(("app.settings", "app.é")))
    body = revisions.domain(draft.revision, name, draft.draw(st.sampled_from(({}, {"a": "b"}))))
    if draft.revision.since(Revision.R3) and draft.draw(st.booleans()):
        body["configuration"] = ""  # any text is a configuration
    draft.actions.append({"domainMetadata": body})


def _settled(draft: LogDraft) -> bool:
    """Whether protocol and metadata may still change: what the files of a commit may do depends on them."""
    return draft.version > 0 and not draft.kinds & {"metaData", "protocol", "add", "remove"}


@operation(_settled, weight=5)
def change_metadata(draft: LogDraft, timestamp: int) -> None:
    """One change of the metadata."""
    metadata: Body = {**draft.metadata, "configuration": dict(draft.metadata["configuration"])}
    chosen = draft.draw(st.sampled_from(CHANGES).filter(lambda each: applicable(each, draft)))
    chosen(draft, metadata, timestamp)
    draft.metadata = metadata
    draft.actions.append({"metaData": metadata})


@change(lambda draft: True)
def describe(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """Another description."""
    metadata["description"] = draft.draw(st.sampled_from(("", "a table")))


@change(lambda draft: True)
def set_property(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """A property of the user's."""
    metadata["configuration"]["owner"] = draft.draw(st.sampled_from(("someone", "nobody")))


def _toggled(draft: LogDraft) -> list[str]:
    """Boolean properties that may change at any time."""
    found = [name for feature, name in outlines.PROPERTIES.items() if _free(draft, feature)]
    return found + [f"delta.enableIcebergCompatV{draft.iceberg}"] * bool(draft.iceberg)


def _free(draft: LogDraft, feature: str) -> bool:
    barred = feature == "deletionVectors" and draft.iceberg
    return draft.has(feature) and feature not in _ON_THEIR_OWN and not barred


@change(lambda draft: bool(_toggled(draft)))
def toggle(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """A feature is used from now on, or no longer; Iceberg compatibility can only be left."""
    name = draft.draw(st.sampled_from(_toggled(draft)))
    metadata["configuration"][name] = "false" if draft.on(name) else "true"


@change(lambda draft: True)
def add_column(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """A column more, which files of before lack."""
    name = f"added{draft.next_number()}"
    column = Column(name, "string", name, added=True)
    if draft.columns[0].id is not None:
        configuration = metadata["configuration"]
        highest = int(configuration["delta.columnMapping.maxColumnId"]) + 1
        column = replace(column, id=highest, physical=physical_name(highest))
        configuration["delta.columnMapping.maxColumnId"] = str(highest)
    draft.set_columns((*draft.columns, column), metadata)


_UPGRADES = (
    "v2Checkpoint",
    "deletionVectors",
    "domainMetadata",
    "inCommitTimestamp",
    "vacuumProtocolCheck",
    "rowTracking",
    "rowIds",
    "checkConstraints",
    "allowColumnDefaults",
    "typeWidening",
    "changeDataFeed",
    "checkpointProtection",
    "materializePartitionColumns",
)
"""Features that ask nothing of the files and columns that are there already."""


def _upgrades(draft: LogDraft) -> list[str]:
    """Features that the table can still get; a protocol of before table features with all that it implies."""
    if not draft.features <= draft.allowed:
        return []
    known = revisions.drawn(draft.revision, _UPGRADES)
    new = [name for name in _UPGRADES if name in known and name in draft.allowed - draft.features]
    barred = {"deletionVectors"} if draft.iceberg or "icebergCompatV1" in draft.features else set()
    return [name for name in new if name not in barred]


@operation(lambda draft: _settled(draft) and not draft.actions and bool(_upgrades(draft)))
def upgrade(draft: LogDraft, timestamp: int) -> None:
    """Legacy or writer-only features become listed ones on both sides, with new ones beside them."""
    new = draft.draw(st.lists(st.sampled_from(_upgrades(draft)), min_size=1, max_size=3, unique=True))
    new += [outlines.NEEDED[name] for name in new if outlines.NEEDED.get(name, name) not in (*new, *draft.features)]
    writers = sorted(draft.features | set(new))
    readers = [name for name in writers if name in outlines.READERS]
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
        configuration |= enablement(draft, timestamp)
    draft.metadata = {**draft.metadata, "configuration": configuration}
    draft.actions += [{"protocol": draft.protocol}, {"metaData": draft.metadata}]


def enablement(draft: LogDraft, timestamp: int) -> dict[str, str]:
    """Properties that enable in-commit timestamps with the commit at hand, and record that it did."""
    return {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": str(draft.version),
        "delta.inCommitTimestampEnablementTimestamp": str(draft.next_in_commit_timestamp(timestamp)),
    }
