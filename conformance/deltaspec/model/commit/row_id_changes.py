"""What a commit may say of row ids. Source: Row IDs (r1), Row Tracking (r2, r3, current)."""

from collections.abc import Iterator

from deltaspec.model.actions import Add, DomainMetadata, Remove, RowIdHighWaterMark
from deltaspec.model.features.protocol import Refused, supports
from deltaspec.model.features.table_properties import is_property_true
from deltaspec.model.log.paths import path_key
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.model.revisions import Revision
from deltaspec.model.rows import row_tracking
from deltaspec.model.rows.statistics import parse_statistics


def assigns(proposal: ProposedCommit) -> bool:
    """Whether adds of the commit have to have row ids."""
    protocol, metadata = proposal.after.protocol, proposal.after.metadata
    if protocol is None or metadata is None:
        return False
    return row_tracking.assigns_row_ids(protocol, metadata, proposal.revision)


def id_of(proposal: ProposedCommit, first: str, later: str) -> str:
    """The requirement of r1, or the one since r2."""
    return first if proposal.revision is Revision.R1 else later


def adds_have_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Every add has a base id; a new one the version of its commit, one that is committed again what it had."""
    before, after = proposal.before.metadata, proposal.after.metadata
    if not assigns(proposal) or after is None:
        return
    earlier = {} if before and is_replaced_table(before.id, after.id) else _earlier(proposal.before)
    for add in proposal.of(Add):
        known = earlier.get(path_key(add.path))
        if add.base_row_id is None and not may_lack_ids(known, proposal.revision):
            yield Refused(id_of(proposal, "row-ids.base-row-id", "row-tracking.base-row-id"), add.path)
        elif illegal_base(known, add) and proposal.revision is not Revision.R1:
            yield Refused("row-tracking.base-row-id-kept", add.path)
        if proposal.revision is Revision.R1:  # [Changed in r2] commit versions are new
            continue
        if add.default_row_commit_version is None and may_lack_ids(known, proposal.revision):
            continue
        if illegal_commit_version(known, add, proposal.version):
            kept = known is not None and known.default_row_commit_version is not None
            name = "row-tracking.commit-version-kept" if kept else "row-tracking.commit-version"
            yield Refused(name, add.path)


def is_replaced_table(id_before: str, id_after: str) -> bool:
    """Whether a commit makes another table, by the ids of metadata: what it adds is new to it, whatever its path.

    A clone may be emptied and made again of the same files, which lie elsewhere: their rows get ids of their own.
    """
    return id_before != id_after


def may_lack_ids(before: Add | Remove | None, revision: Revision = Revision.CURRENT) -> bool:
    """Whether a file may be committed without row ids: again, as it had none (r1 makes no exception)."""
    if before is None or revision is Revision.R1:  # [Changed in r2] what is committed again keeps what it had
        return False
    return before.base_row_id is None and before.default_row_commit_version is None


def illegal_base(before: Add | Remove | None, after: Add | Remove) -> bool:
    """Whether a file that had a base row id now has another."""
    return before is not None and before.base_row_id is not None and after.base_row_id != before.base_row_id


def illegal_commit_version(before: Add | Remove | None, after: Add, version: int) -> bool:
    """Whether a file has a default row commit version that it cannot have.

    Args:
        before: what was last said of its path; None where nothing is known.
        after: the file in the commit.
        version: of the commit.

    A path of which nothing is known may be one that was removed long ago, with its version of then.
    """
    if before is not None and before.default_row_commit_version is not None:
        return after.default_row_commit_version != before.default_row_commit_version
    return after.default_row_commit_version is None or after.default_row_commit_version > version


def no_version_to_come(proposal: ProposedCommit) -> Iterator[Refused]:
    """Whether or not row ids are assigned: no file says that its rows changed after its commit."""
    for add in proposal.of(Add) if proposal.revision is not Revision.R1 else ():
        if (add.default_row_commit_version or 0) > proposal.version:
            yield Refused("row-tracking.commit-version", add.path)


def removes_keep_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """A remove repeats what the last add of its path said."""
    if not assigns(proposal):
        return
    earlier = _earlier(proposal.before)
    for remove in proposal.of(Remove):
        known = earlier.get(path_key(remove.path))
        differs = isinstance(known, Add) and known.default_row_commit_version is not None
        differs = differs and remove.default_row_commit_version != (known and known.default_row_commit_version)
        if illegal_base(known, remove) or (differs and proposal.revision is not Revision.R1):
            yield Refused(id_of(proposal, "row-ids.removed-base-row-id", "remove.row-ids"), remove.path)


def _earlier(snapshot: Snapshot) -> dict[str, Add | Remove]:
    """What was last said of each path, live files first."""
    dead = {path: remove for (path, _), remove in snapshot.tombstones.items()}
    return {**dead, **{path: add for (path, _), add in snapshot.files.items()}}


def high_water_mark(snapshot: Snapshot, revision: Revision) -> int | None:
    """The highest row id ever assigned, where the text of the revision keeps it; None where it is not said."""
    if not revision.since(Revision.R3):  # [Changed in r3] from an action of its own to a domain
        mark: RowIdHighWaterMark | None = snapshot.row_id_high_water_mark
        return None if mark is None else mark.high_water_mark
    return row_tracking.high_water_mark(snapshot)


def mark_covers_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """No fresh row id is above the mark; with r1 every commit that adds a new file has one."""
    if not assigns(proposal):
        return
    mark = high_water_mark(proposal.after, proposal.revision)
    known = {key[0] for key in (*proposal.before.files, *proposal.before.tombstones)}
    moved = mark is not None and mark != high_water_mark(proposal.before, proposal.revision)
    for add in proposal.after.files.values() if moved else proposal.of(Add):
        if illegal_ids(add, mark):
            name = {Revision.R1: "row-ids.mark-covers-ids", Revision.R2: "row-tracking.mark-of-action"}
            yield Refused(name.get(proposal.revision, "row-tracking.high-water-mark"), f"{add.path} above {mark}")
    for add in proposal.of(Add):
        if proposal.revision is Revision.R1 and path_key(add.path) not in known and not proposal.of(RowIdHighWaterMark):
            yield Refused("row-ids.mark-with-new-files", add.path)


def illegal_ids(add: Add, mark: int | None) -> bool:
    """Whether a file has a fresh row id above the high-water mark; without a count of its rows the base id decides."""
    rows = _rows(add)
    if add.base_row_id is None or rows == 0:
        return False
    return mark is None or add.base_row_id + (rows or 1) - 1 > mark


def _rows(file: Add | Remove) -> int | None:
    try:
        return None if file.stats is None else parse_statistics(file.stats).num_records
    except ValueError:
        return None


def ids_are_unique(proposal: ProposedCommit) -> Iterator[Refused]:
    """Default row ids of live files do not overlap; files whose rows are not counted are left out."""
    if not assigns(proposal):
        return
    ranges = [
        (add.base_row_id, add.base_row_id + rows, add.path)
        for add in proposal.after.files.values()
        if add.base_row_id is not None and (rows := _rows(add))
    ]
    end = -1
    for start, stop, path in sorted(ranges):
        if start < end:
            yield Refused(id_of(proposal, "row-ids.base-row-id", "row-tracking.unique-default-ids"), path)
        end = max(end, stop)


def no_id_given_again(proposal: ProposedCommit) -> Iterator[Refused]:
    """A new base id is above the mark; one that an earlier commit reserved may be below: no file had it before."""
    if not assigns(proposal) or proposal.revision is Revision.R1:  # [Changed in r2]
        return
    earlier = _earlier(proposal.before)
    taken = {
        path: (file.base_row_id, file.base_row_id + max(_rows(file) or 1, 1) - 1)
        for path, file in earlier.items()
        if file.base_row_id is not None and path not in {key[0] for key in proposal.after.files}
    }
    for add in proposal.of(Add):
        known = earlier.get(path_key(add.path))
        if add.base_row_id is None or (known is not None and known.base_row_id is not None):
            continue
        last = add.base_row_id + max(_rows(add) or 1, 1) - 1
        if any(first <= last and add.base_row_id <= end for first, end in taken.values()):
            yield Refused("row-tracking.above-mark", add.path)


def enabled_table(proposal: ProposedCommit) -> Iterator[Refused]:
    """Where row ids are enabled every live file has them, and the hidden columns have names of their own."""
    protocol, metadata, revision = proposal.after.protocol, proposal.after.metadata, proposal.revision
    if protocol is None or metadata is None:
        return
    if not supports(protocol, row_tracking.get_feature_name(revision)):
        if is_property_true(metadata.configuration, row_tracking.R1_ENABLED) and revision is Revision.R1:
            yield Refused("row-ids.feature", row_tracking.R1_ENABLED)
        return
    enabled = row_tracking.is_enabled(protocol, metadata, revision)
    for name in row_tracking.get_column_properties(revision):
        column = metadata.configuration.get(name)
        schema = proposal.schema
        if column is None and enabled:
            yield Refused(id_of(proposal, "row-ids.column-name", "row-tracking.column-names"), name)
        elif column is not None and schema and row_tracking.find_conflicting_column(column, schema, proposal.mapping):
            yield Refused(id_of(proposal, "row-ids.column-name", "row-tracking.column-names-unique"), column)
    for add in proposal.after.files.values() if enabled else ():
        lacks_version = add.default_row_commit_version is None and revision is not Revision.R1
        if add.base_row_id is None or lacks_version:
            name = id_of(proposal, "row-ids.all-files-when-enabled", "row-tracking.fields-set-when-enabled")
            yield Refused(name, add.path)


def preserved_flag(proposal: ProposedCommit) -> Iterator[Refused]:
    """By r1 a mark says that ids were kept where no row is updated or copied (since r2 a commit only should)."""
    protocol, metadata = proposal.after.protocol, proposal.after.metadata
    if proposal.revision is not Revision.R1 or protocol is None or metadata is None:  # [Changed in r2]
        return
    if not row_tracking.is_enabled(protocol, metadata, proposal.revision) or may_copy_rows(proposal):
        return
    if row_tracking.read_preservation_statement(proposal.actions, proposal.revision) is False:
        yield Refused("row-ids.preserved-flag", "no row is updated or copied")


def may_copy_rows(proposal: ProposedCommit) -> bool:
    """Whether rows of the commit's new files may come from others: some are new, and some others lose rows."""
    known = {key[0] for key in (*proposal.before.files, *proposal.before.tombstones)}
    adds = [path_key(add.path) in known for add in proposal.of(Add)]
    return not all(adds) and (any(adds) or bool(proposal.of(Remove)))


def one_mark(proposal: ProposedCommit) -> Iterator[Refused]:
    """A snapshot has one mark at most, and the actions of a commit have no order (E37)."""
    if not proposal.revision.since(Revision.R3) and len(proposal.of(RowIdHighWaterMark)) > 1:  # [Changed in r3]
        yield Refused("reconciliation.one-high-water-mark", "two rowIdHighWaterMark")


def mark_is_kept(proposal: ProposedCommit) -> Iterator[Refused]:
    """The domain of the mark goes with row tracking: whoever assigns row ids must not remove it."""
    if not assigns(proposal) or not proposal.revision.since(Revision.R3):
        return
    for action in proposal.of(DomainMetadata):
        if action.domain == row_tracking.DOMAIN and (
            action.removed or row_tracking.parse_high_water_mark(action.configuration) is None
        ):
            yield Refused("row-tracking.mark-in-domain", action.domain)


CHECKS: tuple[CommitCheck, ...] = (
    no_version_to_come,
    adds_have_ids,
    removes_keep_ids,
    mark_covers_ids,
    ids_are_unique,
    no_id_given_again,
    enabled_table,
    preserved_flag,
    mark_is_kept,
    one_mark,
)
"""In the order in which `commit.judge` asks."""
