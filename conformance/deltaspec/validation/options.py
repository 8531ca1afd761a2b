"""Options of a run, checked before anything is read, and the same for every backend and entry point."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Any, TypedDict, Unpack
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec.protocol.revisions import Revision
from deltaspec.report.report_types import CATALOG, FEATURE_PREFIX, AcceptEntry
from deltaspec.rules import RULES
from deltaspec.rules.registry import Rule
from deltaspec.scales import LEVELS, Level
from deltaspec.validation.accept_entries import is_expired, parse_accept_entry
from deltaspec.validation.acceptance import RecordedFindings
from deltaspec.validation.baseline import read_baseline
from deltaspec.validation.catalog_commits import load_catalog_commits
from deltaspec.validation.findings import Findings
from deltaspec.validation.instants import At, AtArgument, parse_at, parse_instant
from deltaspec.validation.plan import parse_history
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.rule_set import RuleSet
from deltaspec.validation.since import EarlierReport, load_earlier_report
from deltaspec.validation.stopping import Budget
from deltaspec.validation.unity_tables import CatalogSource
from deltaspec.wire.catalog.http import split_address


class OptionArguments(TypedDict, total=False):
    """Keyword arguments of every public entry point. `deltaspec.validate` documents them."""

    level: str
    at: AtArgument
    history: str | int
    revision: str
    clock: int | str | None
    select: str | Collection[str] | None
    ignore: str | Collection[str]
    samples: int
    accept_unchecked: str | Collection[str]
    allow_outside: bool
    writer_time_zone: str | None
    accept: Sequence[Mapping[str, Any] | AcceptEntry]
    baseline: str | None
    since: str | None
    confirm: bool
    catalog_commits: str | None
    catalog: str | None
    hints: bool


class Options(msgspec.Struct, frozen=True):
    """Checked options. Rules are given as codes or prefixes of codes."""

    level: Level
    at: At
    """Version to validate, or a time; None for the latest version."""
    history: str
    """`latest`, `all`, or a number of versions."""
    revision: Revision
    clock_ms: int | None
    """Time against which retention is checked, in milliseconds since the epoch; None skips these rules."""
    select: tuple[str, ...] | None
    """Rules to run; None for all."""
    ignore: tuple[str, ...]
    samples: int
    """Findings that the report keeps of each rule."""
    accept_unchecked: tuple[str, ...]
    """Rules, features after `feature:`, and `catalog`, whose unchecked places do not make a run incomplete."""
    allow_outside: bool
    """Follow absolute paths that lead out of the table."""
    writer_time_zone: str | None
    """Time zone of the sessions that wrote the table, for SQL expressions that depend on it; None if unknown."""
    accept: tuple[AcceptEntry, ...] = ()
    """Entries that accept findings; those whose last day is over are marked as expired."""
    baseline: str | None = None
    """File with the findings that are known; None for no baseline."""
    since: EarlierReport | None = None
    """Report whose files are not checked again; None to check all."""
    confirm: bool = True
    """Look again at a data file before it is reported."""
    hints: bool = False
    """Look for live files with the same content."""
    ratified: CatalogAnswer | None = None
    """What the catalog of the table says; None if it was not asked."""
    catalog: str | None = None
    """Address of the catalog that knows tables such as `uc://catalog.schema.table`; None if none is given."""
    source: CatalogSource | None = None
    """The catalog that said it; None for a file."""

    @classmethod
    def create(cls, **arguments: Unpack[OptionArguments]) -> Options:
        """Check arguments and fill in the defaults.

        Raises:
            InvalidUsage: an argument has an invalid value, or no rule remains to be run.
        """
        level, revision = arguments.get("level", "files"), arguments.get("revision", "current")
        if level not in LEVELS:
            raise InvalidUsage(f"invalid level {level!r}; choose from {', '.join(LEVELS)}")
        if revision not in list(Revision):
            raise InvalidUsage(f"invalid revision {revision!r}; choose from {', '.join(Revision)}")
        select, clock_ms = arguments.get("select"), parse_instant(arguments.get("clock"))
        options = cls(
            level=LEVELS[LEVELS.index(level)],
            at=parse_at(arguments.get("at")),
            history=parse_history(arguments.get("history", "latest")),
            revision=Revision(revision),
            clock_ms=clock_ms,
            select=None if select is None else _check_codes("select", select),
            ignore=_check_codes("ignore", arguments.get("ignore", ())),
            samples=_check_integer("samples", arguments.get("samples", 1000), at_least=1) or 1000,
            accept_unchecked=_check_codes("accept_unchecked", arguments.get("accept_unchecked", ()), features=True),
            allow_outside=_check_boolean("allow_outside", arguments.get("allow_outside", False)),
            writer_time_zone=_check_time_zone(arguments.get("writer_time_zone")),
            accept=_check_accept_entries(arguments.get("accept", ()), clock_ms),
            baseline=_check_baseline(arguments.get("baseline")),
            confirm=_check_boolean("confirm", arguments.get("confirm", True)),
            ratified=_load_ratified(arguments.get("catalog_commits")),
            catalog=_check_catalog(arguments.get("catalog")),
            hints=_check_boolean("hints", arguments.get("hints", False)),
        )
        if options.hints and options.level != "rows":
            raise InvalidUsage(f"--hints needs --level rows, not {options.level}")
        _check_selection(options)
        if (file := _check_file("since", arguments.get("since"))) is None:
            return options
        codes = [rule.code for rule in options.selection.rules if rule.level != "log"]
        earlier = load_earlier_report(file, codes, revision=str(options.revision), history=options.history)
        return msgspec.structs.replace(options, since=earlier)

    def accepts_feature(self, name: str) -> bool:
        """Return whether the user accepts that a table feature is not checked."""
        return f"{FEATURE_PREFIX}{name}" in self.accept_unchecked

    @property
    def selection(self) -> RuleSelection:
        """The rules that each option leaves."""
        return _select_rules(self.level, self.revision, self.select, self.ignore, self.clock_ms is not None)

    def create_findings(self) -> Findings:
        """Create an empty recorder for the rules of the run."""
        return Findings(self.selection.rule_set, self.samples, self.revision)


class RuleSelection(msgspec.Struct, frozen=True, dict=True):
    """Codes of the rules that remain after each option, in the order of the registry."""

    selected: tuple[str, ...]
    """Selected by `select` and `ignore`."""
    in_revision: tuple[str, ...]
    """Rules of `selected` that the revision defines."""
    in_level: tuple[str, ...]
    """Rules of `in_revision` that the level includes."""
    without_clock: frozenset[str]
    """Rules of `in_level` that need a clock, if none is given."""
    reasons: Mapping[str, str]
    """Why each rule that is not in `in_level` is not, by code."""

    @cached_property
    def skipped(self) -> tuple[str, ...]:
        """All rules that are not in `in_level`."""
        return tuple(code for code in RULES if code in self.reasons)

    @property
    def rules(self) -> list[Rule]:
        """The rules of the run."""
        return [RULES[code] for code in self.in_level if code not in self.without_clock]

    @cached_property
    def rule_set(self) -> RuleSet:
        """The rules of the run, by view."""
        return RuleSet(self.rules)


@lru_cache
def _select_rules(
    level: Level, revision: Revision, select: tuple[str, ...] | None, ignore: tuple[str, ...], has_clock: bool
) -> RuleSelection:
    """Select the rules of a run. The tables of a command mostly have the same options."""
    reached = LEVELS[: LEVELS.index(level) + 1]
    reasons: dict[str, dict[str, str]] = {"level": {}, "revision": {}, "options": {}}
    selected, in_revision, in_level = [], [], []
    for code, rule in RULES.items():
        if not (select is None or _matches(code, select)) or _matches(code, ignore):
            reasons["options"][code] = "excluded by --select or --ignore"
            continue
        selected.append(code)
        if revision not in rule.revisions:
            reasons["revision"][code] = f"not defined in revision {revision}"
            continue
        in_revision.append(code)
        if rule.level not in reached:
            reasons["level"][code] = f"needs --level {rule.level}"
            continue
        in_level.append(code)
    return RuleSelection(
        selected=tuple(selected),
        in_revision=tuple(in_revision),
        in_level=tuple(in_level),
        without_clock=frozenset(code for code in in_level if not has_clock and RULES[code].needs_clock),
        reasons=reasons["level"] | reasons["revision"] | reasons["options"],
    )


class RunSettings(msgspec.Struct, frozen=True):
    """Settings of one run. They do not change the report of a run that ends."""

    progress: Progress = ignore_progress
    state: str | None = None
    """Directory for the resume state; None saves none."""
    resume: bool = False
    """Continue from the state that `state` contains."""
    findings_out: str | None = None
    """Where to write every finding as Parquet; None for nowhere."""
    recorded: RecordedFindings | None = None
    """Receives every finding that no entry accepts, for a baseline; None if they are not needed."""
    budget: Budget | None = None
    """Time after which the run stops; None for no limit."""
    interrupts: Mapping[type[BaseException], str] = msgspec.field(default_factory=dict)
    """Exceptions that stop the run with a report, and what the report calls them. Others end it without one."""

    def __post_init__(self) -> None:
        if self.state == "":
            raise InvalidUsage("--state is empty; name a directory")
        if self.resume and self.state is None:
            raise InvalidUsage("--resume needs --state DIR, the directory of the interrupted run")
        if self.state is not None and self.findings_out is not None:
            raise InvalidUsage("--findings-out cannot be combined with --state")

    @property
    def limited_progress(self) -> Progress:
        """The callback for progress, which stops the run when the budget is used."""
        return self.progress if self.budget is None else self.budget.limit(self.progress)


def _check_integer(name: str, value: int | None, at_least: int) -> int | None:
    """Raise `InvalidUsage` for a value that is not an integer, or too small."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < at_least):
        raise InvalidUsage(f"invalid {name} {value!r}; expected an integer from {at_least}")
    return value


def _check_time_zone(name: str | None) -> str | None:
    """Raise `InvalidUsage` for a string that is neither the name of a time zone nor an offset such as +01:00."""
    if name is None or (isinstance(name, str) and re.fullmatch(r"[+-](0[0-9]|1[0-7]):[0-5][0-9]", name)):
        return name
    try:
        ZoneInfo(name)
    except (KeyError, OSError, TypeError, ValueError) as fault:  # ZoneInfoNotFoundError is a KeyError
        raise InvalidUsage(f"unknown time zone {name!r}; write a name such as Europe/Paris, or +01:00") from fault
    return name


def _check_accept_entries(entries: Any, clock_ms: int | None) -> tuple[AcceptEntry, ...]:
    """Parse entries that accept findings, and mark those that are expired."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise InvalidUsage(f"invalid accept {entries!r}; expected a list of entries with rule and reason")
    parsed = [parse_accept_entry(f"accept[{number}]", each) for number, each in enumerate(entries)]
    return tuple(replace(each, status="expired") if is_expired(each, clock_ms) else each for each in parsed)


def _check_file(name: str, file: str | None) -> str | None:
    if file is not None and not isinstance(file, str | os.PathLike):
        raise InvalidUsage(f"invalid {name}: {type(file).__name__}; give the path of a file")
    return file


def _check_baseline(file: str | None) -> str | None:
    """Raise `InvalidUsage` for a file that is not a baseline."""
    if (path := _check_file("baseline", file)) is not None:
        read_baseline(path)
    return file


def _load_ratified(file: str | None) -> CatalogAnswer | None:
    path = _check_file("catalog_commits", file)
    return None if path is None else load_catalog_commits(path)


def _check_catalog(address: str | None) -> str | None:
    """Raise `InvalidUsage` for an address to which no token may be sent."""
    if address is not None:
        split_address(address)
    return address


def _check_boolean(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise InvalidUsage(f"invalid {name} {value!r}; choose True or False")
    return value


def _check_codes(option: str, codes: str | Collection[str], *, features: bool = False) -> tuple[str, ...]:
    """Return codes in upper case; a single string may name several, separated by commas.

    With `features`, also names of table features after `feature:`, and `catalog`.

    Raises:
        InvalidUsage: a code is not a string, or not a prefix of a rule code.
    """
    given = codes.split(",") if isinstance(codes, str) else codes
    if not isinstance(given, Collection) or not all(isinstance(each, str) for each in given):
        raise InvalidUsage(f"invalid {option} {codes!r}; expected codes of rules")
    codes = tuple(_normalize_code(each, features=features, is_listed=not isinstance(codes, str)) for each in given)
    for each in codes:
        if features and (each == CATALOG or each.startswith(FEATURE_PREFIX)):
            continue
        if not each or not any(code.startswith(each) for code in RULES):
            similar = get_close_matches(each, RULES, 1)
            help_text = f" (did you mean {similar[0]}?)" if similar else "; see `deltaspec rules`"
            raise InvalidUsage(f"unknown rule {each!r}{help_text}")
    return codes


def _normalize_code(code: str, *, features: bool, is_listed: bool) -> str:
    """Return a code in upper case; the name of a feature is kept, and in a list also its spaces."""
    stripped = code.strip()
    if features and stripped.lower() == CATALOG:
        return CATALOG
    if features and stripped.startswith(FEATURE_PREFIX):
        return code.lstrip() if is_listed else stripped
    return stripped.upper()


def _check_selection(options: Options) -> None:
    """Raise `InvalidUsage` if no rule remains to be run."""
    selection = options.selection
    if options.select is not None and selection.in_level and not selection.rules:
        raise InvalidUsage("the selected rules need --clock")
    if selection.in_level:
        return
    if not selection.selected:
        raise InvalidUsage("--select and --ignore leave no rule; see `deltaspec rules`")
    first = RULES[selection.selected[0]]
    if not selection.in_revision:
        raise InvalidUsage(
            f"no selected rule applies to revision {options.revision}; {first.code} applies to "
            f"{', '.join(first.revisions)}"
        )
    needed = RULES[selection.in_revision[0]].level
    raise InvalidUsage(f"no selected rule runs at level {options.level}; run at --level {needed}")


def _matches(code: str, prefixes: Collection[str]) -> bool:
    return any(code.startswith(each) for each in prefixes)
