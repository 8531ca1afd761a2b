"""Functions of Arrow by name, without `pyarrow.compute`.

Its import wraps and documents 280 functions, which takes a twentieth of the time to validate a small table. Methods of
arrays such as `is_valid()` and `cast()` import it too, and so does Polars for an array that is not in a table.

Functions without options are called as in Arrow's registry, but keywords of Python end in `_`: `and_(left, right)`.
Those with options are defined here.
"""

from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow._compute import (
    CastOptions,
    DictionaryEncodeOptions,
    MapLookupOptions,
    SetLookupOptions,
    StructFieldOptions,
    TrimOptions,
    call_function,
)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return partial(_call, name.removesuffix("_"))


def cast(values: Any, target: pa.DataType) -> Any:
    """Return values of another type. Raise `ArrowInvalid` if one does not fit."""
    return call_function("cast", [values], CastOptions.safe(target))


def encode_with_nulls(values: Any) -> Any:
    """Return values as a dictionary array whose dictionary may contain a null."""
    return call_function("dictionary_encode", [values], DictionaryEncodeOptions("encode"))


def is_in(values: Any, candidates: list[str]) -> Any:
    """Return whether each text is one of the candidates."""
    return call_function("is_in", [values], SetLookupOptions(pa.array(candidates, values.type)))


def map_lookup(maps: Any, key: str, occurrence: str) -> Any:
    """Return the value of a key in each map: the `first` or `last`, or a list of `all`; null without the key."""
    return call_function("map_lookup", [maps], MapLookupOptions(pa.scalar(key), occurrence))


def struct_field(values: Any, name: str) -> Any:
    """Return a field of structs, which is null in those that are null."""
    return call_function("struct_field", [values], StructFieldOptions(name))


def trim_left(texts: Any, characters: str) -> Any:
    """Return texts without the ASCII characters at their start that are among these."""
    return call_function("ascii_ltrim", [texts], TrimOptions(characters))


def to_series(array: Any) -> pl.Series:
    """Convert an array to a series without a name."""
    return pl.DataFrame(pl.from_arrow(pa.table([array], [""]))).to_series()


def _call(name: str, *arguments: Any) -> Any:
    return call_function(name, list(arguments))
