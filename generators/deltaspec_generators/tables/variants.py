"""Strategies for variants: their values, how to shred them, and columns that contain them."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators.bases.variant_encoder import Shape, build_shredded_variants, build_variant_column

NAMES = ("a", "b", "c")
_scalars = st.one_of(st.none(), st.booleans(), st.integers(-128, 127), st.sampled_from(["", "x", "text"]))


def variant_values() -> st.SearchStrategy[Any]:
    """Return values of variants: None is a variant null."""
    names = st.sampled_from(NAMES)
    return st.recursive(
        _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
    )


def shapes() -> st.SearchStrategy[Shape]:
    """Return types of typed columns."""
    scalars = st.sampled_from([pa.int64(), pa.string(), pa.bool_()])
    names = st.sampled_from(NAMES)
    nested: st.SearchStrategy[Shape] = st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner | st.none(), min_size=1, max_size=1)
            | st.dictionaries(names, inner | st.none(), min_size=1, max_size=3)
        ),
        max_leaves=4,
    )
    return nested


@st.composite
def variant_arrays(draw: st.DrawFn, values: list[Any]) -> pa.Array:
    """Return a column of these values, shredded or not; None is a null of the column."""
    shape = draw(st.none() | shapes())
    return build_variant_column(values) if shape is None else build_shredded_variants(values, shape)
