"""Exceptions of the kit. A defect of a *table* is a finding; only `Report.raise_for_violations` raises for it."""


class DeltaspecError(Exception):
    """What happened, where, and what to do next, in one line."""

    exit_code = 4


class InvalidUsage(DeltaspecError):
    """The question cannot be asked: wrong option, unknown rule, no such version."""

    exit_code = 2


class TableUnreadable(DeltaspecError):
    """There is no table at the place named, or it cannot be opened."""

    exit_code = 2


class ValidationFailed(DeltaspecError):
    """`Report.raise_for_violations` raises it; the message has the table, the verdict and the first findings."""

    exit_code = 1
