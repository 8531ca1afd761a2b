"""Checks of constraints and defaults in a commit. Source: CHECK Constraints; Default Columns."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    refuse_illegal_state,
)
from deltaspec.protocol.actions import CommitInfo, MetaData, Remove
from deltaspec.protocol.features import constraints
from deltaspec.protocol.features.constraints import DEFAULT
from deltaspec.protocol.log.operations import creates_or_restores_table
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import column_id
from deltaspec.protocol.schema.data_types import Struct, iter_fields


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
    for path in _find_early_defaults(proposal, schema):
        yield Refused("default-columns.not-with-column", ".".join(path))


def _find_early_defaults(proposal: ProposedCommit, schema: Struct) -> Iterator[tuple[str, ...]]:
    """Yield the columns with a default that no earlier version has, because a restore may bring an old one back.

    A column is known by its id if the version directly before has ids too, otherwise by its name. Versions before one
    whose schema is unknown are left out.
    """
    versions = (TableVersion(each, proposal.revision) for each in reversed(proposal.history))
    known = [
        (version.mapping is not None, list(iter_fields(version.schema or Struct(()))))
        for version in takewhile(lambda version: version.schema is not None, versions)
    ]
    paths = {path for _, fields in known for path, _ in fields}
    ids = [{column_id(field) for _, field in fields if is_mapped} for is_mapped, fields in known]
    has_ids = proposal.mapping is not None and not ids[0] <= {None}
    for path, field in iter_fields(schema):
        number = column_id(field) if has_ids else None
        is_new = path not in paths if number is None else all(number not in each for each in ids)
        if is_new and field.metadata.get(DEFAULT) is not None:
            yield path


CHECKS: tuple[CommitCheck, ...] = (
    refuse_illegal_state(check_constraints),
    check_defaults,
)
"""In the order in which `validation.check_commit` evaluates them."""
