"""What a commit may make of constraints and defaults. Source: CHECK Constraints; Default Columns."""

import re
from collections.abc import Iterator
from typing import Any

from deltaspec.model.actions import CommitInfo, MetaData, Remove
from deltaspec.model.features import constraints, default_columns
from deltaspec.model.features.protocol import Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit, read_mapping_mode
from deltaspec.model.revisions import Revision

_MAKES_OR_RESTORES = re.compile("create|replace|restore|rollback|clone|convert|import|replicat", re.IGNORECASE)
"""The text gives operations no names; engines agree on these words."""


def is_replaced_table(before: MetaData, after: MetaData, operation: Any) -> bool:
    """Whether a commit makes the table anew, or goes back to an older state: its columns are not those of before.

    Args:
        before: metadata that the version before has.
        after: metadata that the commit has.
        operation: what the commit says it does.
    """
    return before.id != after.id or creates_or_restores_table(operation)


def creates_or_restores_table(operation: Any) -> bool:
    """Whether a commit says that it makes a table, makes it anew, or brings back what it was."""
    return isinstance(operation, str) and _MAKES_OR_RESTORES.search(operation) is not None


def new_constraints(proposal: ProposedCommit) -> Iterator[Refused]:
    """CHECK Constraints: a name, and an expression. That the feature comes first is asked with other properties."""
    for action in proposal.of(MetaData):
        for name, expression in constraints.read_check_constraints(action.configuration).items():
            broken = constraints.constraint_fault(name, expression)
            if broken is not None:
                yield Refused(broken, f"constraint {name!r}: {expression!r}")


def defaults_of_new_columns(proposal: ProposedCommit) -> Iterator[Refused]:
    """Default Columns: a command that adds a column gives it no default.

    One that removes files may replace what the table holds, columns and all.
    """
    before, after, schema = proposal.schema_before, proposal.after.metadata, proposal.schema
    if not proposal.revision.since(Revision.R3) or not proposal.of(MetaData) or proposal.of(Remove):
        return
    if before is None or schema is None or after is None or not proposal.supports("allowColumnDefaults"):
        return
    operation = next((info.operation for info in proposal.of(CommitInfo)), None)
    if proposal.before.metadata is None or is_replaced_table(proposal.before.metadata, after, operation):
        return
    known = default_columns.collect_columns(before, read_mapping_mode(proposal.before))
    for path in default_columns.find_illegal_defaults(known, schema, proposal.mapping):
        yield Refused("default-columns.not-with-column", ".".join(path))


CHECKS: tuple[CommitCheck, ...] = (new_constraints, defaults_of_new_columns)
"""In the order in which `commit.judge` asks."""
