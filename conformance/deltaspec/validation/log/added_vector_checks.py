"""Check deletion vectors that commits add while the table does not enable them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaspec.protocol.actions import CommitInfo, WireStruct
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.added_vectors import FEATURE, added_vectors, build_added_vector_rows
from deltaspec.views.table import table_actions
from deltaspec.views.table.enablement import build_enablement_history

if TYPE_CHECKING:
    import polars as pl


def check_added_vectors(facts: LogFacts, findings: Findings, chain: pl.DataFrame) -> None:
    """Evaluate the rules, if replay is not blocked.

    Args:
        facts: of the log.
        findings: receives what is found.
        chain: adds and removes of a bucket.
    """
    if facts.replay_blocked_reason or not findings.has_rules_for(added_vectors):
        return
    protocols, settings = (
        facts.state.rows[each.name] for each in (table_actions.protocols, table_actions.configuration)
    )
    enabled = build_enablement_history(protocols, [_normalize(row) for row in settings], FEATURE, DELETION_VECTORS)
    rows = build_added_vector_rows(chain, enabled, facts.operations, begins_with_checkpoint=facts.plan.base is not None)
    findings.evaluate(added_vectors, rows)


def _normalize(setting: dict[str, Any]) -> dict[str, Any]:
    """Read every value except `false` as `true`: an invalid value is a finding of another rule."""
    value = (setting["value"] or "false").lower()
    return {**setting, "value": "false" if value == "false" else "true"}


def find_operation(actions: list[tuple[int, WireStruct]]) -> str | None:
    """Return the operation that a commit states; None if it states none, or not as a string."""
    stated = [action.operation for _, action in actions if isinstance(action, CommitInfo)]
    return next((each for each in stated if isinstance(each, str)), None)
