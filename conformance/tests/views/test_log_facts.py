"""What names in the log say of cleanup: the checkpoint that a log begins with, and those that were left over."""

import pytest

from deltaspec.model.file_names import classic_checkpoint_name, commit_name
from deltaspec.views.log_facts import listing_rows
from deltaspec.wire.storage import Entry


def cleaned_up(commits: list[int], checkpoints: list[int]) -> list[int]:
    """Versions of checkpoints that the log begins with and whose commit is gone."""
    names = [*map(commit_name, commits), *map(classic_checkpoint_name, checkpoints)]
    rows = listing_rows([Entry(name, 1, 0) for name in names], (), lambda _: False, False, lambda _: True)
    return [row["version"] for row in rows if row.get("commit_cleaned_up")]


@pytest.mark.parametrize(
    ("commits", "checkpoints", "expected"),
    [
        ([10, 11], [10], []),
        ([11, 12], [10], [10]),
        ([], [10], [10]),
        ([9, 11], [10], []),
        ([11, 12, 20, 21], [10, 20], [10]),
        ([15, 20, 21], [10, 20], []),
        ([20, 21], [10, 20], []),
    ],
)
def test_commit_of_the_first_checkpoint(commits: list[int], checkpoints: list[int], expected: list[int]) -> None:
    assert cleaned_up(commits, checkpoints) == expected
