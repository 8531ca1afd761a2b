"""SECURITY.md names tests that exist."""

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
GUARANTEES = re.findall(
    r"^\| ([^|]+) \| ((?:`[\w/]+\.py`(?:, )?)+) \|$", (CHECKOUT / "SECURITY.md").read_text("utf-8"), re.M
)


def test_every_guarantee_names_tests_that_exist() -> None:
    assert len(GUARANTEES) > 15
    named = {name for _, names in GUARANTEES for name in re.findall(r"`([^`]+)`", names)}
    tests = CHECKOUT / "conformance/tests"
    assert [name for name in sorted(named) if "def test_" not in (tests / name).read_text("utf-8")] == []
