"""Rows that share their path are found, whether few rows are compared one by one or many by hash."""

import polars as pl
import pytest

from deltaspec.views.files import file_replay


@pytest.mark.parametrize("few", [0, file_replay.FEW_ROWS])
@pytest.mark.parametrize(
    ("keys", "shared"),
    [
        ([], []),
        (["a"], [False]),
        (["a", "b", "a", "c", "a"], [True, False, True, False, True]),
        ([None, "a", None], [True, False, True]),
    ],
)
def test_rows_with_the_path_of_another_row(
    keys: list[str | None], shared: list[bool], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_replay, "FEW_ROWS", few)
    found = file_replay.has_shared_path(pl.DataFrame({"path_key": keys}, schema={"path_key": pl.String}))
    assert found.dtype == pl.Boolean
    assert found.to_list() == shared
