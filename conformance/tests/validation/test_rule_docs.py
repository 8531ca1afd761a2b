"""Documentation of rules, as reports carry it."""

import re

import pytest

from deltaspec.rules import RULES
from deltaspec.validation.rule_docs import build_protocol_url, build_rule_doc


@pytest.mark.parametrize(
    ("section", "anchor"),
    [
        ("Per-file Statistics", "per-file-statistics"),
        ("Delta Log Entries (Requirements for Writers)", "delta-log-entries"),
        ("CHECK Constraints; Variant Shredding", "check-constraints"),
        ("Timestamp without timezone (TimestampNtz)", "timestamp-without-timezone-timestampntz"),
        ("Terminology: Commits", "terminology-commits"),
    ],
)
def test_address_of_a_section(section: str, anchor: str) -> None:
    assert build_protocol_url(section).endswith(f"/PROTOCOL.md#{anchor}")


def test_every_rule_says_why_how_to_repair_and_where() -> None:
    docs = [build_rule_doc(code) for code in RULES]
    assert all(each.why and each.fix for each in docs)
    assert [each.url for each in docs if not re.fullmatch(r"https://\S+#[a-z0-9_-]+", each.url)] == []
