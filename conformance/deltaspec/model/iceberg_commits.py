"""What Iceberg compatibility lets a commit do. Source: Iceberg Compatibility V1, Iceberg Compatibility V2."""

from collections.abc import Iterator

from deltaspec.model import iceberg_compat
from deltaspec.model.actions import Add, CommitInfo, MetaData, Protocol
from deltaspec.model.data_types import name_of
from deltaspec.model.file_changes import counts_rows
from deltaspec.model.operations import takes_over
from deltaspec.model.paths import path_key
from deltaspec.model.proposal import Check, Proposal, mapping_of, schema_of
from deltaspec.model.protocol import Refused, supported_features
from deltaspec.model.reconciliation import Snapshot
from deltaspec.model.revisions import Revision


def _enabled(snapshot: Snapshot, revision: Revision) -> tuple[str, ...]:
    if snapshot.protocol is None or snapshot.metadata is None:
        return ()
    features = supported_features(snapshot.protocol)
    return iceberg_compat.enabled(features, snapshot.metadata.configuration, revision)


def _requirement(compatibility: str, name: str) -> str:
    """Both chapters have entries of the same names."""
    return f"iceberg-{compatibility.lower()}.{name}"


def _changes_table(proposal: Proposal) -> bool:
    return any(isinstance(each, Protocol | MetaData) for each in proposal.actions)


def readers(proposal: Proposal) -> Iterator[Refused]:
    """The feature comes with a protocol that makes readers know column mapping."""
    for action in proposal.of(Protocol):
        for compatibility, feature in iceberg_compat.FEATURES.items():
            listed = feature in (action.writer_features or ()) and proposal.revision.since(Revision.R3)
            if listed and not iceberg_compat.readers_know_mapping(action):
                yield Refused(_requirement(compatibility, "readers"), feature)


def state(proposal: Proposal) -> Iterator[Refused]:
    """Column mapping is on, deletion vectors and the other compatibility are not, and types are those of Iceberg."""
    protocol, metadata, schema = proposal.after.protocol, proposal.after.metadata, proposal.schema
    if protocol is None or metadata is None or not _changes_table(proposal):
        return
    enabled = _enabled(proposal.after, proposal.revision)
    for each in enabled:
        if proposal.mapping is None:
            yield Refused(_requirement(each, "mapped"), "columns are not mapped")
        if iceberg_compat.vectors_hinder(each, supported_features(protocol), metadata.configuration):
            yield Refused(_requirement(each, "no-deletion-vectors"), "deletionVectors")
        if each == "V2" and len(enabled) > 1:
            yield Refused("iceberg-v2.not-with-first", "V1 is enabled too")
        if schema is None:
            continue
        for path, kind in iceberg_compat.forbidden_columns(schema, each):
            yield Refused(_requirement(each, "types"), f"{'.'.join(path)}: {name_of(kind)}")
        if proposal.supports("typeWidening") and proposal.revision is Revision.CURRENT:  # [Changed in current]
            for path, old, new in iceberg_compat.forbidden_type_changes(schema):
                yield Refused(_requirement(each, "type-changes"), f"{'.'.join(path)}: {name_of(old)}, {name_of(new)}")


def partitioning(proposal: Proposal) -> Iterator[Refused]:
    """A table that is replaced keeps the names of its partition columns; one that is restored had them before."""
    before, after = proposal.before, proposal.after
    if any(takes_over(each.operation) for each in proposal.of(CommitInfo) if isinstance(each.operation, str)):
        return
    enabled = _enabled(after, proposal.revision)
    if not proposal.of(MetaData) or not enabled or not _enabled(before, proposal.revision):
        return
    sides = []
    for snapshot in (before, after):
        schema = schema_of(snapshot.metadata)
        if schema is None or snapshot.metadata is None:
            return
        sides.append((schema, snapshot.metadata.partition_columns, mapping_of(snapshot)))
    for name in iceberg_compat.renamed_partitioning(sides[0], sides[1]):
        yield Refused(_requirement(enabled[0], "partitions-keep-names"), name)


def nested_ids(proposal: Proposal) -> Iterator[Refused]:
    """Under V2 each element, key and value has an id of its own, where the text looks for it."""
    schema, mapping = proposal.schema, proposal.mapping
    if schema is None or mapping is None or "V2" not in _enabled(proposal.after, proposal.revision):
        return
    if not _changes_table(proposal):
        return
    is_current = proposal.revision is Revision.CURRENT
    # [Changed in current] key and names
    key = "iceberg-v2.nested-ids-key" if is_current else "iceberg-v2.nested-ids-key-by-name"
    for found in iceberg_compat.nested_ids(schema, mapping, proposal.revision):
        for requirement, names in (
            (key, found.under_another_key),
            ("iceberg-v2.nested-ids-place", found.elsewhere),
            ("iceberg-v2.nested-ids-path", found.misnamed),
            ("iceberg-v2.nested-ids", (*found.missing, *found.too_wide, *found.shared)),
        ):
            if names:
                yield Refused(requirement, ", ".join(names))


def adds(proposal: Proposal) -> Iterator[Refused]:
    """Files that are added say how many records they have; under V2 those that are new."""
    known = {path for path, _ in (*proposal.before.files, *proposal.before.tombstones)}
    for each in _enabled(proposal.after, proposal.revision):
        for add in proposal.of(Add):
            if not counts_rows(add) and (each == "V1" or path_key(add.path) not in known):
                yield Refused(_requirement(each, "numbers-of-records"), add.path)


CHECKS: tuple[Check, ...] = (readers, state, partitioning, nested_ids, adds)
"""In the order in which `commit.judge` asks."""
