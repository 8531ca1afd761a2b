"""Run the example for Dagster in the real Dagster: a sound table passes, a faulty one fails with its rule."""

import sys

from dagster import asset, materialize
from dagster_check import build_delta_check


def main(sound: str, faulty: str) -> None:
    """Materialize an asset with the check of a table, for both tables."""

    @asset
    def orders() -> None:
        pass

    for table, passes in ((sound, True), (faulty, False)):
        result = materialize([orders, build_delta_check(orders, table)], raise_on_error=False)
        (evaluation,) = result.get_asset_check_evaluations()
        assert evaluation.passed == passes, table
        assert ("FIL007" in evaluation.metadata) != passes, table
        print(f"{table}: {evaluation.metadata['verdict'].value}")


main(*sys.argv[1:])
