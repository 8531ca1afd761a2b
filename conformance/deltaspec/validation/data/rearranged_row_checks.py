"""Check that a commit that only rearranges rows writes the rows that it removes.

A commit whose removed files VACUUM deleted is skipped: nothing can show its rows any more. The report names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validation.data.change_row_reader import Projection
from deltaspec.validation.data.commit_rows import CommitFiles, read_commit_files, read_commit_rows
from deltaspec.views.data.rearranged_rows import rearranged_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.data.data_files import DataFile

_RULE = "COM022"


def check_rearranged_rows(data: DataBucket) -> None:
    """Compare the rows of every commit that states that its adds or its removes change no rows."""
    if not data.findings.has_rules_for(rearranged_rows):
        return
    versions = data.commits.rearranging
    for number, (version, unchanged) in enumerate(versions.items()):
        data.progress("rearranged rows", number, len(versions))
        commit = read_commit_files(data, version, [])
        projections = _project(data, commit)
        net = read_commit_rows(data, commit, rearranged_rows, *projections)
        if net is None:
            continue
        row = {
            "version": version,
            "file": commit.file,
            "adds_unchanged": unchanged.adds,
            "removes_unchanged": unchanged.removes,
            "net_rows": net.rows,
            "stated_net_rows": _count_stated_rows(data, commit),
        }
        if net.rows == 0:
            row["rows_match"] = _compare(data, commit, projections, net.total)
        data.findings.evaluate_rows(rearranged_rows, [row])


def _project(data: DataBucket, commit: CommitFiles) -> tuple[Projection, Projection]:
    """Return the compared columns of the added and of the removed files: columns with the same names and types.

    A commit with metadata may give the columns other names in files, as one that disables column mapping.
    """
    after, before = data.get_table_schema(commit.version), data.get_table_schema_before(commit.version)
    if after is None or before is None:
        unknown = Projection(None, _RULE, incomparable=("the table's schema is not known",))
        return unknown, unknown
    if (after.schema, after.partition_columns) != (before.schema, before.partition_columns):
        unknown = Projection(None, _RULE, incomparable=("the commit changes the schema",))
        return unknown, unknown
    if after is before:
        projection = Projection.of(after, [*commit.adds, *commit.ended], _RULE, compares_ambiguous=True)
        return projection, projection
    of_adds = Projection.of(after, commit.adds, _RULE, compares_ambiguous=True)
    return of_adds, Projection.of(before, commit.ended, _RULE, compares_ambiguous=True)


def _compare(
    data: DataBucket, commit: CommitFiles, projections: tuple[Projection, Projection], total: int | None
) -> bool | None:
    """Return whether the rows match, given the sum of their hashes; None if undecided, which is in the ledger."""
    incomparable = {reason for each in projections for reason in each.incomparable}
    ambiguous = {reason for each in projections for reason in each.ambiguous} if total else set[str]()
    for reason in sorted(incomparable | ambiguous):
        data.findings.mark_rule_undecided(_RULE, reason, commit.file)
    is_complete = len({len(each.compared_partitions) for each in projections}) == 1
    return None if total is None or ambiguous or not is_complete else total == 0


def _count_stated_rows(data: DataBucket, commit: CommitFiles) -> int | None:
    """Return the rows that the commit adds minus those that it ends, as the log states them."""
    added, ended = _sum_rows(commit.adds), _sum_rows(data.commits.find_ended_files(commit.version))
    return None if added is None or ended is None else added - ended


def _sum_rows(files: Iterable[DataFile]) -> int | None:
    total = 0
    for file in files:
        if file.num_records is None:
            return None
        total += file.num_records - (0 if file.deletion_vector is None else file.deletion_vector.cardinality)
    return total
