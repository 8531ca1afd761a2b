"""Checks of row ids in a commit. Source: Row IDs (r1), Row Tracking (r2, r3, current)."""

from collections.abc import Iterator

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    refuse_illegal_files,
    refuse_illegal_state,
)
from deltaspec.model.log.reconciliation import FileKey, Snapshot
from deltaspec.model.rows import row_ids
from deltaspec.protocol.actions import Add, Remove, RowIdHighWaterMark
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.files.statistics import count_records
from deltaspec.protocol.revisions import Revision


def assigns_row_ids(proposal: ProposedCommit) -> bool:
    """Return whether adds of the commit must have row ids."""
    protocol, metadata = proposal.after.protocol, proposal.after.metadata
    if protocol is None or metadata is None:
        return False
    return row_tracking.assigns_row_ids(protocol, metadata, proposal.revision)


def _select_requirement(revision: Revision, first: str, later: str) -> str:
    """Return the requirement id for r1 or for later revisions."""
    return first if revision is Revision.R1 else later


def check_added_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require new files to get the commit's version, and files committed again to keep their values."""
    before, after = proposal.before.metadata, proposal.after.metadata
    # [Changed in r2] files committed again keep their values, and commit versions are new
    if not assigns_row_ids(proposal) or after is None or proposal.revision is Revision.R1:
        return
    is_replaced = before is not None and is_replaced_table(before.id, after.id)
    earlier = _last_actions(proposal)
    for add in proposal.actions_of_type(Add):
        known, version = earlier.get(path_key(add.path)), add.default_row_commit_version
        if known is not None and not is_replaced:
            if is_illegal_base_row_id(known, add):
                yield Refused("row-tracking.base-row-id-kept", add.path)
            if None not in (version, known.default_row_commit_version) and version != known.default_row_commit_version:
                yield Refused("row-tracking.commit-version-kept", add.path)
        if known is None and proposal.knows_complete_history and version is not None and version < proposal.version:
            yield Refused("row-tracking.fresh-version", f"{add.path} has version {version}")


def check_required_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require row ids in every add; since r2 not in a file that was committed before without them."""
    if not assigns_row_ids(proposal):
        return
    earlier = _last_actions(proposal)
    for add in proposal.actions_of_type(Add):
        if may_omit_row_ids(earlier.get(path_key(add.path)), proposal.revision):
            continue
        if add.base_row_id is None:
            yield Refused(
                _select_requirement(proposal.revision, "row-ids.base-row-id", "row-tracking.base-row-id"), add.path
            )
        if add.default_row_commit_version is None and proposal.revision is not Revision.R1:  # [Changed in r2]
            yield Refused("row-tracking.commit-version", add.path)


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


def check_future_versions(proposal: ProposedCommit) -> Iterator[Refused]:
    """Forbid a default row commit version after the commit's version, even if row ids are not assigned."""
    for add in proposal.actions_of_type(Add) if proposal.revision is not Revision.R1 else ():
        if (add.default_row_commit_version or 0) > proposal.version:
            yield Refused("row-tracking.commit-version", add.path)


def check_removed_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a remove to repeat the values of the last add of its path."""
    if not assigns_row_ids(proposal):
        return
    earlier = _last_actions(proposal)
    for remove in proposal.actions_of_type(Remove):
        known = earlier.get(path_key(remove.path))
        differs = isinstance(known, Add) and known.default_row_commit_version is not None
        differs = differs and remove.default_row_commit_version != (known and known.default_row_commit_version)
        if isinstance(known, Add) and (is_illegal_base_row_id(known, remove) or differs):
            yield Refused(
                _select_requirement(proposal.revision, "row-ids.removed-base-row-id", "remove.row-ids"), remove.path
            )


def _last_actions(proposal: ProposedCommit) -> dict[str, Add | Remove]:
    """Return the last add of each path, or its tombstone if the add is unknown."""
    actions: dict[str, Add | Remove] = {path: remove for (path, _), remove in proposal.before.tombstones.items()}
    return {**actions, **{path: add for (path, _), add in proposal.last_added_files.items()}}


def read_revision_high_water_mark(snapshot: Snapshot, revision: Revision) -> int | None:
    """Return the highest row id ever assigned, from the source that the revision defines; None if unknown."""
    if not revision.since(Revision.R3):  # [Changed in r3] a domain replaces the action
        mark: RowIdHighWaterMark | None = snapshot.row_id_high_water_mark
        return None if mark is None else mark.high_water_mark
    return row_ids.read_high_water_mark(snapshot)


def check_high_water_mark(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a mark that covers all row ids that were assigned since the table supports them, as far as known.

    A file is not judged again while neither its ids nor the mark change.
    """
    if not assigns_row_ids(proposal):
        return
    mark = read_revision_high_water_mark(proposal.after, proposal.revision)
    before = read_revision_high_water_mark(proposal.before, proposal.revision)
    known: dict[FileKey, Add] = {}
    for snapshot in proposal.history:
        if TableVersion(snapshot, proposal.revision).supports(row_tracking.get_feature_name(proposal.revision)):
            known.update(snapshot.files)
        else:
            known.clear()  # row ids start over when the feature is dropped
    for key, add in {**known, **proposal.after.files}.items():
        last = get_last_row_id(add)
        if last is None or (mark is not None and last <= mark):
            continue
        if known.get(key) is add and (before is None if mark is None else before is not None and last > before):
            continue
        if mark is None:
            name = _select_requirement(proposal.revision, "row-ids.mark-with-new-files", "row-tracking.mark-in-domain")
            yield Refused(name, f"{add.path} has row ids, the table has no mark")
        else:
            names = {Revision.R1: "row-ids.mark-covers-ids", Revision.R2: "row-tracking.mark-of-action"}
            name = names.get(proposal.revision, "row-tracking.high-water-mark")
            yield Refused(name, f"{add.path} has row id {last}, the mark is {mark}")


def check_mark_of_new_files(proposal: ProposedCommit) -> Iterator[Refused]:
    """r1: require a mark in every commit with new files, if the table has one."""
    if proposal.revision is not Revision.R1 or not assigns_row_ids(proposal):  # [Changed in r2]
        return
    earlier = _last_actions(proposal)
    is_new = any(path_key(add.path) not in earlier for add in proposal.actions_of_type(Add))
    if is_new and proposal.after.row_id_high_water_mark and not proposal.actions_of_type(RowIdHighWaterMark):
        yield Refused("row-ids.mark-while-reserved", "new files, but no rowIdHighWaterMark")


def get_last_row_id(add: Add) -> int | None:
    """Return the default row id of the last row; None without a row id or a row count, or for a file without rows."""
    rows = count_records(add)
    if add.base_row_id is None or add.base_row_id < 0 or rows is None or rows <= 0:
        return None
    return add.base_row_id + rows - 1


def check_unique_ids(table: TableVersion) -> Iterator[Refused]:
    """Require disjoint default row ids of live files; files without a row count are ignored."""
    protocol, metadata = table.protocol, table.metadata
    if protocol is None or metadata is None or not row_tracking.assigns_row_ids(protocol, metadata, table.revision):
        return
    ranges = [
        (add.base_row_id or 0, last, add.path)
        for add in table.snapshot.files.values()
        if (last := get_last_row_id(add)) is not None
    ]
    end, owner = -1, ""
    for start, last, path in sorted(ranges):
        if start <= end:
            name = _select_requirement(table.revision, "row-ids.base-row-id", "row-tracking.unique-default-ids")
            yield Refused(name, f"{owner} and {path}")
        if last > end:
            end, owner = last, path


def check_reused_ids(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require new row ids not to overlap ids of removed files. Ids reserved by an earlier commit may be below the mark.

    Row ids start over when the feature is dropped.
    """
    if not assigns_row_ids(proposal) or proposal.revision is Revision.R1:  # [Changed in r2]
        return
    assigned: set[tuple[str, int, int]] = set()
    for snapshot in proposal.history:
        if snapshot.protocol is None or not supports(snapshot.protocol, row_tracking.FEATURE):
            assigned = set()
            continue
        assigned |= {_row_id_range(path, add) for (path, _), add in snapshot.files.items() if get_last_row_id(add)}
    live = {key[0] for key in proposal.after.files}
    for add in proposal.actions_of_type(Add):
        last = get_last_row_id(add)
        if last is None or add.base_row_id is None:
            continue
        own = path_key(add.path)
        if any(path == own and first == add.base_row_id for path, first, _ in assigned):
            continue
        for path, first, end in sorted(assigned):
            if path not in (*live, own) and first <= last and add.base_row_id <= end:
                yield Refused("row-tracking.above-mark", f"{add.path} has row ids of {path}")


def _row_id_range(path: str, add: Add) -> tuple[str, int, int]:
    return path, add.base_row_id or 0, get_last_row_id(add) or 0


def check_hidden_columns(table: TableVersion) -> Iterator[Refused]:
    """Require names of the hidden columns if row ids are enabled; no other column may have such a name."""
    protocol, metadata, revision = table.protocol, table.metadata, table.revision
    if protocol is None or metadata is None or not supports(protocol, row_tracking.get_feature_name(revision)):
        return
    enabled = row_tracking.is_enabled(protocol, metadata, revision)
    for name in row_tracking.get_column_properties(revision):
        column = metadata.configuration.get(name)
        if column is None and enabled:
            yield Refused(_select_requirement(revision, "row-ids.column-name", "row-tracking.column-names"), name)
        taken = row_tracking.find_conflict(name, metadata.configuration, table.schema, table.mapping, revision)
        if taken is not None:
            requirement = _select_requirement(revision, "row-ids.column-name", "row-tracking.column-names-unique")
            yield Refused(requirement, f"{name} = {column!r} is the name of {taken}")


def check_former_hidden_columns(proposal: ProposedCommit) -> Iterator[Refused]:
    """Forbid a table column with the name of a former hidden column: older files store ids under it."""
    before, after = proposal.version_before, proposal.version_after
    if after.schema is None or after.metadata is None or proposal.revision is Revision.R1:  # [Changed in r2]
        return
    former = _collect_hidden_columns(proposal, after.metadata.id)
    for column in sorted(former.keys() - after.metadata.configuration.values()):
        taken = row_tracking.find_conflicting_column(column, after.schema, after.mapping)
        was_taken = (
            before.schema is not None
            and before.metadata is not None
            and column not in before.metadata.configuration.values()
            and taken == row_tracking.find_conflicting_column(column, before.schema, before.mapping)
        )
        if taken is not None and not was_taken:
            yield Refused("row-tracking.column-names-unique", f"{former[column]} was {column!r}, the name of {taken}")


def _collect_hidden_columns(proposal: ProposedCommit, table_id: str) -> dict[str, str]:
    """Return the names of the hidden columns in earlier versions of a table, with the property of each."""
    found: dict[str, str] = {}
    for snapshot in proposal.history:
        protocol, metadata = snapshot.protocol, snapshot.metadata
        if protocol is None or metadata is None or is_replaced_table(metadata.id, table_id):
            found.clear()
        elif supports(protocol, row_tracking.get_feature_name(proposal.revision)):
            found |= row_tracking.get_column_names(metadata, proposal.revision)
    return found


def check_enabled_files(table: TableVersion, add: Add) -> Iterator[Refused]:
    """If row ids are enabled, require them in every live file."""
    protocol, metadata, revision = table.protocol, table.metadata, table.revision
    if protocol is None or metadata is None or not row_tracking.is_enabled(protocol, metadata, revision):
        return
    if add.base_row_id is None or (add.default_row_commit_version is None and revision is not Revision.R1):
        name = _select_requirement(revision, "row-ids.all-files-when-enabled", "row-tracking.fields-set-when-enabled")
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


CHECKS: tuple[CommitCheck, ...] = (
    check_future_versions,
    check_added_ids,
    check_required_ids,
    check_removed_ids,
    check_high_water_mark,
    check_mark_of_new_files,
    refuse_illegal_state(check_unique_ids),
    check_reused_ids,
    refuse_illegal_state(check_hidden_columns),
    check_former_hidden_columns,
    refuse_illegal_files(check_enabled_files),
    check_preserved_flag,
)
"""In the order in which `validation.check_commit` evaluates them."""
