"""The tour of CONTRIBUTING names functions that exist; the glossary is short."""

import re
from importlib import import_module
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text("utf-8")
TOUR = re.findall(r"^\| \d+\. [^|]+\| ([^|]+) \| ([^|]+) \|$", TEXT, re.M)
GLOSSARY = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", TEXT.partition("## Glossary")[2].partition("\n## ")[0], re.M)


@pytest.mark.parametrize(("functions", "modules"), TOUR, ids=[functions for functions, _ in TOUR])
def test_function_of_the_tour_exists(functions: str, modules: str) -> None:
    names, places = re.findall(r"`([^`]+)`", functions), re.findall(r"`([^`]+)`", modules)
    assert names
    for name, place in zip(names, places, strict=True):
        value = import_module("deltaspec." + place.replace("/", "."))
        for part in name.split("."):
            value = getattr(value, part)
        assert callable(value), f"{place}.{name}"


def test_tour_fits_one_screen_and_glossary_has_at_most_20_terms() -> None:
    assert 5 <= len(TOUR) <= 20
    assert 2 < len(GLOSSARY) - 2 <= 20  # without the two lines of the header
