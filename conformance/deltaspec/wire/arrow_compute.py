"""Functions of `pyarrow.compute` by name, which is imported only for those that need options.

The import wraps and documents 280 functions, which takes a twentieth of the time to validate a small table. Methods of
arrays such as `is_valid()` import it too, and so does Polars for an array that is not in a table.
"""

from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow._compute import DictionaryEncodeOptions, TrimOptions, call_function

_WITHOUT_OPTIONS = (
    "add",
    "all",
    "equal",
    "greater",
    "indices_nonzero",
    "is_valid",
    "min",
    "subtract",
    "take",
    "unique",
)
"""Functions that every table needs. They are called as in Arrow's registry, with default options."""


def __getattr__(name: str) -> Any:
    if name in _WITHOUT_OPTIONS:
        return partial(_call, name)
    if name.startswith("_"):
        raise AttributeError(name)
    from pyarrow import compute

    return getattr(compute, name)


def encode_with_nulls(values: Any) -> Any:
    """Return values as a dictionary array whose dictionary may contain a null."""
    return call_function("dictionary_encode", [values], DictionaryEncodeOptions("encode"))


def trim_left(texts: Any, characters: str) -> Any:
    """Return texts without the ASCII characters at their start that are among these."""
    return call_function("ascii_ltrim", [texts], TrimOptions(characters))


def to_series(array: Any) -> pl.Series:
    """Convert an array to a series without a name."""
    return pl.DataFrame(pl.from_arrow(pa.table([array], [""]))).to_series()


def _call(name: str, *arguments: Any) -> Any:
    return call_function(name, list(arguments))
