"""How a mutant was caught."""

import msgspec

from deltaspec.selftest.mutants import MutantSuite


class Kill(msgspec.Struct, frozen=True):
    """How a mutant was caught."""

    table: str
    """Id of the table, history or race."""
    tables: int | None
    """Number of drawn tables, histories or races until then; None if only a written one caught it."""
    check: str
    suites: tuple[MutantSuite, ...]
    """Suites that catch it on this table."""
    message: str
    """First line of the failure."""
