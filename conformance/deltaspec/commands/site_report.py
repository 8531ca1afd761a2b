"""The report `html:DIR/`: a site about the tables of a run, which continues the site in the directory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from deltaspec.commands.contacts import Contacts
from deltaspec.commands.table_names import PLACEHOLDER, build_table_name, normalize_location
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import require_writable, translate_write_errors

if TYPE_CHECKING:
    from deltaspec.report.report_types import Report
    from deltaspec.report.tables_summary import TableResult


class SiteReport(msgspec.Struct, frozen=True):
    """The site that a run writes."""

    directory: str
    contacts: Contacts

    @classmethod
    def parse(cls, text: str, config: str | None) -> SiteReport | None:
        """Parse `html:DIR/`; None for another report, also for a page of each table at a path with `{table}`.

        Args:
            text: value of `--report`.
            config: configuration file with the owners of tables; None to look for one.

        Raises:
            InvalidUsage: the directory cannot be written, or is in a table.
        """
        from deltaspec.commands.configuration import load_contacts
        from deltaspec.validation.output_location import require_outside_table

        output_format, _, path = text.partition(":")
        if output_format != "html" or PLACEHOLDER in path or not (path.endswith("/") or os.path.isdir(path)):
            return None
        require_outside_table(os.path.join(path, "index.html"), None)
        directory = path.rstrip("/") or "/"
        with translate_write_errors(directory):
            os.makedirs(os.path.dirname(os.path.realpath(directory)), exist_ok=True)
        if os.path.lexists(directory) and not os.path.isdir(directory):
            raise InvalidUsage(f"{directory}: is not a directory")
        require_writable(os.path.join(directory, "index.html") if os.path.isdir(directory) else directory)
        return cls(directory, load_contacts(config))

    def write(self, results: Iterable[tuple[TableResult, Report | None]]) -> None:
        """Write the site.

        Raises:
            InvalidUsage: it cannot be written, or the history in the directory cannot be read.
        """
        from deltaspec.lake.site import write_site

        now = int(time.time() * 1000)
        named = ((now, normalize_location(result.table), result, report) for result, report in results)
        write_site(self.directory, named, build_table_name, self.contacts.get_owner)
