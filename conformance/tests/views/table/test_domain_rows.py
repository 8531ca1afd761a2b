"""Names of domains that are easily confused."""

import pytest

from deltaspec.views.table.domain_rows import confusable_with


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("com.example.settings", None),
        ("app.settings", None),
        ("App.settings", "app.settings"),
        ("deltas", None),
        ("delta", None),
        ("Delta.mine", "delta."),
        ("delta.mine", None),
        ("", "nothing"),
        (" ", "nothing"),
    ],
)
def test_domain_that_differs_only_in_case_is_confusable(name: str, other: str | None) -> None:
    assert confusable_with(name, ["app.settings", "delta.clustering"]) == other
