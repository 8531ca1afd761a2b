"""How data files are spread over the tasks that hold their rows to SQL."""

import pytest

from deltaspec.validation.spark.constraint_evaluation import split_into_batches
from deltaspec.views.data.data_files import DataFile

MIB = 1 << 20


def files(*sizes: int | None) -> list[tuple[int, DataFile, None]]:
    """Files of these lengths, as tasks are asked for them."""
    return [
        (number, DataFile(0, "0.json", 1, "add", str(number), str(number), size, 1, None, {}, None, None, None), None)
        for number, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "tasks_at_once", "expected"),
    [
        pytest.param([1000] * 160, 2, 16, id="few files: some portions for each task at once"),
        pytest.param([1000] * 5000, 2, 79, id="small files: opening them counts as well"),
        pytest.param([1000] * 5000, 400, 256, id="many tasks at once: no more portions than there may be"),
        pytest.param([32 * MIB] * 200, 2, 100, id="long files: no portion is much longer than 64 MiB"),
        pytest.param([1 << 40, *[1000] * 5000], 2, 3, id="a claim that is huge stands for itself"),
        pytest.param([None, -(1 << 62), 0], 2, 3, id="lengths that say nothing"),
    ],
)
def test_each_file_is_in_one_portion(sizes: list[int | None], tasks_at_once: int, expected: int) -> None:
    asked = files(*sizes)
    found = list(split_into_batches(asked, tasks_at_once))
    assert [each for portion in found for each in portion] == asked
    assert all(found)
    assert abs(len(found) - expected) <= expected / 20
