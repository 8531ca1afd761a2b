"""Draw tables of mutations outside a property test."""

from hypothesis import HealthCheck, Phase, given, seed, settings

from deltaspec_generators.mutations.registry import Mutation
from deltaspec_generators.table_files import TableFiles


def draw_tables(mutation: Mutation, number: int, chosen_seed: int = 0) -> list[TableFiles]:
    """Draw tables of a mutation; the same seed gives the same tables.

    Args:
        mutation: draws the tables.
        number: how many; fewer are returned if the mutation has no more.
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
    @given(mutation.tables())
    def keep(files: TableFiles) -> None:
        drawn.append(files)

    keep()
    return drawn[:number]


def draw_table(mutation: Mutation, chosen_seed: int = 0) -> TableFiles:
    """Draw one table of a mutation."""
    return draw_tables(mutation, 1, chosen_seed)[0]
