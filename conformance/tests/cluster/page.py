"""The commands of SPARK.md, by the kind of Spark that they need. Each kind has a test that runs its commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from helpers.documented_commands import CHECKOUT, list_commands

PAGE = CHECKOUT / "conformance/SPARK.md"
KINDS = {
    "cluster": re.compile(r"spark://host:7077"),
    "connect": re.compile(r"sc://host:15002"),
    "local-cluster": re.compile(r"spark=local-cluster\[.*"),
    "local": re.compile(r"spark=local\[.*"),
    "session": re.compile(r"spark"),
}
"""Pattern in an argument for each kind. `session` uses the session of the process. `checks_cluster` runs the kinds
`cluster` and `local-cluster`, `checks_connect` runs `connect`, and `test_spark_page` the others."""


def find_kind(words: list[str]) -> str:
    """Return the kind of a command."""
    return next(kind for kind, pattern in KINDS.items() if any(pattern.search(word) for word in words))


def list_page_commands(kind: str, replacements: Mapping[str, str | Path]) -> list[list[str]]:
    """Return the arguments of the commands of a kind, with other texts for the placeholders of the page."""
    found = [words[1:] for words in list_commands(PAGE) if find_kind(words) == kind]
    for old, new in replacements.items():
        found = [[word.replace(old, str(new)) for word in words] for words in found]
    assert found, kind
    return found
