"""A plugin for dbt-duckdb: external models become Delta tables, and a post-hook validates them.

`profiles.yml` loads it. A model whose table violates the protocol fails, and dbt skips the models that depend on it.
The hook runs after the commit, because dbt-duckdb stores the table then.

pip install dbt-duckdb numpy 'deltaspec[deltalake]'
"""

from __future__ import annotations

from typing import Any

import deltalake
from dbt.adapters.duckdb.plugins import BasePlugin

import deltaspec


class Plugin(BasePlugin):
    """Stores models as Delta tables, and adds the function `validate_delta(location, level)` to DuckDB."""

    def configure_connection(self, conn: Any) -> None:
        """Register the function."""
        conn.create_function("validate_delta", validate_delta, ["VARCHAR", "VARCHAR"], "VARCHAR", side_effects=True)

    def store(self, target_config: Any) -> None:
        """Write what dbt has written as Parquet as a new version of the Delta table `delta_location`."""
        import pyarrow.parquet as pq

        options = target_config.config
        rows = pq.read_table(target_config.location.path)
        deltalake.write_deltalake(options.get("delta_location"), rows, mode=options.get("delta_mode", "overwrite"))


def validate_delta(location: str, level: str) -> str:
    """Validate a table; return the verdict.

    Raises:
        ValueError: it does not conform. DuckDB reports the text as the error of the query.
    """
    report = deltaspec.validate(location, level=level)
    if report.verdict != "conforms":
        found = "; ".join(f"{each.rule} {each.message}" for each in report.findings[:3])
        raise ValueError(f"{location}: {report.verdict_line} {found}")
    return report.verdict
