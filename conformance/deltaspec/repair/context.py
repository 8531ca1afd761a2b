"""What the kinds of repair read, and what they return."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features.table_properties import is_append_only
from deltaspec.protocol.files.statistics import count_records
from deltaspec.repair.changes import Change
from deltaspec.repair.plan_format import NotRepaired, PartitionRows
from deltaspec.repair.table_log import LiveFile, TableLog
from deltaspec.report.report_types import Finding, Report
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import Entry, Store

REMOVE_FILE, DROP_VECTOR, SET_ASIDE = "remove-file", "drop-vector", "set-aside"
_VALUES = {"vector": (REMOVE_FILE, DROP_VECTOR), "history": (SET_ASIDE,), "later": (SET_ASIDE,)}
CHOICES = (
    *("vector=remove-file[:PATH]", "vector=drop-vector[:PATH]"),
    *("history=set-aside", "later=set-aside", "version=N"),
)
"""Forms of `--choose`, for messages."""


class Choices(msgspec.Struct, frozen=True):
    """What the user has chosen."""

    vectors: Mapping[str | None, str] = {}
    """What to do with a damaged deletion vector, by path of the data file; None for all others."""
    sets_history_aside: bool = False
    sets_later_aside: bool = False
    """Set checksums and compactions aside whose versions are later than the newest commit."""
    version: int | None = None
    """The version to return to; None to keep the latest."""


NO_CHOICES = Choices()


def parse_choices(texts: Iterable[str]) -> Choices:
    """Parse the values of `--choose`.

    Raises:
        InvalidUsage: one of them is none of `CHOICES`.
    """
    vectors: dict[str | None, str] = {}
    history, later, version = False, False, None
    for text in texts:
        name, _, value = text.partition("=")
        value, colon, path = value.partition(":")
        if name == "version" and value.isdecimal() and not colon:
            version = int(value)
        elif value not in _VALUES.get(name, ()) or (colon and (name != "vector" or not path)):
            raise InvalidUsage(f"invalid choice {text!r}; expected one of {', '.join(CHOICES)}")
        elif name == "history":
            history = True
        elif name == "later":
            later = True
        else:
            vectors[path or None] = value
    return Choices(vectors, history, later, version)


class Context(msgspec.Struct, frozen=True, dict=True):
    """A table to be repaired, and what was found in it."""

    store: Store
    entries: Mapping[str, Entry]
    """The listing of the log, by name."""
    log: TableLog
    report: Report
    distrusted: frozenset[str]
    """Derived files of the log that findings concern."""
    choices: Choices
    created_ms: int
    access: DataAccess

    def select(self, rules: Collection[str]) -> list[Finding]:
        """Return the findings of some rules."""
        return [each for each in self.report.findings if each.rule in rules]

    def group_by_file(self, rules: Collection[str]) -> dict[str, list[Finding]]:
        """Return the findings of some rules that concern data files, by key of the file."""
        found: dict[str, list[Finding]] = {}
        for each in self.select(rules):
            if each.path is not None:
                found.setdefault(self.log.get_key(each.path), []).append(each)
        return found

    @property
    def is_append_only(self) -> bool:
        """Whether no row of the table may be removed."""
        return is_append_only(self.log.protocol, self.log.metadata)


class Proposal(msgspec.Struct):
    """What a kind of repair proposes."""

    changes: list[Change] = []
    not_repaired: list[NotRepaired] = []


def list_rules(findings: Iterable[Finding]) -> list[str]:
    """Return the codes of the rules of some findings."""
    return sorted({each.rule for each in findings})


def refuse_findings(
    findings: Iterable[Finding], reason: str, choices: Iterable[str] = (), found_elsewhere: Iterable[str] = ()
) -> list[NotRepaired]:
    """Return the entries of findings that are not repaired for the same reason."""
    return [
        NotRepaired(
            rule=each.rule,
            location=each.location,
            reason=reason,
            choices=list(choices),
            found_elsewhere=list(found_elsewhere),
        )
        for each in findings
    ]


def count_live_rows(add: Add) -> int | None:
    """Return the number of rows of a live file without deleted ones; None if the log does not say it."""
    records = count_records(add)
    if records is None:
        return None
    return records - (0 if add.deletion_vector is None else add.deletion_vector.cardinality)


def count_by_partition(files: Iterable[tuple[LiveFile, int | None]]) -> list[PartitionRows]:
    """Return how many files and rows each partition has, of files with their numbers of rows."""
    found: dict[tuple[tuple[str, str | None], ...], list[int | None]] = {}
    for file, rows in files:
        found.setdefault(tuple(sorted(file.add.partition_values.items())), []).append(rows)
    return [
        PartitionRows(
            partition_values=dict(values),
            files=len(counts),
            rows=None if None in counts else sum(each or 0 for each in counts),
        )
        for values, counts in sorted(found.items(), key=repr)
    ]
