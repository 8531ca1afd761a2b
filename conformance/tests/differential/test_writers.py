"""Two writers on the same histories: equal ones agree, and every fault of one of them shows."""

from pathlib import Path

import pytest
from suites.faulty_writers import FAULTY_WRITERS, build_engine

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.writer import Writer
from deltaspec.differential.performing import Comparison, compare_history
from deltaspec_generators.histories import conditions
from deltaspec_generators.histories.drawing import Offer, Step, draw_history
from deltaspec_generators.histories.plain_table import Column, PlainTable
from deltaspec_generators.tables.choices import SeededChoices


def build_history() -> tuple[Step, ...]:
    """Return a history with changes, row ids, refusals and statistics."""
    names = ("delta.enableRowTracking", "delta.enableChangeDataFeed", "delta.enableDeletionVectors")
    properties = {"delta.feature.domainMetadata": "supported", **dict.fromkeys(names, "true")}
    table = PlainTable((Column("id", "long"), Column("must", "long", nullable=False)))
    tree = conditions.compare("id", "=", "long", 1)
    where = {"sql": conditions.render_sql(tree), "tree": tree}
    rows = [{"id": each, "must": each} for each in range(4)]
    return (
        Step({"kind": "create", "schema": table.render_schema(), "properties": properties}),
        Step({"kind": "append", "rows": rows}, {"domains": {"kit.a": "1"}}),
        Step({"kind": "update", "set": {"must": ["lit", "long", "7"]}, "where": where}),
        Step({"kind": "append", "rows": [{"id": 9, "must": None}]}),
        Step({"kind": "delete", "where": where}),
    )


def compare(second: Engine, directory: Path) -> Comparison:
    return compare_history(InProcess(Engine()), InProcess(second), build_history(), directory, validates=False)


def test_equal_writers_agree(tmp_path: Path) -> None:
    done = compare(Engine(), tmp_path)
    assert done.differences == []
    expected = {"rows compared": 11, "refusals compared": 1, "operations compared": 5, "changes compared": 7}
    assert expected.items() <= done.counts.items()
    assert done.counts["row ids and row commit versions compared"] == 11
    assert done.counts["bounds and null counts of columns compared"] == 2


def test_drawn_history_of_equal_writers_agrees(tmp_path: Path) -> None:
    candidate = InProcess(Engine())
    offer = Offer.of(candidate.capabilities.kinds, candidate.capabilities.writer_features)
    done = compare_history(candidate, candidate, draw_history(SeededChoices(3, 4), offer), tmp_path)
    assert done.differences == []


SHOWN = [each for each, check in FAULTY_WRITERS.items() if check != "write.files"]
"""Writers whose fault shows in the meaning of the table."""


@pytest.mark.parametrize("kind", SHOWN, ids=lambda each: each.__name__)
def test_faulty_writer_differs(tmp_path: Path, kind: type[Writer]) -> None:
    assert compare(build_engine(kind), tmp_path).differences
