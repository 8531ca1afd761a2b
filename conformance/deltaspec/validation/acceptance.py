"""Decide which findings the user accepted before the run: by entries of the configuration, or by a baseline.

Every finding is decided, not only those that a report shows. What was accepted is recorded in `AcceptedFindings`, and
several of them can be merged, because a baseline accepts a number of findings with one fingerprint and their total is
known only at the end. If there are more than the baseline accepts, the last in report order are new, because later
versions come last.

Checkpoints and other derived files repeat the actions of commits, and a remove repeats what is wrong with the path of
an add. Therefore the findings of one fingerprint are compared with the baseline in separate groups: commits, each
derived file, adds, removes, and versions that add a file again with a deletion vector. Otherwise a known fault would
count as new as soon as a checkpoint is written, the file is removed, or rows are deleted from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cached_property, lru_cache

import msgspec
import polars as pl
from msgspec.structs import replace

from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.file_names import (
    ClassicCheckpoint,
    CompactionName,
    MultipartCheckpoint,
    SidecarName,
    StagedCommit,
    UuidCheckpoint,
    parse_log_file_name,
)
from deltaspec.report.report_types import AcceptedFinding, AcceptEntry, Finding
from deltaspec.rules.registry import Rule
from deltaspec.validation.baseline import MAX_FINDINGS, KnownFinding, build_table_key, read_baseline
from deltaspec.validation.fingerprint import compute_fingerprint, compute_fingerprints, describe_subject
from deltaspec.validation.kept_findings import KeptFindings, build_findings
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Store

_KEPT_OF_FINGERPRINT = 10
"""Findings with one fingerprint that are kept, so that new ones among them can be shown."""
_DERIVED = (ClassicCheckpoint, MultipartCheckpoint, UuidCheckpoint, CompactionName, SidecarName, StagedCommit)
_LOSSES = frozenset(
    (
        *("DAT001", "DAT004", "FIL003", "PQT001", "PQT010", "PQT013", "PQT019", "PQT034", "PQT037", "RID037"),
        *("DVX009", "DVX010", "DVX011", "DVX012", "DVX013", "DVX014", "DVX022", "DVX023"),
    )
)
"""Rules that find a data file, a column of it or a deletion vector that is lost: missing, outside, or not readable."""
INVALID_EXPRESSIONS = {"CON004": ("property", "CHECK constraint"), "VAR003": ("column", "the expression of")}
"""Rules that find an expression that nobody can evaluate: column with its name, and its title in ledger entries."""
UNDECODABLE_LINES = frozenset(
    (
        "LIN001",
        "LIN002",
        "LIN006",
        "LIN010",
        "LIN011",
        "LIN012",
        "LIN013",
        "LIN014",
        "LIN015",
        "LIN016",
        "LIN018",
        "LIN019",
        "LIN020",
    )
)
"""Rules that find a line of a log file that cannot be decoded."""
_LOG_LOSSES = frozenset(("CKP001", "CKP020", "CKP022", "CKP024")) | UNDECODABLE_LINES
"""Rules that find a checkpoint, a sidecar or a line that is lost. The file is in the column `file`."""
_MAX_LOST_FILES = 100_000
"""Number of lost files whose unchecked rules are accepted with their findings."""
Source = tuple[str, int | str]
"""Rule, and what may accept its findings: the number of an entry; or a fingerprint, a space, and the group that is
compared separately (kind of action, derived file, version of a deletion vector)."""


class Acceptance(msgspec.Struct, frozen=True, dict=True):
    """What the user accepts in one table."""

    entries: tuple[AcceptEntry, ...]
    """Entries of the configuration; those that are expired accept nothing."""
    known: Mapping[str, KnownFinding]
    """Findings of the baseline, by fingerprint."""
    table_root: str | None
    """Decoded path or URI of the table."""
    records: bool = False
    """Whether every finding that no entry accepts is counted by its fingerprint, to create a baseline."""

    def list_entries(self, code: str) -> list[tuple[int, AcceptEntry]]:
        """Return the entries that apply to a rule, with their numbers."""
        return [
            (number, entry)
            for number, entry in enumerate(self.entries)
            if entry.status != "expired" and code.startswith(entry.rule)
        ]

    def match_entry(self, entry: AcceptEntry, rows: pl.DataFrame) -> pl.Series:
        """Return for each row whether its subject matches the path of an entry."""
        if entry.path is None:
            return pl.Series([True]).new_from_index(0, len(rows))
        columns = [name for name in ("path", "file") if name in rows.columns]
        if not columns:
            return pl.Series([False]).new_from_index(0, len(rows))
        subjects = rows.select(pl.coalesce(columns)).to_series()
        pattern = _compile_glob(entry.path)
        matching = [
            each
            for each in subjects.drop_nulls().unique()
            if pattern.match(each) or pattern.match(path_key(each, self.table_root))
        ]
        return subjects.is_in(pl.Series(matching, dtype=pl.String).implode()).fill_null(False)

    def counts_fingerprints(self, code: str) -> bool:
        """Return whether findings of a rule are counted by their fingerprints."""
        return self.records or code in self._known_rules

    def match_baseline(self, fingerprints: pl.Series) -> pl.Series:
        """Return which fingerprints are counted: the ones in the baseline, or all if the run records a baseline."""
        if self.records:
            return pl.Series([True]).new_from_index(0, len(fingerprints))
        return fingerprints.is_in(self._fingerprints.implode())

    @cached_property
    def _fingerprints(self) -> pl.Series:
        return pl.Series(list(self.known), dtype=pl.String)

    @cached_property
    def _known_rules(self) -> frozenset[str]:
        return frozenset(each.rule for each in self.known.values())


class AcceptedFindings:
    """Findings that entries accept or that a baseline may accept. Recorders of one run can be merged."""

    def __init__(self, samples: int, revision: str) -> None:
        self._samples = samples
        self._revision = revision
        self._counts: Counter[Source] = Counter()
        self._by_entry: KeptFindings[Source] = KeptFindings(samples)
        self._most = min(samples, _KEPT_OF_FINGERPRINT)
        self._by_fingerprint: KeptFindings[Source] = KeptFindings(self._most, last=True)
        self._lost: dict[Source, set[str]] = {}
        """Files of accepted findings of `_LOSSES` and `_LOG_LOSSES`, as their paths are written."""

    @property
    def rules(self) -> set[str]:
        """Codes of rules with findings here."""
        return {code for code, _ in self._counts}

    def select_others(self, acceptance: Acceptance, rule: Rule, rows: pl.DataFrame) -> pl.DataFrame:
        """Record the findings that are accepted, or may be, and return the rows of the others.

        Args:
            acceptance: what the user accepts.
            rule: a rule.
            rows: rows of its view for which it is true.
        """
        for number, entry in acceptance.list_entries(rule.code):
            matches = acceptance.match_entry(entry, rows)
            accepted = rows.filter(matches)
            if len(accepted):
                self._counts[rule.code, number] += len(accepted)
                kept = build_findings(rule, self._revision, accepted, self._samples)
                self._by_entry.add((rule.code, number), kept)
                self._note_lost(rule, accepted, [number] * len(accepted))
                rows = rows.filter(~matches)
        if rows.is_empty() or not acceptance.counts_fingerprints(rule.code):
            return rows
        fingerprints = compute_fingerprints(rule, rows, acceptance.table_root)
        is_counted = acceptance.match_baseline(fingerprints)
        counted = rows.filter(is_counted)
        self._record(rule, counted, fingerprints.filter(is_counted) + " " + _find_groups(counted))
        return rows.filter(~is_counted)

    def merge(self, other: AcceptedFindings) -> None:
        """Add the findings of another recorder of the same run."""
        self._counts.update(other._counts)
        self._by_entry.merge(other._by_entry)
        for source, files in other._lost.items():
            self._lost.setdefault(source, set()).update(files)
        if len(self._by_fingerprint) <= MAX_FINDINGS:  # else a baseline is being recorded, and is too large
            self._by_fingerprint.merge(other._by_fingerprint)

    def drop_rules(self, codes: Collection[str]) -> None:
        """Drop the findings of some rules."""
        dropped = [source for source in self._counts if source[0] in codes]
        for source in dropped:
            del self._counts[source]
        self._by_entry.drop(dropped)
        for source in dropped:
            self._lost.pop(source, None)
        self._by_fingerprint.drop(dropped)

    def count_new(self, acceptance: Acceptance) -> Counter[str]:
        """Return the number of findings by rule that exceed what the baseline allows."""
        found = Counter[str]()
        for (code, source), number in self._counts.items():
            if (more := _count_excess(acceptance, source, number)) > 0:
                found[code] += more
        return found

    def count_accepted(self, acceptance: Acceptance) -> Counter[str]:
        """Return the number of accepted findings by rule."""
        found = Counter[str]()
        for (code, _), number in self._counts.items():
            found[code] += number
        found.subtract(self.count_new(acceptance))
        return +found

    def count_by_entry(self, acceptance: Acceptance) -> list[int]:
        """Return the number of findings that each entry accepted."""
        found = [0] * len(acceptance.entries)
        for (_, source), number in self._counts.items():
            if isinstance(source, int):
                found[source] += number
        return found

    def list_lost(self, acceptance: Acceptance) -> dict[str, set[str]]:
        """Return what is lost, or in part, and whose findings are accepted, by rule: files, or names of expressions."""
        found: dict[str, set[str]] = {}
        for (code, source), files in self._lost.items():
            if _count_excess(acceptance, source, self._counts[code, source]) <= 0:
                found.setdefault(code, set()).update(files)
        return found

    def count_gone(self, acceptance: Acceptance, decided: Collection[str]) -> int:
        """Return how many findings of the baseline are gone; only rules whose findings are all known count."""
        found = self._count_by_fingerprint()
        return sum(
            max(each.count - found.get((each.rule, each.fingerprint), 0), 0)
            for each in acceptance.known.values()
            if each.rule in decided
        )

    def list_new(self, acceptance: Acceptance) -> list[Finding]:
        """Return findings that exceed what the baseline allows: the last of each fingerprint in report order."""
        return [finding for finding, is_new in self._list_by_fingerprint(acceptance) if is_new]

    def list_accepted(self, acceptance: Acceptance) -> list[AcceptedFinding]:
        """Return the first accepted findings of each rule, in report order."""
        by_rule: dict[str, list[tuple[Finding, AcceptEntry | None]]] = {}
        for (code, number), found in self._by_entry.items():
            assert isinstance(number, int)
            by_rule.setdefault(code, []).extend((each, acceptance.entries[number]) for each in found)
        for finding, is_new in self._list_by_fingerprint(acceptance):
            if not is_new:
                by_rule.setdefault(finding.rule, []).append((finding, None))
        chosen = [
            each
            for found in by_rule.values()
            for each in sorted(found, key=lambda item: item[0].sort_key)[: self._samples]
        ]
        chosen.sort(key=lambda item: item[0].sort_key)
        return [_describe(finding, entry, acceptance.table_root) for finding, entry in chosen]

    def list_known(self, table_root: str | None) -> list[KnownFinding]:
        """Return the findings that are counted by fingerprint, without the name of the table."""
        subjects = {
            (rule, _get_fingerprint(source)): describe_subject(found[-1], table_root)
            for (rule, source), found in self._by_fingerprint.items()
        }
        counts = self._count_by_fingerprint()
        return [
            KnownFinding(table="", rule=rule, subject=subject, fingerprint=fingerprint, count=counts[rule, fingerprint])
            for (rule, fingerprint), subject in subjects.items()
        ]

    def _count_by_fingerprint(self) -> dict[tuple[str, str], int]:
        """Return the number of findings by rule and fingerprint: the highest number of one separate group."""
        found: dict[tuple[str, str], int] = {}
        for (rule, source), number in self._counts.items():
            if isinstance(source, str):
                key = rule, _get_fingerprint(source)
                found[key] = max(found.get(key, 0), number)
        return found

    def _record(self, rule: Rule, rows: pl.DataFrame, sources: pl.Series) -> None:
        """Count findings by their sources, and keep the last of each."""
        numbers = dict(sources.value_counts().iter_rows())
        self._counts.update({(rule.code, source): number for source, number in numbers.items()})
        self._note_lost(rule, rows, sources)
        frequent = [source for source, number in numbers.items() if number > self._most]
        is_rare = ~sources.is_in(pl.Series(frequent, dtype=pl.String).implode())
        rare = rows.filter(is_rare).head(MAX_FINDINGS + 1)
        found = build_findings(rule, self._revision, rare, len(rare))
        for source, finding in zip(sources.filter(is_rare), found, strict=False):
            self._by_fingerprint.add((rule.code, source), [finding])
        if frequent:
            marked = rows.with_columns(_source=sources).filter(~is_rare)
            for (source,), part in marked.partition_by("_source", as_dict=True, include_key=False).items():
                last = build_findings(rule, self._revision, part, self._most, last=True)
                self._by_fingerprint.add((rule.code, source), last)

    def _note_lost(self, rule: Rule, rows: pl.DataFrame, sources: Iterable[int | str]) -> None:
        """Record the files of findings that say that a file is lost, by what may accept them."""
        column = "path" if rule.code in _LOSSES else "file" if rule.code in _LOG_LOSSES else None
        column = INVALID_EXPRESSIONS.get(rule.code, (column,))[0]
        if column is not None and sum(map(len, self._lost.values())) < _MAX_LOST_FILES:
            for path, source in zip(rows[column], sources, strict=True):
                self._lost.setdefault((rule.code, source), set()).add(path)

    def _list_by_fingerprint(self, acceptance: Acceptance) -> Iterator[tuple[Finding, bool]]:
        """Yield the findings kept for each fingerprint, and whether each is new."""
        for source, found in self._by_fingerprint.items():
            first_new = len(found) - max(_count_excess(acceptance, source[1], self._counts[source]), 0)
            for number, each in enumerate(found):
                yield each, number >= first_new


class RecordedFindings(msgspec.Struct):
    """All findings of a run that no entry accepts, for a baseline."""

    table_root: str = ""
    """Decoded path or URI of the table."""
    findings: list[KnownFinding] = msgspec.field(default_factory=list)
    """Without the name of the table."""

    def take(self, found: AcceptedFindings, store: Store) -> None:
        """Store the findings of a run with `Acceptance.records`."""
        self.table_root = store.root or store.uri
        self.findings = found.list_known(store.root)


def build_acceptance(
    entries: Sequence[AcceptEntry], baseline: str | None, store: Store, *, records: bool = False
) -> Acceptance | None:
    """Build the findings that the user accepts in a table; None if there are none.

    Args:
        entries: entries of the configuration.
        baseline: file of the baseline, if there is one.
        store: the table.
        records: whether every finding is counted by its fingerprint.

    Raises:
        InvalidUsage: the baseline cannot be read.
    """
    if not entries and baseline is None and not records:
        return None
    found: list[KnownFinding] = []
    if baseline is not None:
        table = build_table_key(store.root or store.uri, baseline)
        found = [each for each in read_baseline(baseline) if each.table == table]
    return Acceptance(
        entries=tuple(entries),
        known={each.fingerprint: each for each in found},
        table_root=store.root,
        records=records,
    )


def _count_excess(acceptance: Acceptance, source: int | str, number: int) -> int:
    """Return how many of the findings from one source are new; negative if the baseline allows more."""
    if isinstance(source, int):
        return 0
    known = acceptance.known.get(_get_fingerprint(source))
    return number - (0 if known is None else known.count)


def _get_fingerprint(source: int | str) -> str:
    return str(source).partition(" ")[0]


def _find_groups(rows: pl.DataFrame) -> pl.Series:
    """Return for each row the group that is compared with the baseline separately.

    A group is a kind of action, a derived file, and the version if the action has a deletion vector. Actions of
    different groups can repeat one fault.
    """
    parts = [pl.lit("")]
    if "kind" in rows.columns:
        parts.append(pl.col("kind").cast(pl.String).fill_null(""))
    if "file" in rows.columns and "line" in rows.columns:
        names = [each for each in rows["file"].unique() if each is not None and _is_derived(each)]
        repeats = pl.col("file").is_in(names) & pl.col("line").is_not_null()
        parts.append(pl.when(repeats).then(pl.col("file")).otherwise(pl.lit("")))
    if "has_deletion_vector" in rows.columns and "version" in rows.columns:
        version = pl.col("version").cast(pl.String).fill_null("")
        parts.append(pl.when(pl.col("has_deletion_vector")).then(version).otherwise(pl.lit("")))
    return rows.select(pl.concat_str(parts)).to_series()


def _is_derived(file: str) -> bool:
    return isinstance(parse_log_file_name(file.removeprefix(f"{LOG_DIRECTORY}/")), _DERIVED)


def _describe(finding: Finding, entry: AcceptEntry | None, table_root: str | None) -> AcceptedFinding:
    found = replace(finding, fingerprint=compute_fingerprint(finding, table_root))
    if entry is None:
        return AcceptedFinding(finding=found, source="baseline")
    return AcceptedFinding(finding=found, source="configuration", reason=entry.reason, link=entry.link)


@lru_cache
def _compile_glob(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))
