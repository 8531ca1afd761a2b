"""A table in memory that is made smaller step by step, and the test whether it still shows a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.report.report_types import Finding, Report
from deltaspec.report.text import size
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.embedded import EmbeddedLog
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.new_files import plan_run
from deltaspec.validation.options import Options
from deltaspec.validation.pipeline import check_table
from deltaspec.validation.report_builder import build_report
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, FileGone, StorageError, Store

MAX_LOG_BYTES = 256 << 20
"""Maximum size of the log files that are read into memory."""
MAX_DATA_BYTES = 256 << 20
"""Maximum size of the data files of a case."""
_LOG = f"{LOG_DIRECTORY}/"

Files = dict[str, bytes | Entry]
"""Path relative to the table -> content, or the entry of a data file that has not been read."""


class DraftStore(InMemoryStore):
    """The files of a draft as a table. Data files that have not been read come from the original table."""

    def __init__(self, source: Store, files: Mapping[str, bytes | Entry]) -> None:
        """Create a store.

        Args:
            source: the original table.
            files: the files of the draft.
        """
        read = {path: data for path, data in files.items() if isinstance(data, bytes)}
        entries = [_build_entry(path, data) for path, data in files.items()]
        log = [replace(each, name=each.name.removeprefix(_LOG)) for each in entries if each.name.startswith(_LOG)]
        super().__init__(source.uri, read, log=log, fallback=source)
        self._entries = [each for each in entries if not each.name.startswith(_LOG)]
        self._paths = set(files)

    def list_files(self) -> Iterator[Entry | StorageError]:
        yield from self._entries

    def _get_fallback(self, path: str) -> Store:
        if path not in self._paths:
            raise FileGone(f"{path}: does not exist")
        return super()._get_fallback(path)


def _build_entry(path: str, data: bytes | Entry) -> Entry:
    return Entry(path, len(data), 0) if isinstance(data, bytes) else data


def load_files(store: Store, level: str) -> Files:
    """Read the log of a table, and list its other files if the level needs them.

    Raises:
        InvalidUsage: the log is too large.
        StorageError: a file of the log or a directory cannot be read.
    """
    listed = store.list_log()
    if (total := sum(entry.size_bytes for entry in listed)) > MAX_LOG_BYTES:
        raise InvalidUsage(f"{store.uri}: the log has {size(total)}; extract reads at most {size(MAX_LOG_BYTES)}")
    files: Files = {f"{_LOG}{entry.name}": store.read(f"{_LOG}{entry.name}", MAX_LOG_BYTES) for entry in listed}
    if level != "log":
        for entry in store.list_files():
            if isinstance(entry, StorageError):
                raise entry
            files[entry.name] = entry
    return files


class FindingTest(msgspec.Struct):
    """Decides whether files still show a finding, with a limited number of validations."""

    store: Store
    options: Options
    finding: Finding
    rules: frozenset[str]
    """Rules with findings in the original table. A smaller table must not break others."""
    remaining: int
    """Number of validations that remain."""
    used: int = 0

    def holds(self, files: Files) -> bool:
        """Return whether the files show the finding, and break no other rule than the original table."""
        return self.find(files, same=True) is not None

    def find(self, files: Files, *, same: bool) -> Finding | None:
        """Return the finding in these files.

        Args:
            files: the table.
            same: whether the fingerprint must be the same; otherwise any finding of the rule counts.
        """
        if self.remaining <= 0:
            return None
        self.remaining -= 1
        self.used += 1
        try:
            report = validate_store(DraftStore(self.store, files), self.options)
        except DeltaspecError:
            return None
        if not {each.rule for each in report.findings} <= self.rules:
            return None
        found = (each for each in report.findings if each.rule == self.finding.rule)
        return next((each for each in found if not same or each.fingerprint == self.finding.fingerprint), None)


def validate_store(store: Store, options: Options) -> Report:
    """Validate the table of a store in this process."""
    plan, options = plan_run(store, load_pinned_listing(store), options)
    context = build_read_context(store, plan, options)
    return build_report(check_table(EmbeddedLog(context, options.create_findings(), LocalBuckets())), "embedded")
