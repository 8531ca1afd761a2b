"""What users of Python do with a report: convert, print and save it."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.report.json_text import encode_json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_CONVERSIONS = "deltaspec.report.conversions"
"""Imported by name, because its functions know the reports that have these methods."""


class ReportApi:
    """Methods of every report."""

    __slots__ = ()

    def to_json(self) -> str:
        """Return the report as `deltaspec validate --format json` prints it, in one line."""
        return encode_json(self, indent=None).decode()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dictionaries, lists and plain values, with the names of the JSON format."""
        found: dict[str, Any] = msgspec.json.decode(encode_json(self, indent=None))
        return found

    def to_arrow(self) -> pa.Table:
        """Return a row for each finding and for each entry of the ledger, or for each table of a report of several.

        It has the columns of `--format parquet`; `kind` says what a row is. `evidence` is a JSON object.
        """
        table: pa.Table = import_module(_CONVERSIONS).to_arrow(self)
        return table

    def to_polars(self) -> pl.DataFrame:
        """Return the rows of `to_arrow` as a Polars data frame."""
        frame: pl.DataFrame = import_module(_CONVERSIONS).to_polars(self)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of `to_arrow` as a pandas data frame.

        Raises:
            InvalidUsage: pandas is not installed.
        """
        frame: pd.DataFrame = import_module(_CONVERSIONS).to_pandas(self)
        return frame

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON, for `since` of a later run, `deltaspec overview` or `deltaspec repair`.

        Raises:
            InvalidUsage: the file cannot be written.
        """
        import_module(_CONVERSIONS).save(self, path)

    def show(self, samples: int = 5) -> None:
        """Print the report as the command line does.

        Args:
            samples: number of findings of each rule.
        """
        import_module(_CONVERSIONS).show(self, samples)
