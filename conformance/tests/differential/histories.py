"""A short history that shows most of what the differential compares."""

from typing import Any

from deltaspec_generators.histories import conditions
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.histories.plain_table import Column, PlainTable


def build_history(commit: dict[str, Any] | None = None) -> tuple[Step, ...]:
    """Return a history with changes, row ids, vectors and a refusal; `commit` goes with its second step."""
    names = ("delta.enableRowTracking", "delta.enableChangeDataFeed", "delta.enableDeletionVectors")
    properties = {"delta.feature.domainMetadata": "supported", **dict.fromkeys(names, "true")}
    table = PlainTable((Column("id", "long"), Column("must", "long", nullable=False)))
    tree = conditions.compare("id", "=", "long", 1)
    where = {"sql": conditions.render_sql(tree), "tree": tree}
    rows = [{"id": each, "must": each} for each in range(4)]
    return (
        Step({"kind": "create", "schema": table.render_schema(), "properties": properties}),
        Step({"kind": "append", "rows": rows}, commit or {}),
        Step({"kind": "update", "set": {"must": ["lit", "long", "7"]}, "where": where}),
        Step({"kind": "append", "rows": [{"id": 9, "must": None}]}),
        Step({"kind": "delete", "where": where}),
    )
