"""Row ids and row commit versions of the files of a snapshot. Source: Row IDs (r1), Row Tracking, Row
Commit Versions (r2, r3, current).

A row has a fresh id from its position, and a stable id that it keeps when it is copied to another file, which then
stores it in a hidden column. Since r2, the version that last wrote the row works the same way.
"""

from collections.abc import Collection, Sequence

from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features.row_tracking import DOMAIN, parse_high_water_mark


def compute_default_row_ids(add: Add, num_records: int) -> range:
    """Return the default row ids of a file: its base id, increased by one for each further row.

    Raises:
        ValueError: The file has no `baseRowId`.
    """
    if add.base_row_id is None:
        raise ValueError(f"{add.path} has no baseRowId")
    return range(add.base_row_id, add.base_row_id + num_records)


def compute_stable_row_ids(add: Add, materialized: Sequence[int | None]) -> list[int]:
    """Return the stable id of each row: the materialized one, or the default one if that is null.

    Args:
        add: Add action of the file.
        materialized: Materialized ids of all rows, including deleted ones, in file order.

    Raises:
        ValueError: The file has no `baseRowId`.
    """
    defaults = compute_default_row_ids(add, len(materialized))
    return [default if each is None else each for each, default in zip(materialized, defaults, strict=True)]


def compute_stable_row_commit_versions(add: Add, materialized: Sequence[int | None]) -> list[int | None]:
    """Return the version that last wrote each row: the materialized one, or the file's if that is null."""
    return [add.default_row_commit_version if each is None else each for each in materialized]


def find_repeated_row_ids(files: Sequence[tuple[Add, Sequence[int | None], Collection[int]]]) -> set[int]:
    """Return stable ids that two rows of a snapshot share, or that are the fresh id of another row.

    Args:
        files: Each add with the materialized ids of its rows, and the indexes of its deleted rows, which do not count.
    """
    rows = [
        (stable, fresh)
        for add, materialized, deleted in files
        for index, (stable, fresh) in enumerate(
            zip(compute_stable_row_ids(add, materialized), compute_default_row_ids(add, len(materialized)), strict=True)
        )
        if index not in deleted
    ]
    repeated = set()
    for index, (stable, _) in enumerate(rows):
        for other, (stable_there, fresh_there) in enumerate(rows):
            if index != other and stable in (stable_there, fresh_there):
                repeated.add(stable)
    return repeated


def read_high_water_mark(snapshot: Snapshot) -> int | None:
    """Return the highest row id ever assigned according to the domain, or None if it does not state it."""
    domain = snapshot.domains.get(DOMAIN)
    return None if domain is None else parse_high_water_mark(domain.configuration)
