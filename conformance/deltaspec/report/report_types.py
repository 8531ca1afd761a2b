"""Findings and reports as plain values, as validation returns them and the writers render them."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import field

from deltaspec.errors import ValidationFailed
from deltaspec.exit_codes import ExitCode
from deltaspec.fix_cases import FixCase, Step
from deltaspec.report.report_api import ReportApi
from deltaspec.report.text import bound_text, count, escape_text
from deltaspec.scales import SEVERITIES, FixClass, Harm, Severity

Verdict = Literal["conforms", "violations", "incomplete", "refused"]
EXIT_CODES_OF_VERDICTS: dict[Verdict, ExitCode] = {
    "conforms": ExitCode.OK,
    "violations": ExitCode.FAILED,
    "incomplete": ExitCode.INCOMPLETE,
    "refused": ExitCode.INCOMPLETE,
}

REPORT_VERSION = 2
"""Increases when a field is removed or changes its meaning. A new field keeps it."""
_RAISED_FINDINGS = 3
_ROWS_SHOWN = 20


def _printable(text: str) -> str:
    return escape_text(bound_text(text))


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One location where a table breaks a rule, or departs from a recommendation."""

    rule: str
    name: str
    severity: Severity
    requirement: str
    level: str
    """`log`, `files`, `footers` or `rows`: the files that were read to find it."""
    version: int | None = None
    file: str | None = None
    """Relative to the table's root, `/` as separator."""
    line: int | None = None
    """Counted from 1; in a Parquet file the row, counted from 1."""
    path: str | None = None
    """Path of the data file that the finding concerns, as written in the log."""
    column: str | None = None
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    """Values that the rule read, by column of its view. A text over 4,000 characters is shortened, with its length."""
    fingerprint: str = ""
    """Identifies the fault across reports: rule, subject and fact, without versions, line numbers and counts. Several
    findings may have the same one."""
    fix_case: int | None = None
    """Index of the case that applies, in `fix_cases` of the rule; None if the finding does not show it."""
    fix_commands: list[str] = field(default_factory=list)
    """Commands of this case with the table and the values of the finding; empty if a value cannot be in a command."""
    cause: str | None = None
    """Code of a rule whose finding has the same cause and the fix; None if this finding has its own fix."""
    related: list[str] = field(default_factory=list)
    """Codes of other rules with findings that this finding causes."""

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Key that sorts findings by severity (most severe first), rule, version, file and line."""
        return (
            SEVERITIES.index(self.severity),
            self.rule,
            -1 if self.version is None else self.version,
            self.file or "",
            -1 if self.line is None else self.line,
            self.path or "",
            self.column or "",
            repr(sorted(self.evidence.items(), key=lambda item: item[0])),
        )

    @property
    def location_parts(self) -> list[str]:
        """File and line, data file, and column, as far as they are known; printable."""
        parts = []
        if self.file:
            parts.append(_printable(self.file) + (f" line {self.line}" if self.line is not None else ""))
        elif self.version is not None:
            parts.append(f"version {self.version}")
        if self.path:
            parts.append(_printable(self.path))
        if self.column:
            parts.append(f"column {_printable(self.column)}")
        return parts or ["the table"]

    @property
    def location(self) -> str:
        """Where the finding is, in one printable line."""
        return " · ".join(self.location_parts)


class RuleDoc(msgspec.Struct, frozen=True):
    """Documentation of a rule that a report prints with its findings."""

    statement: str
    """Statement of the requirement that the rule checks."""
    section: str
    """Heading of the section in the protocol."""
    strength: str = field(name="level")
    """Strength of the requirement (must, should, may, is), or `diverge` and the number of the erratum."""
    why: str
    fix: str
    url: str = ""
    """Address of the section in the protocol."""
    reading: str = ""
    """How the kit reads the requirement, if the protocol is ambiguous or silent."""
    fix_class: FixClass | None = None
    """Who or what can repair the defect, in its most frequent case; None in reports of older releases."""
    fix_cases: tuple[FixCase, ...] = ()
    """What to do for each cause; `fix` has the same in sentences."""
    harm: Harm | None = None
    """What the defect does to the users of the table; None in reports of older releases."""


NEEDS_CLOCK = "needs --clock"
"""Why a rule that depends on the current time was not evaluated."""
FEATURE_PREFIX = "feature:"
"""What precedes the name of a table feature in `NotChecked.rule` and in accepted codes."""
CATALOG = "catalog"
"""`NotChecked.rule`, and accepted code, of what only the catalog of a catalog-managed table knows."""


class NotChecked(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that could not be decided, at a location or for the table, an unchecked feature, or an unasked catalog."""

    rule: str
    """Code of the rule, `feature:` and the name of the feature, or `catalog`."""
    reason: str
    file: str | None = None
    accepted: bool = False
    """The user accepted this rule as unchecked, so it does not make the run incomplete."""

    @property
    def is_rule(self) -> bool:
        """Whether the entry is of a rule."""
        return self.rule != CATALOG and not self.rule.startswith(FEATURE_PREFIX)


class DerivedFileNotCompared(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint, compaction or checksum that was not compared with replay, and the reason."""

    file: str
    reason: str


class FilesNotRead(msgspec.Struct, frozen=True, kw_only=True):
    """Files of the log that the run did not read, or whose rows it did not compare, for the same reason."""

    reason: str
    count: int
    files: list[str]
    """The first of them, relative to the table's root."""


class MissingCommits(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive commits that are not listed and that the validated version does not need."""

    first: int
    last: int
    explained: bool
    """Log cleanup may have deleted them: no older commit remains."""

    @property
    def description(self) -> str:
        """Subject and verb of a sentence, such as `commit 3 is`."""
        return f"commit {self.first} is" if self.first == self.last else f"commits {self.first} to {self.last} are"


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of the files in the table's directories. Unreferenced files are legal, so they are not findings."""

    files: int
    """Regular files outside `_delta_log`."""
    bytes: int
    live_files: int
    """Files that the validated snapshot needs: data files and deletion-vector files."""
    live_bytes: int
    referenced_files: int
    """Files that only other actions of the validated history name: removed files and change data files."""
    referenced_bytes: int
    staged_files: int = 0
    """Further files that only staged commits of unpublished versions name: they are live if the catalog ratified the
    commit."""
    staged_bytes: int = 0
    unreferenced_files: int
    """Further files that no action of the validated history names, without hidden files."""
    unreferenced_bytes: int
    hidden_files: int
    """Files whose name or directory begins with `_` or `.`; they do not belong to the data."""
    hidden_bytes: int
    unreferenced: list[str]
    """Paths of the first unreferenced files."""
    is_complete: bool
    """False where a directory could not be listed."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger: which rules were decided, and which were not."""

    run: list[str]
    """Codes of the rules that were evaluated on at least one row."""
    not_applicable: list[str]
    """Codes of the rules whose view has no row in this table; none of them is in `not_checked`."""
    skipped: list[str]
    """Codes that level, history, revision or selection excluded."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Reason for each rule of `not_applicable` and `skipped`, by code."""
    not_checked: list[NotChecked]
    derived_files_not_compared: list[DerivedFileNotCompared]
    """Files of the log that were read, but could not be replayed or compared with replay."""
    files_not_read: list[FilesNotRead] = field(default_factory=list)
    rows_not_compared: list[FilesNotRead] = field(default_factory=list)
    """Commits whose rows could not be compared with their change data or with the rows that they rewrote."""
    missing_commits: list[MissingCommits] = field(default_factory=list)
    """The first gaps of the log that the validated version does not need."""

    @property
    def undecided_rules(self) -> set[str]:
        """Codes of the rules in `not_checked`."""
        return {each.rule for each in self.not_checked if each.is_rule}

    @property
    def decided_rules(self) -> set[str]:
        """Codes of the rules whose findings are all known."""
        without_clock = {code for code in self.not_applicable if self.reasons.get(code) == NEEDS_CLOCK}
        return {*self.run, *self.not_applicable} - self.undecided_rules - without_clock


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The revision requires its clients to refuse the table, because the table needs something it does not define."""

    requirement: str
    """Id of the requirement that makes clients refuse the table."""
    why: str
    """What the table requires and the revision does not define."""


AcceptStatus = Literal["used", "unused", "expired", "not checked"]


class AcceptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the configuration that accepts findings, and whether the run used it."""

    rule: str
    """Code of a rule, or prefix of codes."""
    path: str | None = None
    """Glob over the subject of a finding, relative to the table: the data file, or else the file of the log. None
    accepts findings about anything."""
    reason: str
    link: str = ""
    until: str | None = None
    """Last day on which it applies, as YYYY-MM-DD; None for no end."""
    status: AcceptStatus = "unused"
    """`expired`: the day of `until` is before the day of the run, or of its clock. `not checked`: it accepted nothing,
    and not all of its rules were decided."""
    count: int = 0
    """Number of findings that it accepted."""

    @property
    def description(self) -> str:
        """Rules and path, in one printable line."""
        return _printable(self.rule if self.path is None else f"{self.rule} in {self.path}")


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with a baseline."""

    file: str
    known: int
    """Number of findings that the baseline accepts."""
    new: int
    """Number of findings that are neither in the baseline nor accepted by an entry."""
    gone: int
    """Number of findings in the baseline that this run could have found but did not."""
    has_table: bool
    """Whether the baseline has findings of this table."""


CommitTimeSource = Literal["in-commit timestamp", "file time"]


class VersionAt(msgspec.Struct, frozen=True, kw_only=True):
    """How the validated version was found, if the user named a time."""

    moment: int
    """The time that the user named, in milliseconds since the epoch."""
    committed: int
    """Time of the version's commit, in milliseconds since the epoch."""
    source: CommitTimeSource
    """Source of the time of the commit: its in-commit timestamp, or the modification time of its file."""
    otherwise: int | None = None
    """Version that other engines may choose, because file times run backwards (S69); None if they do not."""


class SoundAgain(msgspec.Struct, frozen=True, kw_only=True):
    """Files that looked damaged but were sound in two more looks. They are not findings."""

    count: int
    files: dict[str, str]
    """Path of each of the first files, and the result of the first look."""


class SameContent(msgspec.Struct, frozen=True, kw_only=True):
    """Live data files with the same bytes and the same partition values."""

    paths: list[str]
    """The first of them in sort order, as written in the log."""
    count: int
    size: int
    """Size of each file in bytes."""
    rows: int | None
    """Number of rows of each file; None if its footer cannot be decoded."""
    repeated_rows: int | None
    """Rows that the table would lose if each row of these files were live only once; None if that is unknown."""


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """Live data files that look like the same data added twice. The protocol permits that, so they are not findings."""

    same_content: list[SameContent] = field(default_factory=list)
    """The first groups, in the order of their paths."""
    groups: int = 0
    """Number of all groups."""
    files: int = 0
    """Number of files in all groups."""
    compared: int = 0
    """Number of files whose content was read: the log gives another file the same size, partition values and rows."""
    not_compared: int = 0
    """Number of these that could not be read."""
    reason: str | None = None
    """Why files were not compared: the first reason if only some were not; None if all were."""


class CopiedFrom(msgspec.Struct, frozen=True, kw_only=True):
    """A location outside of the table, with files that are missing or not read and exist in the table instead."""

    location: str
    file: str
    """Path of one of the files, relative to the location and to the table."""


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of the validated version, for a later run with `--since`."""

    table_id: str
    """Id of the table's metadata."""
    commit_sha256: str
    """SHA-256 of the commit file of the validated version."""
    commits: dict[int, str] = field(default_factory=dict)
    """Version to the first half of the SHA-256, of each commit that the run, or a report that it continues, has read,
    without those that no longer exist: the newest 10,000."""
    replacements: dict[str, str] = field(default_factory=dict)
    """Size in bytes and modification time of each file that replaces commits, by name: checkpoints, sidecars and log
    compactions, the newest 10,000."""
    rules: str
    """Digest of the rules of the release."""


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """The earlier report that this run continues, and the files not checked again. The ledger has the rules."""

    version: int
    """Version of the earlier report."""
    first_version: int
    """Version of the report of the last complete run, which the earlier one continues, perhaps through others."""
    counts: dict[str, int]
    """Number of findings by severity in all these reports."""
    skipped_files: int
    """Number of live data files that were not checked again."""
    reason: str | None = None
    """Why all files were checked again; None if only the files after `version` were checked."""


class AcceptedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that the user accepted before the run, so it changes neither the verdict nor the counts."""

    finding: Finding
    source: Literal["baseline", "configuration"]
    reason: str = ""
    link: str = ""


class SparkAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How a run on Spark read the files of the table."""

    log: Literal["executors", "spark"]
    """`executors`: with the storage clients of deltaspec. `spark`: Spark read the log and passed its bytes on."""
    files: Literal["executors", "driver", "not read"]
    """What read the files outside the log."""
    reason: str | None = None
    """Why executors could not read the table; None if they could."""

    @property
    def description(self) -> str:
        """The way in one printable line."""
        if self.reason is None:
            return "executors read the table"
        files = "the driver read all other files" if self.files == "driver" else "other files were not read"
        return f"Spark read the log, {files}: executors cannot read the table ({_printable(self.reason)})"


class Report(ReportApi, msgspec.Struct, frozen=True, kw_only=True):
    """Result of one validation run. The JSON Schema is published as `reports/report.schema.json`."""

    report_version: int
    deltaspec: str
    table: str
    version: int | None
    """The validated version; None if there is no snapshot."""
    at: VersionAt | None = None
    """How the version was found, if the user named a time; None otherwise."""
    revision: str
    level: str
    engine: str
    """Name of the backend: `embedded` or `spark`."""
    access: SparkAccess | None = None
    """How Spark read the table; None with the embedded backend."""
    history: str
    clock: int | None = None
    """Time against which retention was checked, in milliseconds since the epoch; None if it was not checked."""
    verdict: Verdict
    counts: dict[str, int]
    """Number of all findings, by severity."""
    totals: dict[str, int]
    """Number of all findings, by rule; `findings` has at most `samples` of each rule."""
    findings: list[Finding]
    """By severity, then by harm: wrong or lost rows first."""
    rules: dict[str, RuleDoc] = field(default_factory=dict)
    """Why each rule with findings matters, how to repair it, and where the protocol says so; by code."""
    steps: list[Step] = field(default_factory=list)
    """Steps of every repair, in order; empty if no violation or warning needs one."""
    accepted: list[AcceptedFinding] = field(default_factory=list)
    """Findings that the user accepted, the first of each rule; none of them is in `findings`, `totals` or `counts`."""
    accepted_totals: dict[str, int] = field(default_factory=dict)
    """Number of all accepted findings, by rule."""
    accept: list[AcceptEntry] = field(default_factory=list)
    """Entries of the configuration that accept findings of this table."""
    baseline: Baseline | None = None
    """The baseline that the findings were compared with, if there was one."""
    inventory: Inventory | None = None
    """Files in the table's directories; None at level `log`."""
    refusal: Refusal | None = None
    """Why the verdict is `refused`; only for revisions older than `current`."""
    continuation: Continuation | None = None
    """Identifies the validated version for `--since`; None if its commit or its metadata could not be read."""
    since: Since | None = None
    """The earlier report that the run continues; None without `--since`."""
    sound_again: SoundAgain | None = None
    """Files that a second look found sound; None if there are none."""
    copied_from: list[CopiedFrom] = field(default_factory=list)
    """Where absolute paths of a copied table still lead, as far as the first files show."""
    hints: Hints | None = None
    """Files that may have been added twice; None without `--hints`. They change neither the verdict nor the counts."""
    stopped: str | None = None
    """Why the run stopped before everything was checked, such as a used budget; None if it did not."""
    exit_reason: str | None = None
    """Why the exit code is not the exit code of the verdict, such as `--fail-on warning`; None if it is."""
    checked: Checked

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of `deltaspec validate` without `--fail-on` and `--exit-zero`."""
        return compute_exit_code(self)

    @property
    def verdict_line(self) -> str:
        """The verdict, the number of findings and the exit code, in one line."""
        return self.describe_verdict(self.exit_code)

    def describe_verdict(self, exit_code: int) -> str:
        """Return the verdict, the number of findings and the exit code of the command, in one line."""
        accepted = sum(self.accepted_totals.values())
        found = ", ".join(filter(None, (self._counted, f"{accepted:,} accepted" if accepted else "")))
        reason = f" ({self.exit_reason})" if self.exit_reason else ""
        return f"{self.verdict.upper()}  {found or 'nothing found'} · exit {exit_code}{reason}"

    @property
    def _counted(self) -> str:
        return ", ".join(count(self.counts[each], each) for each in SEVERITIES if self.counts.get(each))

    @property
    def _table_and_version(self) -> str:
        version = "no version" if self.version is None else f"version {self.version}"
        return f"{_printable(self.table)}, {version}"

    def raise_for_violations(self, *, require_complete: bool = False) -> None:
        """Raise an exception if the table violates the protocol.

        Warnings and divergences do not raise.

        Args:
            require_complete: raise also if the verdict is `incomplete` or `refused`.

        Raises:
            ValidationFailed: the message has the table, the verdict line and the first findings.
        """
        if self.verdict == "conforms" or (self.verdict != "violations" and not require_complete):
            return
        lines = [f"{self._table_and_version}: {self.verdict_line}"]
        violations = [each for each in self.findings if each.severity == "violation"]
        for each in violations[:_RAISED_FINDINGS]:
            lines.append(f"  {each.rule} {each.name} at {each.location}: {escape_text(each.message)}")
        if (more := self.counts.get("violation", 0) - len(violations[:_RAISED_FINDINGS])) > 0:
            lines.append(f"  and {count(more, 'violation')} more")
        raise ValidationFailed("\n".join(lines))

    def __repr__(self) -> str:
        return (
            f"<Report {self.verdict}: {self._table_and_version}, level {self.level}, {self._counted or 'no findings'}>"
        )

    def _repr_html_(self) -> str:
        """Return the report as an HTML table for notebooks: one row for each rule with findings."""
        from html import escape

        first: dict[str, Finding] = {}
        for finding in self.findings:
            first.setdefault(finding.rule, finding)
        head = "".join(f"<th>{title}</th>" for title in ("severity", "rule", "findings", "message", "first location"))
        rows = [
            [each.severity, f"{rule} {each.name}", f"{self.totals[rule]:,}", each.message, each.location]
            for rule, each in list(first.items())[:_ROWS_SHOWN]
        ]
        body = "".join(f"<tr>{''.join(f'<td>{escape(escape_text(cell))}</td>' for cell in row)}</tr>" for row in rows)
        if len(first) > _ROWS_SHOWN:
            body += f'<tr><td colspan="5">and {count(len(first) - _ROWS_SHOWN, "rule")} more</td></tr>'
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
        undecided = len(self.checked.undecided_rules)
        note = f"<p>{count(undecided, 'rule')} not completely checked</p>" if undecided else ""
        title = f"<b>{self.verdict.upper()}</b> {escape(self._table_and_version)}, level {escape(self.level)}"
        return f"<div><p>{title}: {self._counted or 'no findings'}</p>{table}{note}</div>"


def is_incomplete(not_checked: Iterable[NotChecked], stopped: str | None) -> bool:
    """Return whether something requested was not checked, and the user does not accept that.

    Args:
        not_checked: the entries of the ledger.
        stopped: why the run stopped; None if it did not. Then it is incomplete, even if it had decided every rule.
    """
    return stopped is not None or any(not each.accepted for each in not_checked)


def compute_exit_code(report: Report, fail_on: Severity = "violation", *, exit_zero: bool = False) -> ExitCode:
    """Return the exit code of `deltaspec validate`, except for a run that was interrupted.

    Args:
        report: the report.
        fail_on: the least severe findings that fail.
        exit_zero: whether findings do not fail the run; an incomplete run still fails.
    """
    if report.verdict == "refused":
        return EXIT_CODES_OF_VERDICTS["refused"]
    if exit_zero:
        return ExitCode.INCOMPLETE if is_incomplete(report.checked.not_checked, report.stopped) else ExitCode.OK
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    has_failed = any(report.counts.get(each) for each in failing)
    return ExitCode.FAILED if has_failed else EXIT_CODES_OF_VERDICTS[report.verdict]
