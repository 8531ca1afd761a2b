"""Options of a run. They are checked before anything is read, and are the same for every engine and entry point."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TypedDict, Unpack

from deltaspec.errors import InvalidUsage
from deltaspec.model.revisions import Revision
from deltaspec.rules import RULES
from deltaspec.rules.registry import Rule
from deltaspec.validation.findings import Findings
from deltaspec.validation.plan import parse_history
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.views.base import LEVELS, Level


class OptionArguments(TypedDict, total=False):
    """Keyword arguments of every public entry point. `deltaspec.validate` documents them."""

    level: str
    at: int | None
    history: str | int
    revision: str
    clock: int | None
    select: Collection[str] | None
    ignore: Collection[str]
    samples: int
    accept_unchecked: Collection[str]
    allow_outside: bool


@dataclass(frozen=True)
class Options:
    """Checked options. Rules are given as codes or prefixes of codes."""

    level: Level
    at: int | None
    """Version to validate; None for the latest."""
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
    """Rules whose unchecked places do not make a run incomplete."""
    allow_outside: bool
    """Follow absolute paths that lead out of the table."""

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
        select = arguments.get("select")
        options = cls(
            level=LEVELS[LEVELS.index(level)],
            at=arguments.get("at"),
            history=parse_history(arguments.get("history", "latest")),
            revision=Revision(revision),
            clock_ms=arguments.get("clock"),
            select=None if select is None else _check_codes(select),
            ignore=_check_codes(arguments.get("ignore", ())),
            samples=arguments.get("samples", 1000),
            accept_unchecked=_check_codes(arguments.get("accept_unchecked", ())),
            allow_outside=arguments.get("allow_outside", False),
        )
        _check_selection(options)
        return options

    @cached_property
    def selection(self) -> RuleSelection:
        """The rules that each option leaves."""
        reached = LEVELS[: LEVELS.index(self.level) + 1]
        selected = [
            code
            for code in RULES
            if (self.select is None or _matches(code, self.select)) and not _matches(code, self.ignore)
        ]
        in_revision = [code for code in selected if self.revision in RULES[code].revisions]
        in_level = [code for code in in_revision if RULES[code].level in reached]
        without_clock = {code for code in in_level if self.clock_ms is None and RULES[code].needs_clock}
        return RuleSelection(tuple(selected), tuple(in_revision), tuple(in_level), frozenset(without_clock))

    def create_findings(self) -> Findings:
        """Create an empty recorder for the rules of the run."""
        return Findings(self.selection.rules, self.samples, self.revision)


@dataclass(frozen=True)
class RuleSelection:
    """Codes of the rules that remain after each option, in the order of the registry."""

    selected: tuple[str, ...]
    """Selected by `select` and `ignore`."""
    in_revision: tuple[str, ...]
    """Those of `selected` that the revision defines."""
    in_level: tuple[str, ...]
    """Those of `in_revision` that the level includes."""
    without_clock: frozenset[str]
    """Those of `in_level` that need a clock, if none is given."""

    @property
    def rules(self) -> list[Rule]:
        """The rules of the run."""
        return [RULES[code] for code in self.in_level if code not in self.without_clock]


@dataclass(frozen=True)
class RunSettings:
    """How one run works. None of it changes the report."""

    progress: Progress = ignore_progress
    state: str | None = None
    """Directory for the resume state; None saves none."""
    resume: bool = False
    """Continue from the state that `state` contains."""
    findings_out: str | None = None
    """Where to write every finding as Parquet; None for nowhere."""

    def __post_init__(self) -> None:
        if self.state == "":
            raise InvalidUsage("--state is empty; name a directory")
        if self.resume and self.state is None:
            raise InvalidUsage("--resume needs --state DIR, the directory of the interrupted run")
        if self.state is not None and self.findings_out is not None:
            raise InvalidUsage("--findings-out cannot be combined with --state")


def _check_codes(codes: Collection[str]) -> tuple[str, ...]:
    """Raise `InvalidUsage` for a string that is no prefix of a rule code."""
    for each in codes:
        if not any(code.startswith(each) for code in RULES):
            similar = get_close_matches(each, RULES, 1)
            help_text = f" (did you mean {similar[0]}?)" if similar else "; see `deltaspec rules`"
            raise InvalidUsage(f"unknown rule {each!r}{help_text}")
    return tuple(codes)


def _check_selection(options: Options) -> None:
    """Raise `InvalidUsage` if no rule remains to be run."""
    selection = options.selection
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
