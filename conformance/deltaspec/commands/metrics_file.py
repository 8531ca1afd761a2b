"""The report `openmetrics:FILE`: metrics of all tables of a run."""

from __future__ import annotations

import time
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from deltaspec.commands.contacts import Contacts
from deltaspec.commands.table_names import normalize_location
from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.output_files import require_writable, write_file

if TYPE_CHECKING:
    from deltaspec.report.report_types import Report
    from deltaspec.report.tables_summary import TableResult


class MetricsFile(msgspec.Struct, frozen=True):
    """A file with metrics. It replaces the file of the run before."""

    path: str
    contacts: Contacts

    @classmethod
    def parse(cls, path: str, config: str | None) -> MetricsFile:
        """Check before the run that the metrics can be written.

        Args:
            path: of `--report openmetrics:PATH`.
            config: configuration file with the owners of tables; None to look for one.

        Raises:
            InvalidUsage: prometheus-client is not installed, or the file cannot be written or has no metrics.
        """
        from deltaspec.commands.configuration import load_contacts
        from deltaspec.lake.metrics import read_complete_checks
        from deltaspec.validation.output_location import require_outside_table

        if find_spec("prometheus_client") is None:
            raise InvalidUsage(f"openmetrics needs prometheus-client: {build_install_command('metrics')}")
        if path in ("", "-"):
            raise InvalidUsage("no file for the metrics is named; write --report openmetrics:FILE")
        require_outside_table(path, None)
        require_writable(path)
        read_complete_checks(path)
        return cls(path, load_contacts(config))

    def write(self, results: Iterable[tuple[TableResult, Report | None]]) -> None:
        """Write the metrics.

        Raises:
            InvalidUsage: the file cannot be written, or the earlier one has no metrics.
        """
        from deltaspec.lake.metrics import list_samples, read_complete_checks, render_metrics

        earlier = read_complete_checks(self.path)
        named = ((replace(result, table=normalize_location(result.table)), report) for result, report in results)
        write_file(self.path, render_metrics(list_samples(named, time.time(), earlier, self.contacts.get_owner)))
