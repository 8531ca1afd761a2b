"""The exit codes of all commands, in one table in the order of precedence."""

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. A code keeps its meaning in all releases of a major version.

    The members are in the order of precedence: several tables end with the first code that one of them has.
    """

    summary: str
    """The meaning in a few words, as `deltaspec --help` lists it."""
    verdict: str
    """When `deltaspec validate` ends with this code, in Markdown."""
    other_commands: str
    """When other commands end with it, in Markdown; empty if as `deltaspec validate` does."""

    def __new__(cls, code: int, summary: str = "", verdict: str = "", other_commands: str = "") -> "ExitCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.summary, member.verdict, member.other_commands = summary, verdict, other_commands
        return member

    INTERRUPTED = 130, "interrupted", "interrupted (Ctrl-C); the report has what was found until then", "interrupted"
    TERMINATED = 143, "terminated", "terminated (SIGTERM); the report has what was found until then", "terminated"
    BUG = 4, "a defect of deltaspec", "a defect of deltaspec"
    USAGE = (
        2,
        "wrong usage or no table",
        "wrong usage, or no table at this location",
        "`test`, `faults`: nothing was asked; `doctor`: a problem",
    )
    FAILED = (
        1,
        "violations",
        "violations, or what `--fail-on` names",
        "a case, trial, harness or golden table failed, or a mutant survived",
    )
    UNAVAILABLE = (
        5,
        "the storage did not answer",
        "the storage did not answer, so that the log could not be listed; try again later",
    )
    INCOMPLETE = (
        3,
        "incomplete or refused",
        (
            "incomplete: no violations, but something requested could not be checked, the budget was used, "
            "the revision refuses the table (see below), or Spark failed"
        ),
        (
            "the engine does not start or died too often; something was not asked, checked or searched; "
            "`repair apply`: the plan was refused"
        ),
    )
    OK = (
        0,
        "conforms",
        "conforms: no violations, and everything requested was checked",
        "everything passed, or as known failures list it",
    )

    @classmethod
    def find_worst(cls, codes: Iterable[int]) -> "ExitCode":
        """Return the code that takes precedence; 0 if there is none."""
        return min(map(cls, codes), key=list(cls).index, default=cls.OK)

    @classmethod
    def judge_run(cls, *, has_failed: bool, is_complete: bool, has_passed: bool) -> "ExitCode":
        """Return the code of a run that asks engines.

        Args:
            has_failed: whether a case failed.
            is_complete: whether everything planned was run.
            has_passed: whether a case passed, or failed as listed.
        """
        if has_failed:
            return cls.FAILED
        if not is_complete:
            return cls.INCOMPLETE
        return cls.OK if has_passed else cls.USAGE


def summarize_exit_codes() -> str:
    """Return all codes with their meanings, in the order of the numbers."""
    return ", ".join(f"{each} {each.summary}" for each in sorted(ExitCode))
