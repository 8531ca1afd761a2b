"""Row ids of the files of a snapshot. Source: Row Tracking (r3, current): fresh row ids and their high-water mark.

What assigns and keeps ids stable over rewrites is not modelled here yet.
"""

from deltaspec.model.actions import Add
from deltaspec.model.json_values import JsonError, Number, parse_lossless
from deltaspec.model.reconciliation import Snapshot

DOMAIN = "delta.rowTracking"


def default_row_ids(add: Add, num_records: int) -> range:
    """Ids of the rows of a file that has no materialized ones: its base id, and one more for each row after the first.

    Raises:
        ValueError: the file has no `baseRowId`.
    """
    if add.base_row_id is None:
        raise ValueError(f"{add.path} has no baseRowId")
    return range(add.base_row_id, add.base_row_id + num_records)


def high_water_mark(snapshot: Snapshot) -> int | None:
    """The highest row id ever assigned, as the table's domain says; None without the domain or where it says none."""
    domain = snapshot.domains.get(DOMAIN)
    return None if domain is None else mark_of(domain.configuration)


def mark_of(configuration: str) -> int | None:
    """The mark that a configuration of the domain holds; None where it holds none.

    The key is `rowIdHighWaterMark`; r3 prints `highWaterMark` (E27).
    """
    try:
        value = parse_lossless(configuration).value
    except JsonError:
        return None
    mark = value.get("rowIdHighWaterMark", value.get("highWaterMark")) if isinstance(value, dict) else None
    return int(mark) if isinstance(mark, Number) and mark.is_integer and len(mark) < 20 else None
