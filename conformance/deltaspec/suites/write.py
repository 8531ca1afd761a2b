"""Suite write: a candidate performs a history of operations, and the kit judges the table after each of them.

All checks of a history share one performance; each judges one aspect, so that one fault does not hide another.
"""

from deltaspec.candidates.host import Candidate
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, Weak, check
from deltaspec.suites.performance import Aspect

_NOTHING_TO_COMPARE: dict[Aspect, str] = {
    "refusals": "no operation of the history is forbidden",
    "changes": "no operation of the history is recorded in a change data feed",
    "row-ids": "the history does not enable row tracking",
    "timestamps": "the history does not enable in-commit timestamps",
    "cleanup": "no operation of the history deletes old files of the log",
    "clustering": "the history does not compact a table that another engine has clustered",
    "type-changes": "no operation of the history changes a type",
    "readers": "only one engine writes (--with names others)",
}
"""Reason why an aspect cannot be judged in a history."""


def _judge(candidate: Candidate, subject: TableUnderTest, notes: Notes, aspect: Aspect) -> None:
    """Perform the history and raise the first problem of an aspect."""
    assert subject.history is not None
    if "create" not in candidate.capabilities.kinds or "append" not in candidate.capabilities.kinds:
        raise NotAsked("the candidate does not declare the kinds create and append")
    done = subject.history.perform(candidate)
    for name, number in done.counts.get(aspect, {}).items():
        notes.add(name, number)
    if done.not_asked:
        raise NotAsked(done.not_asked)
    problem = done.problems.get(aspect)
    if problem is None:
        if not any(done.counts.get(aspect, {}).values()):
            raise NotAsked(_NOTHING_TO_COMPARE.get(aspect, "the history ended before"))
        if aspect == "operations" and done.not_supported:
            raise NotAsked(f"declared, but refused as unsupported: {', '.join(sorted(done.not_supported))}")
        return
    notes.history = tuple(done.titles[: problem.steps])
    if problem.died is not None:
        raise problem.died
    raise (Weak if problem.is_weak else Mismatch)(problem.message)


@check("write", operation="apply")
def check_operations(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Every operation that the table allows is performed or not supported, and answered with its version."""
    _judge(candidate, subject, notes, "operations")


@check("write", "check-constraints.rows-checked", "column-invariants.rows-refused", "column-mapping.max-id-internal",
       "configuration.codec-unsupported", "identity-columns.explicit-values", "identity-columns.overflow",
       "table-features.used-ones-respected", "table-features.writer-supports-all", "transaction.atomic",
       operation="apply")  # fmt: skip
def check_refusals(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Every operation that the protocol forbids is refused for the right reason and leaves no commit."""
    _judge(candidate, subject, notes, "refusals")


@check("write", "checksum.not-overwritten", "consistency.unique-file-names",
       "vacuum-protocol-check.checked-before-vacuum", operation="apply")  # fmt: skip
def check_files(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Nothing outside of the table changes, and no file changes or disappears, except by a vacuum or cleanup."""
    _judge(candidate, subject, notes, "files")


@check("write", operation="apply")
def check_valid(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The table with its history validates after every operation, at level rows."""
    _judge(candidate, subject, notes, "valid")


@check("write", "configuration.codec-unsupported", "default-columns.assigned", "identity-columns.explicit-values",
       "identity-columns.sequence", "identity-columns.unique", "log.versions-atomic", "remove.expires",
       "transaction.atomic", operation="apply")  # fmt: skip
def check_rows(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The reference reader returns the rows that every operation defines, in the same version as its txn."""
    _judge(candidate, subject, notes, "rows")


@check("write", "domain.known-changed-only", operation="apply")
def check_state(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Schema, partition columns, properties, constraints, transactions and domains are as the history defines."""
    _judge(candidate, subject, notes, "state")


@check("write", "cdc.for-updates", "cdc.whole-changes", operation="apply")
def check_changes(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Where the change data feed is enabled, every operation has the changes that the history defines."""
    _judge(candidate, subject, notes, "changes")


@check("write", "row-tracking.stable-for-all", operation="apply")
def check_row_ids(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Where row tracking is enabled, rows keep their ids, and changed rows get the version of the operation."""
    _judge(candidate, subject, notes, "row-ids")


@check("write", "in-commit-timestamp.clock", operation="apply")
def check_timestamps(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """In-commit timestamps are the clock, or one millisecond after the previous timestamp if that is later."""
    _judge(candidate, subject, notes, "timestamps")


@check("write", "checkpoint-protection.cleanup", "cleanup.cutoff-at-midnight", "cleanup.deletes-older",
       "cleanup.keeps-cutoff-commit", "cleanup.nothing-without-checkpoint", "cleanup.young-sidecars",
       operation="apply")  # fmt: skip
def check_cleanup(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A cleanup of the log deletes files older than the checkpoint of the cutoff, and no file that must stay."""
    _judge(candidate, subject, notes, "cleanup")


@check("write", "clustering.own-files", operation="apply")
def check_clustering(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A compaction of a clustered table does not cluster the files of another implementation again."""
    _judge(candidate, subject, notes, "clustering")


@check("write", "type-widening.offered", operation="apply")
def check_type_changes(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """While type widening is enabled, every listed type change is offered, at every depth."""
    _judge(candidate, subject, notes, "type-changes")


@check("write", "log.versions-atomic", operation="apply")
def check_readers(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """With several engines that write in turn, each of them reads the rows after every operation."""
    _judge(candidate, subject, notes, "readers")
