"""Looks at the deletion vectors that commits add while the table does not ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaspec.model.actions import CommitInfo, WireStruct
from deltaspec.views.files.added_vectors import ENABLED, FEATURE, added_vectors, build_added_vector_rows
from deltaspec.views.table import table_actions
from deltaspec.views.table.enablement import build_enablement_history

if TYPE_CHECKING:
    import polars as pl

    from deltaspec.validation.base_run import Run


def check_added_vectors(run: Run, chain: pl.DataFrame) -> None:
    """Judge them, where every file action of the judged history is known.

    Args:
        run: after it has read the judged history.
        chain: its adds and removes.
    """
    if run.replay_blocked_reason or not run.findings.has_rules_for(added_vectors):
        return
    protocols, settings = (run.state.rows[each.name] for each in (table_actions.protocols, table_actions.configuration))
    enabled = build_enablement_history(protocols, [_known(row) for row in settings], FEATURE, ENABLED)
    rows = build_added_vector_rows(chain, enabled, run.operations, begins_with_checkpoint=run.plan.base is not None)
    run.findings.evaluate(added_vectors, rows)


def _known(setting: dict[str, Any]) -> dict[str, Any]:
    """A property as it is judged here: under a value that it cannot have, which is a fault by itself, nothing is."""
    value = (setting["value"] or "false").lower()
    return {**setting, "value": "false" if value == "false" else "true"}


def find_operation(actions: list[tuple[int, WireStruct]]) -> str | None:
    """What a commit says it does; None where it does not say, or not in a text."""
    told = [action.operation for _, action in actions if isinstance(action, CommitInfo)]
    return next((each for each in told if isinstance(each, str)), None)
