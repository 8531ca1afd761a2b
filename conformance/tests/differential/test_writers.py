"""Two writers on the same histories: equal ones agree, and every fault of one of them shows."""

from pathlib import Path

import pytest
from differential.histories import build_history
from suites.faulty_writers import FAULTY_WRITERS, build_engine

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.writer import Writer
from deltaspec.differential.performing import Comparison, compare_history
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.histories.drawing import Offer, draw_history


def compare(second: Engine, directory: Path) -> Comparison:
    return compare_history(
        InProcess(Engine()), InProcess(second), build_history({"domains": {"kit.a": "1"}}), directory, validates=False
    )


def test_equal_writers_agree(tmp_path: Path) -> None:
    done = compare(Engine(), tmp_path)
    assert done.differences == []
    expected = {"rows compared": 11, "refusals compared": 1, "operations compared": 5, "changes compared": 7}
    assert expected.items() <= done.counts.items()
    assert done.counts["row ids and row commit versions compared"] == 11
    assert done.counts["bounds and null counts of columns compared"] == 2


def test_drawn_history_of_equal_writers_agrees(tmp_path: Path) -> None:
    candidate = InProcess(Engine())
    offer = Offer.of(candidate.capabilities.drawn_kinds, candidate.capabilities.writer_features)
    done = compare_history(candidate, candidate, draw_history(SeededChoices(3, 4), offer), tmp_path)
    assert done.differences == []


SHOWN = [each for each, check in FAULTY_WRITERS.items() if check != "write.files"]
"""Writers whose fault shows in the meaning of the table."""


@pytest.mark.parametrize("kind", SHOWN, ids=lambda each: each.__name__)
def test_faulty_writer_differs(tmp_path: Path, kind: type[Writer]) -> None:
    assert compare(build_engine(kind), tmp_path).differences
