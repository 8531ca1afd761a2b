"""Draw tables of planted faults outside a property test."""

from hypothesis import HealthCheck, Phase, given, seed, settings

from deltaspec_generators.table_files import TableFiles
from planted_tables.faults.registry import PlantedFault


def draw_tables(fault: PlantedFault, number: int, chosen_seed: int = 0) -> list[TableFiles]:
    """Draw tables of a planted fault; the same seed gives the same tables.

    Args:
        fault: draws the tables.
        number: how many; fewer are returned if the planted fault has no more.
        chosen_seed: decides which.
    """
    drawn: list[TableFiles] = []

    @seed(chosen_seed)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(fault.tables())
    def keep(files: TableFiles) -> None:
        drawn.append(files)

    keep()
    return drawn[:number]


def draw_table(fault: PlantedFault, chosen_seed: int = 0) -> TableFiles:
    """Draw one table of a planted fault."""
    return draw_tables(fault, 1, chosen_seed)[0]
