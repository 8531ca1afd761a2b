"""Draw corpora of tables to read: the same seed gives the same tables in every program.

For one seed and release of the kit, table `index` is the same on every machine: its rows, answers and JSON commits are
equal, except for the sizes of Parquet files in the log. Parquet bytes, and so these sizes, also depend on the release
of pyarrow, which writes its name into each file.
"""

from collections.abc import Iterator

from deltaspec_generators.tables.choices import Choices, SeededChoices
from deltaspec_generators.tables.history import GeneratedTable, draw_generated_table
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable
from deltaspec_generators.tables.table_specs import TableOptions


def draw_table(choices: Choices, options: TableOptions | None = None) -> ReadableTable:
    """Draw a table to read, with the expected result of reading each of its versions."""
    return build_readable_table(draw_generated_table(choices, options or TableOptions()))


def read_corpus(seed: int, count: int) -> Iterator[ReadableTable]:
    """Yield the tables of a seed. Table `index` depends only on seed and index."""
    for index in range(count):
        yield draw_table(SeededChoices(seed, index))


def build_readable_table(drawn: GeneratedTable) -> ReadableTable:
    """Build the expected results of a generated table."""
    versions = []
    for state, version in zip(drawn.states, drawn.versions, strict=True):
        tracked = state.is_enabled("delta.enableRowTracking")
        changes = version.changes if version.has_change_files else version.implied_changes
        versions.append(
            ExpectedVersion(
                version=state.version,
                timestamp_ms=state.timestamp_ms,
                schema=version.schema,
                partition_columns=tuple(state.metadata["partitionColumns"]),
                plain_rows=version.rows,
                row_ids=version.row_ids if tracked else None,
                row_commit_versions=version.row_commit_versions if tracked else None,
                plain_changes=changes if state.is_enabled("delta.enableChangeDataFeed") else None,
                state=state,
            )
        )
    return ReadableTable(drawn.files, tuple(versions), frozenset(), tuple(drawn.history))
