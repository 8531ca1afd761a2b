"""Documentation of rules, as reports carry it."""

import re
import tomllib
from pathlib import Path

import pytest

from deltaspec.rules import RULES
from deltaspec.validation.rule_docs import build_rule_doc, build_section_url


@pytest.mark.parametrize(
    ("section", "anchor"),
    [
        ("Per-file Statistics", "per-file-statistics"),
        ("Delta Log Entries (Requirements for Writers)", "delta-log-entries-1"),
        ("Checkpoints (Requirements for Writers)", "checkpoints-1"),
        ("Checkpoints", "checkpoints"),
        ("CHECK Constraints; Variant Shredding", "check-constraints"),
        ("Timestamp without timezone (TimestampNtz)", "timestamp-without-timezone-timestampntz"),
        ("Terminology: Commits", "terminology-commits"),
    ],
)
def test_address_of_a_section(section: str, anchor: str) -> None:
    """The anchors are those of the table of contents in the protocol."""
    assert build_section_url(section).endswith(f"/PROTOCOL.md#{anchor}")


def test_anchors_are_headings_of_the_current_protocol() -> None:
    headings = tomllib.loads((Path(__file__).parents[1] / "project" / "headings.toml").read_text())["current"]
    anchors = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
    linked = {build_rule_doc(code).url.partition("#")[2] for code in RULES} - {""}
    assert sorted(linked - anchors) == ["checkpoints-1", "delta-log-entries-1"]


def test_proposals_and_older_sections_have_no_anchor_in_the_protocol() -> None:
    assert build_rule_doc("ICE030").url.endswith("/protocol_rfcs")
    assert build_rule_doc("LIN020").url.endswith("/PROTOCOL.md")


def test_every_rule_says_why_how_to_repair_and_where() -> None:
    docs = [build_rule_doc(code) for code in RULES]
    assert [each for each in docs if not (each.why and each.fix)] == []
    assert [
        each.url
        for each in docs
        if not re.fullmatch(r"https://\S+(#[a-z0-9_-]+|/protocol_rfcs|/PROTOCOL\.md)", each.url)
    ] == []
