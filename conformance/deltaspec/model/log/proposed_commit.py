"""A proposed commit together with the snapshot before it. Source: Action Reconciliation; Catalog-managed Tables.

Requirements are of three kinds, and a check covers one kind:

- a `CommitCheck` covers the form of single actions, and what a commit may change;
- a `StateCheck` covers what the protocol, metadata and domains of one version demand of each other;
- a `FileCheck` covers what one version demands of a live file.

A commit is refused for a state that it makes illegal, whichever side of the relation it changed. It is not refused for
a state that was already illegal before: the version that caused it was.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, wraps
from typing import TypeAlias, TypeVar

import msgspec

from deltaspec.model.decisions import Refused
from deltaspec.model.log.reconciliation import FileKey, Snapshot, replay_commit
from deltaspec.protocol.actions import Action, Add, CommitInfo, MetaData, Protocol
from deltaspec.protocol.features.supported_features import get_supported_features, has_known_features, supports
from deltaspec.protocol.features.table_features import get_current_name, supports_feature_or_preview
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import SchemaError, parse_schema

_Kind = TypeVar("_Kind")


class TableVersion(msgspec.Struct, frozen=True, dict=True):
    """A snapshot read under a revision of the protocol."""

    snapshot: Snapshot
    revision: Revision

    @property
    def protocol(self) -> Protocol | None:
        return self.snapshot.protocol

    @property
    def metadata(self) -> MetaData | None:
        return self.snapshot.metadata

    @cached_property
    def configuration(self) -> dict[str, str]:
        """Table properties; empty without metadata."""
        return self.metadata.configuration if self.metadata else {}

    @cached_property
    def schema(self) -> Struct | None:
        """Schema of the table; None if it is missing or invalid."""
        return read_schema(self.metadata)

    @cached_property
    def mapping(self) -> str | None:
        """Column mapping mode: `id`, `name` or None."""
        return read_mapping_mode(self.snapshot)

    @cached_property
    def features(self) -> frozenset[str] | None:
        """Supported features by their newest spelling; None if the protocol is missing or has no required list."""
        if self.protocol is None or not has_known_features(self.protocol):
            return None
        return frozenset(get_current_name(name, self.revision) for name in get_supported_features(self.protocol))

    def supports(self, feature: str) -> bool:
        """Return whether the table supports a feature."""
        return feature in (self.features or ())

    def supports_feature_or_preview(self, feature: str) -> bool | None:
        """Return whether the table supports a feature or a preview of it; None if the features are unknown."""
        return None if self.features is None else supports_feature_or_preview(self.features, feature)


class ProposedCommit(msgspec.Struct, frozen=True, dict=True):
    """Actions proposed as the next version, with the states before and after."""

    before: Snapshot
    version: int
    actions: Sequence[Action]
    """In the order of the lines."""
    revision: Revision = Revision.CURRENT
    earlier: Sequence[Snapshot] = ()
    """Snapshots before `before`, ascending, as far as they are known."""

    @cached_property
    def after(self) -> Snapshot:
        """The snapshot of the version if the commit succeeds."""
        return replay_commit(self.before, self.version, self.actions, self.revision)

    @cached_property
    def version_before(self) -> TableVersion:
        return TableVersion(self.before, self.revision)

    @cached_property
    def version_after(self) -> TableVersion:
        return TableVersion(self.after, self.revision)

    @property
    def history(self) -> Sequence[Snapshot]:
        """The known snapshots up to the one before the commit, ascending."""
        return (*self.earlier, self.before)

    @cached_property
    def operation(self) -> str | None:
        """Operation that the commit states; None if it states none, or not as a string."""
        stated = [info.operation for info in self.actions_of_type(CommitInfo)]
        return next((each for each in stated if isinstance(each, str)), None)

    @property
    def knows_complete_history(self) -> bool:
        """Whether every version before the commit is known."""
        return self.history[0].version <= 0

    @cached_property
    def last_added_files(self) -> dict[FileKey, Add]:
        """Last known add of every logical file before the commit, live or not."""
        return {key: add for snapshot in self.history for key, add in snapshot.files.items()}

    def snapshots_with(self, add: Add) -> Iterator[Snapshot]:
        """Yield the known snapshots in which the path of a file is live, ascending."""
        key = path_key(add.path)
        return (snapshot for snapshot in self.history if any(path == key for path, _ in snapshot.files))

    @property
    def remaining_files(self) -> list[Add]:
        """Live files of the version before that stay live and are not added again."""
        return [add for key, add in self.before.files.items() if self.after.files.get(key) is add]

    def actions_of_type(self, kind: type[_Kind]) -> list[_Kind]:
        """Return the actions of one type."""
        return [action for action in self.actions if isinstance(action, kind)]

    def supports(self, feature: str) -> bool:
        """Return whether the table supports a feature after the commit."""
        return self.after.protocol is not None and supports(self.after.protocol, feature)

    @property
    def schema_before(self) -> Struct | None:
        """Schema before the commit; None if it is missing or invalid."""
        return self.version_before.schema

    @property
    def schema(self) -> Struct | None:
        """Schema after the commit; None if it is missing or invalid."""
        return self.version_after.schema

    @property
    def mapping(self) -> str | None:
        """Column mapping mode after the commit."""
        return self.version_after.mapping


CommitCheck: TypeAlias = Callable[[ProposedCommit], Iterator[Refused]]
"""Yield every reason why one requirement, or a few related ones, refuse a proposal."""
StateCheck: TypeAlias = Callable[[TableVersion], Iterator[Refused]]
"""Yield everything that one requirement, or a few related ones, forbid in a version; a reason names one place."""
FileCheck: TypeAlias = Callable[[TableVersion, Add], Iterator[Refused]]
"""Yield everything that one requirement, or a few related ones, forbid in a live file of a version."""


def refuse_illegal_state(check: StateCheck) -> CommitCheck:
    """Return the check that refuses a commit for what is illegal after it and was legal before."""

    @wraps(check)
    def check_commit(proposal: ProposedCommit) -> Iterator[Refused]:
        known = set(check(proposal.version_before))
        yield from (each for each in check(proposal.version_after) if each not in known)

    return check_commit


def refuse_illegal_files(check: FileCheck) -> CommitCheck:
    """Return the check that refuses a commit for illegal files: those it adds, and those that it makes illegal."""

    @wraps(check)
    def check_commit(proposal: ProposedCommit) -> Iterator[Refused]:
        for add in proposal.actions_of_type(Add):
            yield from check(proposal.version_after, add)
        for add in proposal.remaining_files:
            known = set(check(proposal.version_before, add))
            yield from (each for each in check(proposal.version_after, add) if each not in known)

    return check_commit


def read_schema(metadata: MetaData | None) -> Struct | None:
    """Return the schema of a metaData action; None if it is missing or invalid."""
    try:
        return None if metadata is None else parse_schema(metadata.schema_string)
    except SchemaError:
        return None


def read_mapping_mode(snapshot: Snapshot) -> str | None:
    """Return the column mapping mode of a snapshot: `id`, `name` or None."""
    if snapshot.metadata is None or snapshot.protocol is None:
        return None
    return column_mapping.get_mapping_mode(
        snapshot.metadata.configuration, supported=supports(snapshot.protocol, "columnMapping")
    )
