"""Exceptions of the kit. A defect of a *table* is a finding; only `Report.raise_for_violations` raises for it."""

from collections.abc import Iterable

from deltaspec.exit_codes import ExitCode


class DeltaspecError(Exception):
    """An error with a one-line message: what happened, where, and what to do next."""

    exit_code = ExitCode.BUG


class InvalidUsage(DeltaspecError):
    """The request is invalid: a wrong option, an unknown rule, or a version that the table does not have."""

    exit_code = ExitCode.USAGE


class TableUnreadable(DeltaspecError):
    """There is no table at the given location, or it cannot be opened."""

    exit_code = ExitCode.USAGE


class StorageUnavailable(TableUnreadable):
    """The storage did not answer, after all retries: the connection failed, or it answered with status 429 or 5xx.

    Nothing is known about the table, so that the run can be repeated later. Denied access is `TableUnreadable`.
    """

    exit_code = ExitCode.UNAVAILABLE


class ValidationFailed(DeltaspecError):
    """A table violates the protocol. The message has a line for the verdict and one for each of the first findings."""

    exit_code = ExitCode.FAILED


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest known one, or all of them."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"
