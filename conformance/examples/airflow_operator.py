"""An operator for Apache Airflow 3 that validates a Delta table. Copy it into the folder of your DAGs.

with DAG("nightly", schedule="@daily"):
    load = ...
    load >> ValidateDeltaTable(task_id="check", table="s3://lake/{{ params.name }}", level="files")

A table that violates the protocol fails the task without retries, because the table stays as it is. An incomplete run
fails it with retries, because a storage that did not answer may answer later. The result is a small dictionary (XCom).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import deltaspec


class ValidateDeltaTable(BaseOperator):
    """Validate a Delta table."""

    template_fields: Sequence[str] = ("table", "storage_options")

    def __init__(
        self,
        *,
        table: str,
        level: str = "files",
        storage_options: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Create a task.

        Args:
            table: path or URI; can be a template.
            level: log, files, footers or rows.
            storage_options: settings such as AWS_REGION; can be templates, for example of connections.
            options: other options of `deltaspec.validate`, such as `ignore`.
            kwargs: arguments of every operator.
        """
        super().__init__(**kwargs)
        self.table = table
        self.level = level
        self.storage_options = storage_options
        self.options = options

    def execute(self, context: Any) -> dict[str, Any]:
        """Validate the table; fail the task if it does not conform."""
        report = deltaspec.validate(
            self.table, level=self.level, storage_options=self.storage_options, **(self.options or {})
        )
        for each in report.findings[:100]:
            place = " · ".join(each.location_parts)
            self.log.warning("%s %s %s: %s (%s)", each.severity, each.rule, each.name, each.message, place)
        self.log.info("%s: %s", self.table, report.verdict_line)
        if report.verdict == "violations":
            raise AirflowFailException(f"{self.table}: {report.verdict_line}")
        if report.verdict != "conforms":
            raise AirflowException(f"{self.table}: {report.verdict_line}")
        return {"table": self.table, "version": report.version, "verdict": report.verdict}
