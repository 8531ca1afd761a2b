"""Check how a table uses variant columns, as far as the log shows it."""

from __future__ import annotations

from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.data.variants import variant_uses

_DEFAULT = "VAR004"
"""The rule over defaults of variant columns; some of them need Spark."""


def check_variant_uses(facts: LogFacts, findings: Findings) -> None:
    """Check the variant columns of the schema, version by version."""
    rows = facts.state.variant_uses.rows
    findings.evaluate_rows(variant_uses, rows)
    for row in rows:
        if row["default"] is not None and row["default_is_null"] is None:
            findings.mark_rule_undecided(_DEFAULT, f"the default of {row['column']} is SQL, which needs Spark")
            break
    if facts.replay_blocked_reason is not None:
        findings.mark_undecided((variant_uses,), facts.replay_blocked_reason, facts.replay_blocked_file)
