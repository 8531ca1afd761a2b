"""Hypothesis strategies for logs, tables with data, and their parts."""

from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import DataType
from deltaspec_generators.choices import DrawnChoices
from deltaspec_generators.data_files import parquet_encodings as encodings
from deltaspec_generators.data_files import statistics
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.data_files.statistics import StatisticsStyle
from deltaspec_generators.schemas.drawing import draw_type
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.tables.corpus import draw_options, draw_table
from deltaspec_generators.tables.features import list_allowed
from deltaspec_generators.tables.history import GeneratedTable, draw_generated_table
from deltaspec_generators.tables.log_history import GeneratedLog, draw_log
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.table_specs import ALL_FEATURES, TableOptions
from deltaspec_generators.values import plain_values as values
from deltaspec_generators.values import variants
from deltaspec_generators.values.arrow_values import build_array
from deltaspec_generators.values.variant_encoder import Shape

__all__ = [
    "GeneratedLog",
    "GeneratedTable",
    "column_values",
    "data_tables",
    "data_tables_with_states",
    "data_types",
    "logs",
    "logs_with_states",
    "non_null_values",
    "parquet_encodings",
    "readable_tables",
    "shapes",
    "statistics_styles",
    "value_lists",
    "variant_arrays",
    "variant_values",
]


@st.composite
def _drawn(draw: st.DrawFn, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Draw from a function whose first argument is the source of choices."""
    return function(DrawnChoices(draw), *arguments, **options)


def logs(
    *,
    max_commits: int = 6,
    features: Collection[str] | None = None,
    decorated: bool = True,
    blank_lines: bool = True,
    revision: Revision = Revision.CURRENT,
) -> st.SearchStrategy[TableFiles]:
    """Draw valid tables.

    Args:
        max_commits: maximum number of commits before cleanup.
        features: table features that may be used; legacy versions are used only if they imply no others. None allows
            every feature of the revision and, with the current one, proposals and preview names.
        decorated: whether unknown fields, actions and files, explicit nulls and blank lines may occur.
        blank_lines: whether decorations include blank lines, which the protocol does not mention (S21).
        revision: protocol revision that the tables follow.
    """
    drawn = logs_with_states(
        max_commits=max_commits, features=features, decorated=decorated, blank_lines=blank_lines, revision=revision
    )
    return drawn.map(lambda log: log.files)


@st.composite
def logs_with_states(
    draw: st.DrawFn,
    *,
    max_commits: int = 6,
    features: Collection[str] | None = None,
    decorated: bool = True,
    blank_lines: bool = True,
    revision: Revision = Revision.CURRENT,
) -> GeneratedLog:
    """Draw valid tables with their state at each version; arguments as in `logs`."""
    allowed = list_allowed(revision) if features is None else features
    return draw_log(
        DrawnChoices(draw),
        allowed,
        max_commits=max_commits,
        decorated=decorated,
        blank_lines=blank_lines,
        revision=revision,
    )


def data_tables_with_states(**options: Any) -> st.SearchStrategy[GeneratedTable]:
    """Return valid tables with data and the rows of every version; arguments as in `TableOptions`."""
    return _drawn(draw_generated_table, TableOptions(**options))


def data_tables(**options: Any) -> st.SearchStrategy[TableFiles]:
    """Return valid tables with data; arguments as in `TableOptions`."""
    return data_tables_with_states(**options).map(lambda drawn: drawn.files)


@st.composite
def readable_tables(draw: st.DrawFn, *, features: Collection[str] = ALL_FEATURES) -> ReadableTable:
    """Draw tables of a corpus, with the expected result of reading each of their versions.

    Args:
        features: features that the tables may use, a subset of `ALL_FEATURES`.
    """
    choices = DrawnChoices(draw)
    return draw_table(choices, draw_options(choices, features))


def data_types(**options: Any) -> st.SearchStrategy[DataType]:
    """Return column types; arguments as in `draw_type`."""
    return _drawn(draw_type, **options)


def non_null_values(data_type: DataType, *, edges: bool = True) -> st.SearchStrategy[Any]:
    """Return plain values of a type that are not null; nested values may be null where their type allows."""
    return _drawn(values.draw_value, data_type, edges=edges)


def value_lists(data_type: DataType, count: int, **options: Any) -> st.SearchStrategy[list[Any]]:
    """Return lists of plain values of a type; arguments as in `draw_values`."""
    return _drawn(values.draw_values, data_type, count, **options)


@st.composite
def column_values(draw: st.DrawFn, /, data_type: DataType, *, rows: int | None = None, **options: Any) -> pa.Array:
    """Draw Arrow arrays of a type with 0 to 8 values, or `rows`; other arguments as in `draw_values`."""
    count = draw(st.integers(0, 8)) if rows is None else rows
    return build_array(draw(value_lists(data_type, count, **options)), data_type)


def parquet_encodings(**options: Any) -> st.SearchStrategy[ParquetEncoding]:
    """Return Parquet encodings; arguments as in `draw_parquet_encoding`."""
    return _drawn(encodings.draw_parquet_encoding, **options)


def statistics_styles(**options: Any) -> st.SearchStrategy[StatisticsStyle]:
    """Return styles of statistics; arguments as in `draw_statistics_style`."""
    return _drawn(statistics.draw_statistics_style, **options)


def variant_values() -> st.SearchStrategy[Any]:
    """Return values of variants: None is a variant null."""
    return _drawn(variants.draw_variant)


def shapes() -> st.SearchStrategy[Shape]:
    """Return types of typed columns."""
    return _drawn(variants.draw_shape)


def variant_arrays(values: list[Any]) -> st.SearchStrategy[pa.Array]:
    """Return columns of these variants, shredded or not; None is a null of the column."""
    return _drawn(variants.draw_variant_array, values)
