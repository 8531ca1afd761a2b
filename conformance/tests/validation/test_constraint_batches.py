"""How data files are distributed over the tasks that evaluate SQL on their rows."""

import pytest

from deltaspec.validation.spark.constraint_evaluation import split_into_batches
from deltaspec.views.data.data_files import DataFile

MIB = 1 << 20


def build_files(*sizes: int | None) -> list[tuple[int, DataFile, None]]:
    """Return data files of these sizes, as `split_into_batches` expects them."""
    return [
        (number, DataFile(0, "0.json", 1, "add", str(number), str(number), size, 1, None, {}, None, None, None), None)
        for number, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "concurrent_tasks", "expected"),
    [
        pytest.param([1000] * 160, 2, 16, id="few files: several batches for each concurrent task"),
        pytest.param([1000] * 5000, 2, 79, id="small files: opening them has a cost too"),
        pytest.param([1000] * 5000, 400, 2500, id="many concurrent tasks: several batches for each"),
        pytest.param([32 * MIB] * 200, 2, 100, id="large files: no batch is much larger than 64 MiB"),
        pytest.param([1 << 40, *[1000] * 5000], 2, 3, id="a huge recorded size has a batch to itself"),
        pytest.param([None, -(1 << 62), 0], 2, 3, id="invalid sizes"),
    ],
)
def test_each_file_is_in_one_batch(sizes: list[int | None], concurrent_tasks: int, expected: int) -> None:
    requested = build_files(*sizes)
    found = list(split_into_batches(requested, concurrent_tasks))
    assert [file for batch in found for file in batch] == requested
    assert all(found)
    assert abs(len(found) - expected) <= expected / 20
