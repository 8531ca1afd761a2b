"""Checks of constraints and defaults in a commit. Source: CHECK Constraints; Default Columns."""

from collections.abc import Iterator
from typing import Any

from deltaspec.model.decisions import Refused
from deltaspec.model.features import default_columns
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    read_mapping_mode,
    read_schema,
    refuse_illegal_state,
)
from deltaspec.protocol.actions import CommitInfo, MetaData, Remove
from deltaspec.protocol.features import constraints
from deltaspec.protocol.log.operations import creates_or_restores_table
from deltaspec.protocol.revisions import Revision


def is_replaced_table(before: MetaData, after: MetaData, operation: Any) -> bool:
    """Return whether a commit replaces the table or restores an older state, so that its columns do not continue the
    old ones.

    Args:
        before: Metadata of the version before.
        after: Metadata of the commit.
        operation: Operation that the commit states.
    """
    return before.id != after.id or creates_or_restores_table(operation)


def check_constraints(table: TableVersion) -> Iterator[Refused]:
    """CHECK Constraints: require a name and an expression. The feature is checked with the other properties."""
    for name, expression in constraints.read_check_constraints(table.configuration).items():
        broken = constraints.find_constraint_fault(name, expression)
        if broken is not None:
            yield Refused(broken, f"constraint {name!r}: {expression!r}")


def check_defaults(proposal: ProposedCommit) -> Iterator[Refused]:
    """Default Columns: forbid a default on a column that the commit adds.

    A commit that removes files may replace the table including its columns, so it is not checked.
    """
    before, after, schema = proposal.schema_before, proposal.after.metadata, proposal.schema
    if (
        not proposal.revision.since(Revision.R3)
        or not proposal.actions_of_type(MetaData)
        or proposal.actions_of_type(Remove)
    ):
        return
    if before is None or schema is None or after is None or not proposal.supports("allowColumnDefaults"):
        return
    operation = next((info.operation for info in proposal.actions_of_type(CommitInfo)), None)
    if proposal.before.metadata is None or is_replaced_table(proposal.before.metadata, after, operation):
        return
    known = default_columns.collect_columns(before, read_mapping_mode(proposal.before))
    for snapshot in reversed(proposal.earlier):
        older = read_schema(snapshot.metadata)
        if older is None:
            break
        known = default_columns.merge_columns(
            default_columns.collect_columns(older, read_mapping_mode(snapshot)), known
        )
    for path in default_columns.find_illegal_defaults(known, schema, proposal.mapping):
        yield Refused("default-columns.not-with-column", ".".join(path))


CHECKS: tuple[CommitCheck, ...] = (
    refuse_illegal_state(check_constraints),
    check_defaults,
)
"""In the order in which `validation.check_commit` evaluates them."""
