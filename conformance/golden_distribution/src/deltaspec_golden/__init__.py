"""Golden tables of deltaspec: small Delta tables with known answers. This package has no code but these functions."""

import json
from pathlib import Path
from typing import Any

__all__ = ["find_cases", "load_index"]


def find_cases() -> Path:
    """Return the directory of the cases; its README.md says how to run one."""
    return Path(__file__).parent / "cases"


def load_index() -> dict[str, Any]:
    """Return the index: of each case, its path below `find_cases()`, features, requirements, and files with SHA-256."""
    with open(find_cases() / "index.json", encoding="utf-8") as file:
        index: dict[str, Any] = json.load(file)
    return index
