"""Faulty readers of the self-test, as classes for tests that need one."""

from deltaspec.selftest.all_mutants import MUTANTS

IgnoresVectors = type(MUTANTS["deletion-vectors.vectors-ignored"].build())
KeepsRemovedFiles = type(MUTANTS["reconciliation.removes-ignored"].build())
IgnoresUnknownFeatures = type(MUTANTS["refusals.unknown-features-ignored"].build())

FAULTY_READERS = tuple(
    MUTANTS[name]
    for name in (
        "deletion-vectors.vectors-ignored",
        "deletion-vectors.bits-reversed",
        "reconciliation.removes-ignored",
        "column-mapping.ids-ignored",
        "checkpoints.last-sidecar-dropped",
        "statistics.cut-maxima-taken-for-largest",
        "partition-values.null-read-as-empty-text",
        "refusals.unknown-features-ignored",
        "log-listing.hint-taken-for-newest-version",
        "time-travel.version-after-returned",
    )
)
"""Mutants that each of their suites must catch."""
