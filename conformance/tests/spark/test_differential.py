"""Delta Spark and the reference writer on the same histories; `nox -s differential` performs a thousand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from differential.histories import build_history

from deltaspec.candidates.adapters.delta_spark import Engine as DeltaSpark
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.differential.performing import compare_history
from deltaspec.differential.report import FoundDifference, load_known_differences
from deltaspec_generators.histories.drawing import Offer, Step, draw_history
from deltaspec_generators.tables.choices import SeededChoices

pytestmark = pytest.mark.spark
KNOWN = load_known_differences(Path(__file__).parents[2] / "engines/known_differences.toml")


def draw(first: InProcess, second: InProcess, number: int) -> Sequence[Step]:
    """Draw a history of seed 1 from what both writers offer."""
    offers = [each.capabilities for each in (first, second)]
    kinds = set.intersection(*(set(each.kinds) for each in offers))
    features = set.intersection(*(set(each.writer_features) for each in offers))
    return draw_history(SeededChoices(1, number), Offer.of(kinds, features))


@pytest.mark.parametrize("number", [None, 2])
def test_spark_and_the_reference_writer_agree(spark: Any, tmp_path: Path, number: int | None) -> None:
    first, second = InProcess(DeltaSpark(spark.newSession())), InProcess(Engine())
    steps = build_history() if number is None else draw(first, second, number)
    done = compare_history(first, second, steps, tmp_path, validates=False)
    found = [FoundDifference(each.aspect, each.message, each.steps) for each in done.differences]
    assert [each for each in found if not any(known.applies(each) for known in KNOWN)] == []
    assert done.counts["operations compared"] == len(steps)
    assert done.counts["rows read by both readers"] > 0
