"""Checks of row ids in a commit. Source: Row IDs (r1), Row Tracking (r2, r3, current)."""

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


def assigns_row_ids(proposal: ProposedCommit) -> bool:
    """Return whether adds of the commit must have row ids."""
    protocol, metadata = proposal.after.protocol, proposal.after.metadata
    if protocol is None or metadata is None:
        return False
    return row_tracking.assigns_row_ids(protocol, metadata, proposal.revision)


def _select_requirement(proposal: ProposedCommit, first: str, later: str) -> str:
    """Return the requirement id for r1 or for later revisions."""
    return first if proposal.revision is Revision.R1 else later


def check_added_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a base id in every add; new files get the commit's version, files committed again keep their values."""
    before, after = proposal.before.metadata, proposal.after.metadata
    if not assigns_row_ids(proposal) or after is None:
        return
    earlier = {} if before and is_replaced_table(before.id, after.id) else _earlier(proposal.before)
    for add in proposal.actions_of_type(Add):
        known = earlier.get(path_key(add.path))
        if add.base_row_id is None and not may_omit_row_ids(known, proposal.revision):
            yield Refused(_select_requirement(proposal, "row-ids.base-row-id", "row-tracking.base-row-id"), add.path)
        elif is_illegal_base_row_id(known, add) and proposal.revision is not Revision.R1:
            yield Refused("row-tracking.base-row-id-kept", add.path)
        if proposal.revision is Revision.R1:  # [Changed in r2] commit versions are new
            continue
        if add.default_row_commit_version is None and may_omit_row_ids(known, proposal.revision):
            continue
        if is_illegal_commit_version(known, add, proposal.version):
            was_set = known is not None and known.default_row_commit_version is not None
            name = "row-tracking.commit-version-kept" if was_set else "row-tracking.commit-version"
            yield Refused(name, add.path)


def is_replaced_table(id_before: str, id_after: str) -> bool:
    """Return whether a commit creates another table, by metadata id; all its files are then new, whatever their paths.

    A clone may be emptied and filled again with the same external files; their rows get new ids.
    """
    return id_before != id_after


def may_omit_row_ids(before: Add | Remove | None, revision: Revision = Revision.CURRENT) -> bool:
    """Return whether a file may be committed without row ids: it was committed before without them (not in r1)."""
    if before is None or revision is Revision.R1:  # [Changed in r2] files committed again keep their values
        return False
    return before.base_row_id is None and before.default_row_commit_version is None


def is_illegal_base_row_id(before: Add | Remove | None, after: Add | Remove) -> bool:
    """Return whether a file that had a base row id now has another."""
    return before is not None and before.base_row_id is not None and after.base_row_id != before.base_row_id


def is_illegal_commit_version(before: Add | Remove | None, after: Add, version: int) -> bool:
    """Return whether a file has an invalid default row commit version.

    An unknown path may belong to a file that was removed long ago and keeps its version.

    Args:
        before: Last known action of the path; None if unknown.
        after: The file in the commit.
        version: Version of the commit.
    """
    if before is not None and before.default_row_commit_version is not None:
        return after.default_row_commit_version != before.default_row_commit_version
    return after.default_row_commit_version is None or after.default_row_commit_version > version


def check_future_versions(proposal: ProposedCommit) -> Iterator[Refused]:
    """Forbid a default row commit version after the commit's version, even if row ids are not assigned."""
    for add in proposal.actions_of_type(Add) if proposal.revision is not Revision.R1 else ():
        if (add.default_row_commit_version or 0) > proposal.version:
            yield Refused("row-tracking.commit-version", add.path)


def check_removed_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a remove to repeat the values of the last add of its path."""
    if not assigns_row_ids(proposal):
        return
    earlier = _earlier(proposal.before)
    for remove in proposal.actions_of_type(Remove):
        known = earlier.get(path_key(remove.path))
        differs = isinstance(known, Add) and known.default_row_commit_version is not None
        differs = differs and remove.default_row_commit_version != (known and known.default_row_commit_version)
        if is_illegal_base_row_id(known, remove) or (differs and proposal.revision is not Revision.R1):
            yield Refused(_select_requirement(proposal, "row-ids.removed-base-row-id", "remove.row-ids"), remove.path)


def _earlier(snapshot: Snapshot) -> dict[str, Add | Remove]:
    """Return the last action of each path; live files take precedence."""
    dead = {path: remove for (path, _), remove in snapshot.tombstones.items()}
    return {**dead, **{path: add for (path, _), add in snapshot.files.items()}}


def read_revision_high_water_mark(snapshot: Snapshot, revision: Revision) -> int | None:
    """Return the highest row id ever assigned, from the source that the revision defines; None if unknown."""
    if not revision.since(Revision.R3):  # [Changed in r3] a domain replaces the action
        mark: RowIdHighWaterMark | None = snapshot.row_id_high_water_mark
        return None if mark is None else mark.high_water_mark
    return row_tracking.read_high_water_mark(snapshot)


def check_high_water_mark(proposal: ProposedCommit) -> Iterator[Refused]:
    """Forbid fresh row ids above the mark; in r1, require a mark in every commit with new files."""
    if not assigns_row_ids(proposal):
        return
    mark = read_revision_high_water_mark(proposal.after, proposal.revision)
    known = {key[0] for key in (*proposal.before.files, *proposal.before.tombstones)}
    mark_changed = mark is not None and mark != read_revision_high_water_mark(proposal.before, proposal.revision)
    for add in proposal.after.files.values() if mark_changed else proposal.actions_of_type(Add):
        if has_illegal_row_ids(add, mark):
            name = {Revision.R1: "row-ids.mark-covers-ids", Revision.R2: "row-tracking.mark-of-action"}
            yield Refused(name.get(proposal.revision, "row-tracking.high-water-mark"), f"{add.path} above {mark}")
    for add in proposal.actions_of_type(Add):
        if (
            proposal.revision is Revision.R1
            and path_key(add.path) not in known
            and not proposal.actions_of_type(RowIdHighWaterMark)
        ):
            yield Refused("row-ids.mark-with-new-files", add.path)


def has_illegal_row_ids(add: Add, mark: int | None) -> bool:
    """Return whether a file has a fresh row id above the mark; without a row count, only the base id is compared."""
    rows = _rows(add)
    if add.base_row_id is None or rows == 0:
        return False
    return mark is None or add.base_row_id + (rows or 1) - 1 > mark


def _rows(file: Add | Remove) -> int | None:
    try:
        return None if file.stats is None else parse_statistics(file.stats).num_records
    except ValueError:
        return None


def check_unique_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require disjoint default row ids of live files; files without a row count are ignored."""
    if not assigns_row_ids(proposal):
        return
    ranges = [
        (add.base_row_id, add.base_row_id + rows, add.path)
        for add in proposal.after.files.values()
        if add.base_row_id is not None and (rows := _rows(add))
    ]
    end = -1
    for start, stop, path in sorted(ranges):
        if start < end:
            yield Refused(_select_requirement(proposal, "row-ids.base-row-id", "row-tracking.unique-default-ids"), path)
        end = max(end, stop)


def check_reused_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require new base ids not to overlap ids of removed files. Ids reserved by an earlier commit may be below the
    mark.
    """
    if not assigns_row_ids(proposal) or proposal.revision is Revision.R1:  # [Changed in r2]
        return
    earlier = _earlier(proposal.before)
    taken = {
        path: (file.base_row_id, file.base_row_id + max(_rows(file) or 1, 1) - 1)
        for path, file in earlier.items()
        if file.base_row_id is not None and path not in {key[0] for key in proposal.after.files}
    }
    for add in proposal.actions_of_type(Add):
        known = earlier.get(path_key(add.path))
        if add.base_row_id is None or (known is not None and known.base_row_id is not None):
            continue
        last = add.base_row_id + max(_rows(add) or 1, 1) - 1
        if any(first <= last and add.base_row_id <= end for first, end in taken.values()):
            yield Refused("row-tracking.above-mark", add.path)


def check_enabled_table(proposal: ProposedCommit) -> Iterator[Refused]:
    """If row ids are enabled, require them in every live file, and unused names for the hidden columns."""
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
            yield Refused(_select_requirement(proposal, "row-ids.column-name", "row-tracking.column-names"), name)
        elif column is not None and schema and row_tracking.find_conflicting_column(column, schema, proposal.mapping):
            yield Refused(
                _select_requirement(proposal, "row-ids.column-name", "row-tracking.column-names-unique"), column
            )
    for add in proposal.after.files.values() if enabled else ():
        has_no_version = add.default_row_commit_version is None and revision is not Revision.R1
        if add.base_row_id is None or has_no_version:
            name = _select_requirement(
                proposal, "row-ids.all-files-when-enabled", "row-tracking.fields-set-when-enabled"
            )
            yield Refused(name, add.path)


def check_preserved_flag(proposal: ProposedCommit) -> Iterator[Refused]:
    """r1: forbid `preservedRowIds=false` if the commit neither updates nor copies rows (a SHOULD since r2)."""
    protocol, metadata = proposal.after.protocol, proposal.after.metadata
    if proposal.revision is not Revision.R1 or protocol is None or metadata is None:  # [Changed in r2]
        return
    if not row_tracking.is_enabled(protocol, metadata, proposal.revision) or may_copy_rows(proposal):
        return
    if row_tracking.read_preservation_statement(proposal.actions, proposal.revision) is False:
        yield Refused("row-ids.preserved-flag", "no row is updated or copied")


def may_copy_rows(proposal: ProposedCommit) -> bool:
    """Return whether new files may contain existing rows: some files are new, and others lose rows."""
    known = {key[0] for key in (*proposal.before.files, *proposal.before.tombstones)}
    adds = [path_key(add.path) in known for add in proposal.actions_of_type(Add)]
    return not all(adds) and (any(adds) or bool(proposal.actions_of_type(Remove)))


def check_single_mark(proposal: ProposedCommit) -> Iterator[Refused]:
    """Forbid a second high-water mark action, because the actions of a commit have no order (E37)."""
    if (
        not proposal.revision.since(Revision.R3) and len(proposal.actions_of_type(RowIdHighWaterMark)) > 1
    ):  # [Changed in r3]
        yield Refused("reconciliation.one-high-water-mark", "two rowIdHighWaterMark actions")


def check_mark_domain(proposal: ProposedCommit) -> Iterator[Refused]:
    """Forbid removing the high-water mark domain while row ids are assigned."""
    if not assigns_row_ids(proposal) or not proposal.revision.since(Revision.R3):
        return
    for action in proposal.actions_of_type(DomainMetadata):
        if action.domain == row_tracking.DOMAIN and (
            action.removed or row_tracking.parse_high_water_mark(action.configuration) is None
        ):
            yield Refused("row-tracking.mark-in-domain", action.domain)


CHECKS: tuple[CommitCheck, ...] = (
    check_future_versions,
    check_added_ids,
    check_removed_ids,
    check_high_water_mark,
    check_unique_ids,
    check_reused_ids,
    check_enabled_table,
    check_preserved_flag,
    check_mark_domain,
    check_single_mark,
)
"""In the order in which `validation.check_commit` evaluates them."""
