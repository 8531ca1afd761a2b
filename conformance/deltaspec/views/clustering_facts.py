"""What statistics of files say of clustering columns, as a column of a view. Source: Clustered Table."""

import polars as pl

from deltaspec.model.clustering import Path, columns_without_statistics


def without_statistics(stats: pl.Series, columns: tuple[Path, ...]) -> pl.Series:
    """Clustering columns of which the statistics of a file say nothing, file by file.

    Args:
        stats: statistics texts; null where a file has none.
        columns: physical paths of the clustering columns.

    Returns:
        Lists of columns, null where a text is no JSON object.
    """
    answers = [columns_without_statistics(text, columns) for text in stats.to_list()]
    return pl.Series(answers, dtype=pl.List(pl.String))
