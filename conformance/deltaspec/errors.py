"""Exceptions of the kit itself. What is wrong with a *table* is a finding, never an exception that leaves the kit."""


class DeltaspecError(Exception):
    """What happened, where, and what to do next, in one line."""

    exit_code = 4


class InvalidUsage(DeltaspecError):
    """The question cannot be asked: wrong option, unknown rule, no such version."""

    exit_code = 2


class TableUnreadable(DeltaspecError):
    """There is no table at the place named, or it cannot be opened."""

    exit_code = 2
