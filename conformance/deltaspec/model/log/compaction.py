"""Log compactions: the reconciled actions of a range of commits. Source: Log Compaction Files (since r3).

A compaction replaces its commits on top of any earlier state. It therefore keeps what a snapshot omits: removes of
files that the range itself added, and domains that the range removed (S26). commitInfo and cdc belong to single
commits and are omitted; a snapshot at the end of the range reads commitInfo from the commit (Action Reconciliation,
current).
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, replay_commit, replay_log
from deltaspec.model.log.state_differences import Difference, compare_keyed, compare_single
from deltaspec.protocol.actions import Action, DomainMetadata
from deltaspec.protocol.log.compared_fields import PartitionTypes
from deltaspec.protocol.revisions import Revision


def build_compaction(
    commits: Mapping[int, Iterable[Action]], start: int, end: int, revision: Revision = Revision.CURRENT
) -> list[Action]:
    """Return the actions of the compaction of commits `start` to `end`, both included.

    They are ordered by kind (protocol, metaData, add, remove, txn, domainMetadata), then by first appearance. The order
    has no meaning.

    Raises:
        ValueError: The range is empty or, in `current`, a single commit.
        KeyError: A commit of the range is missing.
    """
    # [Changed in current] a range has at least two commits; r3 does not say
    if end < start or (end == start and revision is Revision.CURRENT):
        raise ValueError(f"cannot compact commits {start} to {end}")
    within = {version: list(commits[version]) for version in range(start, end + 1)}
    state = replay_log(within, base=replace(EMPTY_SNAPSHOT, version=start - 1), to=end, revision=revision)
    actions: list[Action] = [each for each in (state.protocol, state.metadata) if each is not None]
    actions += state.files.values()
    actions += state.tombstones.values()
    actions += state.transactions.values()
    actions += _domains(action for version in sorted(within) for action in within[version]).values()
    return actions


def _domains(actions: Iterable[Action]) -> dict[str, DomainMetadata]:
    """Return the newest action of each domain, including removals."""
    return {each.domain: each for each in actions if isinstance(each, DomainMetadata)}


def compare_compaction(
    commits: Mapping[int, Iterable[Action]],
    start: int,
    end: int,
    derived: Iterable[Action],
    *,
    types: PartitionTypes | None = None,
    revision: Revision = Revision.CURRENT,
) -> list[Difference]:
    """Return the differences between a compaction and its commits; empty for a correct one.

    Every difference is `retained`, because nothing expires within a range.

    Args:
        commits: At least the commits of the range.
        start: First version of the range.
        end: Last version of the range, included.
        derived: Actions of the compaction.
        types: Partition columns from `state_differences.read_partition_types`; without them, values are compared as
            strings.
        revision: Protocol revision.
    """
    types = types or {}
    derived, expected = list(derived), build_compaction(commits, start, end, revision)
    ours = replay_commit(EMPTY_SNAPSHOT, end, derived, revision)
    theirs = replay_commit(EMPTY_SNAPSHOT, end, expected, revision)
    found = compare_single("compaction", "protocol", ours.protocol, theirs.protocol, types)
    found += compare_single("compaction", "metaData", ours.metadata, theirs.metadata, types)
    found += compare_keyed("compaction", "add", ours.files, theirs.files, types)
    found += compare_keyed("compaction", "remove", ours.tombstones, theirs.tombstones, types)
    found += compare_keyed("compaction", "txn", ours.transactions, theirs.transactions, types)
    found += compare_keyed("compaction", "domainMetadata", _domains(derived), _domains(expected), types)
    return found
