"""A proposed commit together with the snapshot before it. Source: Action Reconciliation; Catalog-managed Tables."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

from deltaspec.model.actions import Action, MetaData
from deltaspec.model.features.protocol import Refused, supports
from deltaspec.model.log.reconciliation import Snapshot, replay_commit
from deltaspec.model.revisions import Revision
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import Struct
from deltaspec.model.schema.schema_string import SchemaError, parse_schema

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class ProposedCommit:
    """Actions proposed as the next version, with the states before and after."""

    before: Snapshot
    version: int
    actions: Sequence[Action]
    """In the order of the lines."""
    revision: Revision = Revision.CURRENT

    @cached_property
    def after(self) -> Snapshot:
        """The snapshot of the version if the commit succeeds."""
        return replay_commit(self.before, self.version, self.actions, self.revision)

    def actions_of_type(self, kind: type[_Kind]) -> list[_Kind]:
        """Return the actions of one type."""
        return [action for action in self.actions if isinstance(action, kind)]

    def supports(self, feature: str) -> bool:
        """Return whether the table supports a feature after the commit."""
        return self.after.protocol is not None and supports(self.after.protocol, feature)

    @property
    def schema_before(self) -> Struct | None:
        """Schema before the commit; None if it is missing or invalid."""
        return read_schema(self.before.metadata)

    @property
    def schema(self) -> Struct | None:
        """Schema after the commit; None if it is missing or invalid."""
        return read_schema(self.after.metadata)

    @property
    def mapping(self) -> str | None:
        """Column mapping mode after the commit."""
        return read_mapping_mode(self.after)


CommitCheck: TypeAlias = Callable[[ProposedCommit], Iterator[Refused]]
"""Yield every reason why one requirement, or a few related ones, refuse a proposal."""


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
