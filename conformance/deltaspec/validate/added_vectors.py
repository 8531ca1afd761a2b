"""Looks at the deletion vectors that commits add while the table does not ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaspec.model.actions import CommitInfo, Wire
from deltaspec.views import table_state
from deltaspec.views.added_vectors import ENABLED, FEATURE, added_vector_rows, added_vectors
from deltaspec.views.in_force import in_force_since

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validate.base_run import Run


def look_at_added_vectors(run: Run, chain: pl.DataFrame) -> None:
    """Judge them, where every file action of the judged history is known.

    Args:
        run: after it has read the judged history.
        chain: its adds and removes.
    """
    if run.files_in_doubt or not run.findings.wants(added_vectors):
        return
    protocols, settings = (run.state.rows[each.name] for each in (table_state.protocols, table_state.configuration))
    enabled = in_force_since(protocols, [_known(row) for row in settings], FEATURE, ENABLED)
    rows = added_vector_rows(chain, enabled, run.operations, begins_with_checkpoint=run.plan.base is not None)
    run.findings.look(added_vectors, rows)


def _known(setting: dict[str, Any]) -> dict[str, Any]:
    """A property as it is judged here: under a value that it cannot have, which is a fault by itself, nothing is."""
    value = (setting["value"] or "false").lower()
    return {**setting, "value": "false" if value == "false" else "true"}


def operation_of(actions: list[tuple[int, Wire]]) -> str | None:
    """What a commit says it does; None where it does not say, or not in a text."""
    told = [action.operation for _, action in actions if isinstance(action, CommitInfo)]
    return next((each for each in told if isinstance(each, str)), None)
