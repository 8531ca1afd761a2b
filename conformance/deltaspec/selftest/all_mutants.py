"""All mutants of the self-test."""

from deltaspec.selftest.mutants import MUTANTS
from deltaspec.selftest.readers import checkpoints, log_listing, reconciliation

READER_MODULES = (log_listing, reconciliation, checkpoints)
"""Their import registers the mutants."""

__all__ = ["MUTANTS", "READER_MODULES"]
