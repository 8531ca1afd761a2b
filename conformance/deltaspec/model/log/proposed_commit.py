"""A proposed commit beside the snapshot that it would follow. Source: Action Reconciliation; Catalog-managed Tables."""

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
    """Actions that want to become a version, and the states before and after them."""

    before: Snapshot
    version: int
    actions: Sequence[Action]
    """In the order of their lines."""
    revision: Revision = Revision.CURRENT

    @cached_property
    def after(self) -> Snapshot:
        """The snapshot of the version, should it come to be."""
        return replay_commit(self.before, self.version, self.actions, self.revision)

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """Its actions of one kind."""
        return [action for action in self.actions if isinstance(action, kind)]

    def supports(self, feature: str) -> bool:
        """Whether the table supports a feature after it."""
        return self.after.protocol is not None and supports(self.after.protocol, feature)

    @property
    def schema_before(self) -> Struct | None:
        """None where there is none, or none that can be read."""
        return read_schema(self.before.metadata)

    @property
    def schema(self) -> Struct | None:
        """The schema after it."""
        return read_schema(self.after.metadata)

    @property
    def mapping(self) -> str | None:
        """Mode of column mapping in force after it."""
        return read_mapping_mode(self.after)


CommitCheck: TypeAlias = Callable[[ProposedCommit], Iterator[Refused]]
"""Every reason to refuse a proposal that one statement of the text, or a few of one kind, gives."""


def read_schema(metadata: MetaData | None) -> Struct | None:
    """The schema of a metaData action; None where it cannot be read."""
    try:
        return None if metadata is None else parse_schema(metadata.schema_string)
    except SchemaError:
        return None


def read_mapping_mode(snapshot: Snapshot) -> str | None:
    """Mode of column mapping in force in a snapshot: `id`, `name` or None."""
    if snapshot.metadata is None or snapshot.protocol is None:
        return None
    return column_mapping.get_mapping_mode(
        snapshot.metadata.configuration, supported=supports(snapshot.protocol, "columnMapping")
    )
