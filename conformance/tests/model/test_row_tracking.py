"""Row ids by default, and their high-water mark. Vector V20: a file with base row id 4071."""

import pytest

from deltaspec.model.actions import Add, DomainMetadata
from deltaspec.model.reconciliation import EMPTY, replay
from deltaspec.model.row_tracking import DOMAIN, default_row_ids, high_water_mark


def _add(base_row_id: int | None) -> Add:
    return Add(path="a", partition_values={}, size=1, modification_time=1, data_change=True, base_row_id=base_row_id)


def test_rows_count_on_from_the_base_row_id() -> None:
    ids = default_row_ids(_add(4071), 3)
    assert list(ids) == [4071, 4072, 4073]


def test_mark_of_the_printed_example_is_below_its_file() -> None:
    """E19: the text's mark of 1432 and its base row id of 4071 are of unrelated tables."""
    snapshot = replay(EMPTY, DomainMetadata(domain=DOMAIN, configuration='{"rowIdHighWaterMark":1432}', removed=False))
    assert high_water_mark(snapshot) == 1432
    assert max(default_row_ids(_add(4071), 3)) == 4073


@pytest.mark.parametrize(
    ("configuration", "mark"),
    [('{"highWaterMark":7}', 7), ('{"rowIdHighWaterMark":"7"}', None), ("x", None), ("[]", None), ("{}", None)],
)
def test_mark_stands_under_either_key(configuration: str, mark: int | None) -> None:
    snapshot = replay(EMPTY, DomainMetadata(domain=DOMAIN, configuration=configuration, removed=False))
    assert high_water_mark(snapshot) == mark


def test_table_without_the_domain_has_no_mark() -> None:
    assert high_water_mark(EMPTY) is None


def test_file_without_a_base_row_id_has_no_ids() -> None:
    with pytest.raises(ValueError, match="baseRowId"):
        default_row_ids(_add(None), 1)
