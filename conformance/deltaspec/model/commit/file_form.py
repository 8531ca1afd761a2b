"""Form of the file actions in a commit: paths, sizes, statistics, row ids and deletion vector descriptors.

Source: Add File and Remove File, Add CDC File, Per-file Statistics, Deletion Vectors.
"""

from collections.abc import Iterator

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.protocol.actions import Add, Cdc, DeletionVectorDescriptor, Remove
from deltaspec.protocol.files import deletion_vectors, paths
from deltaspec.protocol.files.statistics import StatisticsError, count_records, find_null_count_faults, parse_statistics

MIN_VECTOR_BYTES = 12
"""Magic number and number of buckets."""


def check_paths(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require RFC 2396 references that stay in the table, and data files outside hidden directories."""
    files: list[Add | Remove | Cdc] = [*_files(proposal), *proposal.actions_of_type(Cdc)]
    for action in files:
        fault = paths.find_path_fault(action.path)
        if fault is not None:
            yield Refused("add.path-encoding", f"{action.path} {fault}")
        elif paths.has_colon_in_first_segment(action.path):
            yield Refused("add.path-encoding", f"{action.path} has a colon in its first segment")
        if paths.escapes_table(action.path):
            yield Refused("add.path", action.path)
    for add in proposal.actions_of_type(Add):
        if paths.find_hidden_directory(add.path) is not None:
            yield Refused("data-files.location", add.path)


def _files(proposal: ProposedCommit) -> list[Add | Remove]:
    return [*proposal.actions_of_type(Add), *proposal.actions_of_type(Remove)]


def check_numbers(proposal: ProposedCommit) -> Iterator[Refused]:
    """Forbid negative sizes, row ids and row commit versions."""
    files: list[Add | Remove | Cdc] = [*_files(proposal), *proposal.actions_of_type(Cdc)]
    for action in files:
        if action.size is not None and action.size < 0:
            yield Refused("add.size", f"{action.path} has {action.size} bytes")
    for file in _files(proposal):
        if min(file.base_row_id or 0, file.default_row_commit_version or 0) < 0:
            yield Refused("add.default-row-ids", f"{file.path}: {file.base_row_id}, {file.default_row_commit_version}")


def check_statistics(proposal: ProposedCommit) -> Iterator[Refused]:
    """Per-file Statistics: require the documented form, and counts that are possible."""
    for file in _files(proposal):
        if file.stats is None:
            continue
        try:
            statistics = parse_statistics(file.stats)
        except StatisticsError as fault:
            yield Refused("statistics.form", f"{file.path}: {fault}")
            continue
        if (statistics.num_records or 0) < 0:
            yield Refused("statistics.num-records", f"{file.path} has {statistics.num_records} records")
        for found in find_null_count_faults(statistics):
            yield Refused("statistics.null-count", f"{file.path}: {found}")


def check_vectors(proposal: ProposedCommit) -> Iterator[Refused]:
    """Deletion Vector Descriptor Schema: require a descriptor that names a file or contains the vector."""
    for file in _files(proposal):
        vector = file.deletion_vector
        if vector is None:
            continue
        faults = [*_find_size_faults(vector), *_find_location_faults(vector)]
        last_row = vector.cardinality - 1
        if vector.storage_type == "i":
            rows, faults_of_text = _read_inline_vector(vector)
            faults += faults_of_text
            last_row = max([last_row, *rows[-1:]])
        records = count_records(file)
        if records is not None and last_row >= records:
            faults.append(("deletion-vectors.rows-exist", f"row {last_row} is deleted of {records} records"))
        for requirement, fault in faults:
            yield Refused(requirement, f"{file.path}: {fault}")


_Fault = tuple[str, str]
"""Requirement and reason."""


def _find_size_faults(vector: DeletionVectorDescriptor) -> Iterator[_Fault]:
    if vector.size_in_bytes < MIN_VECTOR_BYTES:
        yield "deletion-vectors.size", f"sizeInBytes is {vector.size_in_bytes}, expected {MIN_VECTOR_BYTES} or more"
    if vector.cardinality < 0:
        yield "deletion-vectors.cardinality", f"cardinality is {vector.cardinality}"


def _find_location_faults(vector: DeletionVectorDescriptor) -> Iterator[_Fault]:
    text = vector.path_or_inline_dv
    match vector.storage_type:
        case "u":
            try:
                deletion_vectors.build_relative_path(vector)
            except deletion_vectors.DeletionVectorError as error:
                yield "deletion-vectors.path", str(error)
        case "p":
            fault = paths.find_path_fault(text) if paths.is_absolute(text) else "is not absolute"
            if fault is not None:
                yield "deletion-vectors.path", f"{text} {fault}"
        case "i":
            if vector.offset is not None:
                yield "deletion-vectors.offset", f"an inline vector has offset {vector.offset}"
        case other:
            yield "deletion-vectors.storage-type", other


def _read_inline_vector(vector: DeletionVectorDescriptor) -> tuple[list[int], list[_Fault]]:
    """Return the rows of an inline vector, and the faults of its text."""
    faults: list[_Fault] = []
    try:
        text = deletion_vectors.decode_z85_text(vector.path_or_inline_dv)
        if not 0 <= len(text) - vector.size_in_bytes <= 3:
            faults.append(("deletion-vectors.size", f"sizeInBytes is {vector.size_in_bytes}, found {len(text)} bytes"))
        rows = deletion_vectors.decode_bitmap(text[: max(vector.size_in_bytes, 0)])
    except deletion_vectors.DeletionVectorError as fault:
        return [], [*faults, ("deletion-vectors.bitmap-format", str(fault))]
    if len(rows) != vector.cardinality:
        faults.append(("deletion-vectors.cardinality", f"cardinality is {vector.cardinality}, found {len(rows)} rows"))
    return rows, faults


CHECKS: tuple[CommitCheck, ...] = (check_paths, check_numbers, check_statistics, check_vectors)
"""In the order in which `validation.check_commit` evaluates them."""
