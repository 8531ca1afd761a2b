"""Findings and reports as plain values: what every driver returns and every writer renders."""

from typing import Any, Literal

from msgspec import Struct, field

Severity = Literal["violation", "warning", "divergence"]
SEVERITIES: tuple[Severity, ...] = ("violation", "warning", "divergence")
Verdict = Literal["conforms", "violations", "incomplete", "refused"]

REPORT_VERSION = 1


class Finding(Struct, frozen=True, kw_only=True):
    """One place where a table breaks, or strains, one rule."""

    rule: str
    name: str
    severity: Severity
    requirement: str
    level: str
    """`log`, `files`, `footers` or `rows`: what had to be opened to see it."""
    version: int | None = None
    file: str | None = None
    """Relative to the table's root, `/` as separator."""
    line: int | None = None
    """Counted from 1; in a Parquet file the row, counted from 1."""
    path: str | None = None
    """Data file the finding is about, as the log spells it."""
    column: str | None = None
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    """The values the rule looked at, by column of its view."""

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Order of a report: gravest first, then rule, version, file, line."""
        place = (self.version, self.line)
        return (
            SEVERITIES.index(self.severity),
            self.rule,
            *(-1 if number is None else number for number in place[:1]),
            self.file or "",
            -1 if self.line is None else self.line,
            self.path or "",
            self.column or "",
            repr(sorted(self.evidence.items(), key=lambda item: item[0])),
        )


class NotChecked(Struct, frozen=True, kw_only=True):
    """A rule that was asked for and could not be decided, wholly or at one place."""

    rule: str
    reason: str
    file: str | None = None
    accepted: bool = False
    """Accepted by name on the command line: does not make the run incomplete."""


class DerivedFileNotCompared(Struct, frozen=True, kw_only=True):
    """A checkpoint, compaction or checksum that was not compared with replay, and why."""

    file: str
    reason: str


class Inventory(Struct, frozen=True, kw_only=True):
    """What lies in the table's directories. No finding: what nothing refers to may be there legally."""

    files: int
    """Regular files beside `_delta_log`."""
    bytes: int
    live_files: int
    """Those that the judged snapshot needs: data files and deletion-vector files."""
    live_bytes: int
    referenced_files: int
    """Those that only other actions of the judged history name: removed files, change data."""
    referenced_bytes: int
    unreferenced_files: int
    """Those that no action of the judged history names, hidden ones aside."""
    unreferenced_bytes: int
    hidden_files: int
    """Those in or by names that begin with `_` or `.`, which do not belong to the data."""
    hidden_bytes: int
    unreferenced: list[str]
    """Paths of the first of them."""
    is_complete: bool
    """False where a directory could not be listed."""


class Checked(Struct, frozen=True, kw_only=True):
    """The ledger: what was decided, and what was not."""

    run: list[str]
    """Codes of the rules that saw at least one row."""
    not_applicable: list[str]
    """Codes of the rules whose view has no row in this table; none of which stands in `not_checked`."""
    skipped: list[str]
    """Codes left out by level, history, revision or selection."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each rule of `not_applicable` and `skipped` stands there, by code."""
    not_checked: list[NotChecked]
    derived_files_not_compared: list[DerivedFileNotCompared]


class Refusal(Struct, frozen=True, kw_only=True):
    """The judged revision forbids its clients to use the table, since it knows too little of it."""

    requirement: str
    """Id of the requirement that makes a client refuse."""
    why: str
    """What the table asks for and the revision does not know."""


class Report(Struct, frozen=True, kw_only=True):
    """The answer of one `validate` run. Published as `reports/report.schema.json`."""

    report_version: int
    deltaspec: str
    table: str
    version: int | None
    """The version judged; None where no snapshot exists."""
    revision: str
    level: str
    engine: str
    history: str
    clock: int | None = None
    """The moment that retention was judged by, in milliseconds since the epoch; None: it was not."""
    verdict: Verdict
    counts: dict[str, int]
    """Findings by severity, all of them."""
    totals: dict[str, int]
    """Findings by rule, all of them; `findings` holds at most `samples` of each."""
    findings: list[Finding]
    inventory: Inventory | None = None
    """What lies in the table's directories; None at level `log`."""
    refusal: Refusal | None = None
    """Why the verdict is `refused`; only by revisions older than `current`."""
    checked: Checked
