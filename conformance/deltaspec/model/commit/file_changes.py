"""Checks of the file actions in a commit. Source: Add File and Remove File, Add CDC File, Deletion Vectors."""

from collections import Counter
from collections.abc import Iterator

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    read_mapping_mode,
    read_schema,
    refuse_illegal_files,
)
from deltaspec.model.log.reconciliation import get_file_key
from deltaspec.model.rows import changed_rows
from deltaspec.protocol.actions import Add, Cdc, Remove
from deltaspec.protocol.features.materialized_partitions import find_requiring_features
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.protocol.files.entry_names import EntryNames, collect_entry_names, find_misnamed_entry
from deltaspec.protocol.files.partition_values import (
    PartitionValueError,
    find_changed_value,
    find_deviation,
    is_canonical,
    is_in_utc,
    parse_partition_value,
)
from deltaspec.protocol.files.paths import is_absolute, path_key
from deltaspec.protocol.files.statistics import StatisticsError, count_records, find_null_columns, parse_statistics
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, DELETION_VECTORS
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import DataType, Primitive, Struct, iter_fields
from deltaspec.protocol.schema.required_columns import list_required_leaves
from deltaspec.protocol.schema.schema_string import SchemaError, find_void_fault, read_type_changes


def check_repeated_actions(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: forbid repeated adds or removes, and add plus remove of a logical file (E36)."""
    adds, removes = proposal.actions_of_type(Add), proposal.actions_of_type(Remove)
    for path in _twice(adds):
        yield Refused("reconciliation.no-repeated-actions", f"{path} is added twice")
    for path in _twice(removes):
        yield Refused("reconciliation.no-repeated-actions", f"{path} is removed twice")
    for path, _ in sorted({get_file_key(add) for add in adds} & {get_file_key(remove) for remove in removes}, key=str):
        yield Refused("reconciliation.live-and-dead-disjoint", f"{path} is added and removed")


def _twice(actions: list[Add] | list[Remove]) -> list[str]:
    return [path for path, times in Counter(path_key(action.path) for action in actions).items() if times > 1]


def check_replaced_vectors(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: require that a new vector of a live file replaces the previous one."""
    if proposal.revision is not Revision.CURRENT:  # [Changed in current] earlier revisions do not say
        return
    removed = {get_file_key(remove) for remove in proposal.actions_of_type(Remove)}
    for add in proposal.actions_of_type(Add):
        path, vector = get_file_key(add)
        for key in find_conflicting_vectors(path, vector, {*proposal.before.files}, removed):
            yield Refused("add.live-vector-removed", f"{path} stays live with {key[1]}")


def find_conflicting_vectors(
    path: str, vector: str | None, live: set[tuple[str, str | None]], removed: set[tuple[str, str | None]]
) -> list[tuple[str, str | None]]:
    """Return the live logical files of the added path with another vector that the commit does not remove.

    Args:
        path: Key of the added path.
        vector: Id of its vector.
        live: Keys of the logical files before the commit.
        removed: Keys that the commit removes.
    """
    return [key for key in live if key[0] == path and key[1] != vector and key not in removed]


def check_sizes(proposal: ProposedCommit) -> Iterator[Refused]:
    """Data Files: a path that was added before keeps its size, because its file must not be overwritten."""
    sizes = {path: add.size for snapshot in proposal.history for (path, _), add in snapshot.files.items()}
    for add in proposal.actions_of_type(Add):
        size = sizes.get(path_key(add.path), add.size)
        if size != add.size:
            yield Refused("consistency.unique-file-names", f"{add.path} had {size} bytes and now has {add.size}")


def check_deletion_vectors(proposal: ProposedCommit) -> Iterator[Refused]:
    """Deletion Vectors: require that new vectors are made while the property enables them."""
    table = proposal.version_after
    # [Changed in r3] the property is new
    if not table.supports("deletionVectors") or not proposal.revision.since(Revision.R3):
        return
    if table.configuration.get(DELETION_VECTORS, "false").lower() != "false":  # or an invalid value
        return
    known = {key for snapshot in proposal.history for key in (*snapshot.files, *snapshot.tombstones)}
    for add in proposal.actions_of_type(Add):
        is_new = get_vector_id(add) is not None and get_file_key(add) not in known
        if is_new and proposal.before.version >= 0 and not reuses_existing_files(proposal.operation):
            yield Refused("deletion-vectors.made-while-enabled", add.path)


def check_vector_support(table: TableVersion, add: Add) -> Iterator[Refused]:
    """Deletion Vectors: require the feature, and a record count."""
    if add.deletion_vector is None:
        return
    if table.features is not None and not table.supports("deletionVectors"):
        yield Refused("deletion-vectors.needs-feature", add.path)
    if not has_row_count(add):
        yield Refused("deletion-vectors.needs-num-records", add.path)


def has_row_count(add: Add) -> bool:
    """Return whether the statistics of a file include the number of records."""
    return count_records(add) is not None


def check_partition_values(table: TableVersion, file: Add | Cdc) -> Iterator[Refused]:
    """Partition Values: require a value of its type for each partition column, under its physical name.

    Values of other columns are undecided.
    """
    schema, metadata = table.schema, table.metadata
    if schema is None or metadata is None or table.features is None:
        return
    types = column_mapping.get_partition_types(schema, metadata.partition_columns, table.mapping)
    if len(types) < len(set(metadata.partition_columns)):
        return  # the metadata is illegal
    physical_names = column_mapping.list_physical_partition_columns(schema, metadata.partition_columns, table.mapping)
    for name, key in zip(metadata.partition_columns, physical_names, strict=True):
        if key not in file.partition_values:
            misnamed = name != key and name in file.partition_values and name not in types
            requirement = "column-mapping.partition-keys-physical" if misnamed else "add.partition-values"
            yield Refused(requirement, f"{file.path} has no value of {key}")
            continue
        value = file.partition_values[key]
        fault = _find_value_fault(value, types[key], table.revision)
        # a file that is added again keeps the text of the type that its column had
        earlier = _list_earlier_types(schema, name)
        if fault is not None and all(_find_value_fault(value, kind, table.revision) for kind in earlier):
            yield Refused("partition-values.serialization", f"{file.path}: {key}: {fault}")


def _list_earlier_types(schema: Struct, name: str) -> list[DataType]:
    """Return the types that a column had, as its metadata records them."""
    fields = (each for each in schema.fields if each.name == name)
    try:
        return [change.before for field in fields for change in read_type_changes(field)]
    except SchemaError:
        return []  # the metadata is illegal


def check_former_partition_columns(proposal: ProposedCommit) -> Iterator[Refused]:
    """Partition Values: forbid that a partition column becomes another while only the log has its values.

    Readers take the values of other columns from the files, which need not store partition columns.
    """
    old, new = proposal.version_before, proposal.version_after
    if None in (old.schema, new.schema, old.protocol, old.metadata, old.features, new.features):
        return
    if old.protocol and old.metadata and find_requiring_features(old.protocol, old.metadata):
        return
    before, after = _list_partition_keys(old), _list_partition_keys(new)
    former = before.keys() - after.keys() - set(after.values())
    for add in proposal.remaining_files if former else ():
        lost = sorted(name for name in former if add.partition_values.get(name))
        if lost and after.keys() <= add.partition_values.keys():
            yield Refused("add.partition-values", f"{add.path} has a value of {lost[0]}, not a partition column")


def _list_partition_keys(table: TableVersion) -> dict[str, str]:
    """Return physical to logical name of the partition columns."""
    if table.schema is None or table.metadata is None:
        return {}
    names = table.metadata.partition_columns
    keys = column_mapping.list_physical_partition_columns(table.schema, names, table.mapping)
    return dict(zip(keys, names, strict=True))


def check_required_columns(table: TableVersion, add: Add) -> Iterator[Refused]:
    """Struct Field: forbid files whose partition values or null counts show null in a column that is not nullable.

    The partition value of a file without rows is the value of no row.
    """
    if table.schema is None or table.metadata is None or table.features is None:
        return
    types = column_mapping.get_partition_types(table.schema, table.metadata.partition_columns, table.mapping)
    deleted_rows = add.deletion_vector.cardinality if add.deletion_vector else 0
    nulls = _find_null_columns(add, deleted_rows)
    for path in list_required_leaves(table.schema, table.mapping):
        if len(path) == 1 and path[0] in types:
            has_rows = count_records(add) is None or _count_valid_rows(add)
            is_null = path[0] in add.partition_values and not add.partition_values[path[0]] and has_rows
        else:
            is_null = path in nulls
        if is_null:
            yield Refused("data-files.required-columns", f"{add.path} has null in {'.'.join(path)}")


def _find_null_columns(add: Add, deleted_rows: int) -> set[tuple[str, ...]]:
    try:
        return set() if add.stats is None else set(find_null_columns(parse_statistics(add.stats), deleted_rows))
    except StatisticsError:
        return set()


def _find_value_fault(text: str | None, data_type: DataType, revision: Revision) -> str | None:
    try:
        parse_partition_value(text, data_type)
    except PartitionValueError as fault:
        return str(fault)
    if find_deviation(text, data_type) == "undefined":
        return f"{text!r} is in no form of the protocol"
    # [Changed in current] timestamps may have a time zone
    is_newer = (
        text is not None and data_type == Primitive("timestamp") and is_canonical(text, data_type) and is_in_utc(text)
    )
    return f"{text!r} is ISO 8601" if is_newer and revision is not Revision.CURRENT else None


def check_change_file_values(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add CDC File: require partition values as for added files."""
    for cdc in proposal.actions_of_type(Cdc):
        yield from check_partition_values(proposal.version_after, cdc)


def check_statistics_names(proposal: ProposedCommit) -> Iterator[Refused]:
    """Column Mapping: require statistics under physical names, or under logical names if columns are not mapped.

    A mode that the protocol does not support is another fault. If columns are mapped, dropped columns may have had any
    name, so all versions must be known.
    """
    table = proposal.version_after
    is_off = table.mapping is None and table.configuration.get(COLUMN_MAPPING_MODE) in ("id", "name")
    if table.schema is None or is_off or (table.mapping is not None and not proposal.knows_complete_history):
        return
    names = collect_entry_names(table.schema, table.mapping, _collect_names(proposal))
    if names is None:
        return
    for add in proposal.actions_of_type(Add):
        entry = _find_misnamed_entry(add, names)
        if entry is not None:
            name = "statistics-physical" if table.mapping else "enabled-by-property"
            yield Refused(f"column-mapping.{name}", f"{add.path} has statistics {entry}")


def check_renamed_columns(proposal: ProposedCommit) -> Iterator[Refused]:
    """Column Mapping: require that turning the mapping on or off keeps the names under which files store columns.

    While the mapping is on, a column is identified by its id.
    """
    old, new = proposal.version_before, proposal.version_after
    if (old.mapping is None) == (new.mapping is None) or old.schema is None or new.schema is None:
        return
    names_before, names_after = _list_stored_names(old), _list_stored_names(new)
    renamed = {path for path, name in names_before.items() if names_after.get(path, name) != name}
    for add in proposal.remaining_files if renamed else ():
        columns = renamed
        for snapshot in proposal.snapshots_with(add):
            columns = columns & _list_stored_names(TableVersion(snapshot, proposal.revision)).keys()
        if columns and count_records(add) != 0:
            yield Refused("column-mapping.physical-names-in-files", f"{add.path} stores {'.'.join(min(columns))}")


def _list_stored_names(table: TableVersion) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the physical path of each column that data files store, by logical path."""
    if table.schema is None or table.metadata is None:
        return {}
    fields = zip(
        iter_fields(table.schema), column_mapping.list_physical_paths(table.schema, table.mapping), strict=True
    )
    return {
        path: physical
        for (path, field), (physical, _) in fields
        if field.type != Primitive("void") and path[0] not in table.metadata.partition_columns
    }


def _collect_names(proposal: ProposedCommit) -> frozenset[str]:
    """Return the names that any column has or had in files, in any known version."""
    found: set[str] = set()
    for snapshot in (*proposal.history, proposal.after):
        schema = read_schema(snapshot.metadata)
        if schema is not None:
            paths = column_mapping.list_physical_paths(schema, read_mapping_mode(snapshot))
            found |= {path[-1] for path, _ in paths}
    return frozenset(found)


def _find_misnamed_entry(add: Add, names: EntryNames) -> str | None:
    try:
        statistics = None if add.stats is None else parse_statistics(add.stats)
    except ValueError:
        return None
    if statistics is None:
        return None
    entries = {
        "minValues": statistics.min_values,
        "maxValues": statistics.max_values,
        "nullCount": statistics.null_count,
    }
    return find_misnamed_entry(entries, names)


def check_void_columns(proposal: ProposedCommit) -> Iterator[Refused]:
    """Void Type: forbid adding data files to a table that has only void columns to store."""
    if proposal.revision is not Revision.CURRENT or proposal.schema is None:  # [Changed in current]
        return
    fault = find_void_fault(proposal.schema)
    if fault is not None:
        requirement, reason = fault
        for add in proposal.actions_of_type(Add):
            yield Refused(requirement, f"{add.path}: {reason}")


def check_unchanged_rows(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: require that files with `dataChange=false` neither add nor remove rows.

    The rows are counted. A remove of a file that is not live removes none (S51). What files without a count contain is
    undecided.
    """
    live, adds = proposal.before.files, proposal.actions_of_type(Add)
    removes = {get_file_key(remove): remove for remove in proposal.actions_of_type(Remove)}
    ended = [(remove, live[key]) for key, remove in removes.items() if key in live]
    added_rows = [_count_valid_rows(add) for add in adds]
    removed_rows = [_count_valid_rows(add) for _, add in ended]
    added_unchanged = sum(
        rows or 0
        for add, rows in zip(adds, added_rows, strict=True)
        if not add.data_change and (get_file_key(add) not in live or get_file_key(add) in removes)
    )
    removed_unchanged = sum(
        rows or 0 for (remove, _), rows in zip(ended, removed_rows, strict=True) if not remove.data_change
    )
    if None not in removed_rows and added_unchanged and added_unchanged > sum(rows or 0 for rows in removed_rows):
        yield Refused("add.unchanged-rows", f"{added_unchanged} rows are added without dataChange")
    if None not in added_rows and removed_unchanged and removed_unchanged > sum(rows or 0 for rows in added_rows):
        yield Refused("remove.unchanged-rows", f"{removed_unchanged} rows are removed without dataChange")


def _count_valid_rows(add: Add) -> int | None:
    """Return the number of rows that the deletion vector keeps; None if the number of records is unknown."""
    records = count_records(add)
    deleted = add.deletion_vector.cardinality if add.deletion_vector else 0
    return None if records is None else records - deleted


def check_removes(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: require the metadata that a remove says it includes, and that it describes its file."""
    for remove in proposal.actions_of_type(Remove):
        if remove.extended_file_metadata and (remove.partition_values is None or remove.size is None):
            yield Refused("remove.extended-file-metadata", remove.path)
        added = proposal.last_added_files.get(get_file_key(remove))
        # [Changed in current] extended file metadata does not include tags
        is_tagged = added is not None and added.tags is not None and proposal.revision is not Revision.CURRENT
        if remove.extended_file_metadata and is_tagged and remove.tags is None:
            yield Refused("remove.tags-with-extended-metadata", remove.path)
        if added is not None and _contradicts(remove, added):
            yield Refused("remove.of-its-file", remove.path)


def _contradicts(remove: Remove, added: Add) -> bool:
    # Delta Spark 0.8 to 1.x wrote size 0 where it had no extended file metadata
    states_size = remove.size is not None and (remove.size != 0 or remove.extended_file_metadata)
    if states_size and remove.size != added.size:
        return True
    return find_changed_value(added.partition_values, remove.partition_values or {}) is not None


def check_change_files(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add CDC File, Change Data Files: forbid `dataChange=true`, and require the location `_change_data`."""
    added = {path_key(add.path) for add in proposal.actions_of_type(Add)}
    for cdc in proposal.actions_of_type(Cdc):
        if cdc.data_change:
            yield Refused("cdc.no-data-change", cdc.path)
        is_added = path_key(cdc.path) in added
        if not changed_rows.is_in_allowed_location(cdc.path, is_absolute=is_absolute(cdc.path), is_added=is_added):
            yield Refused("cdc.location", cdc.path)


CHECKS: tuple[CommitCheck, ...] = (
    check_repeated_actions,
    check_replaced_vectors,
    check_sizes,
    check_deletion_vectors,
    refuse_illegal_files(check_vector_support),
    refuse_illegal_files(check_partition_values),
    check_former_partition_columns,
    refuse_illegal_files(check_required_columns),
    check_change_file_values,
    check_statistics_names,
    check_renamed_columns,
    check_void_columns,
    check_unchanged_rows,
    check_removes,
    check_change_files,
)
"""In the order in which `validation.check_commit` evaluates them."""
