"""Compute the size of column values in bytes, row by row."""

import pyarrow as pa
import pyarrow.compute as pc

_FIXED_BYTES = 16
"""Upper bound for a number, a timestamp or a boolean."""


def compute_value_sizes(array: pa.Array) -> pa.Array:
    """Return the bytes of each value including nested values, as 64-bit integers.

    Exact for strings and binary; an upper bound for other types.

    Args:
        array: of a type that `logical_row_reader.arrow_type` returns.
    """
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pc.fill_null(pc.binary_length(array), 0).cast(pa.int64())
    if pa.types.is_map(kind):
        return _sum_by_list(array.offsets, pc.add(compute_value_sizes(array.keys), compute_value_sizes(array.items)))
    if pa.types.is_list(kind):
        return _sum_by_list(array.offsets, compute_value_sizes(array.values))
    found = pa.repeat(pa.scalar(_FIXED_BYTES, pa.int64()), len(array))
    if pa.types.is_struct(kind):
        for each in array.flatten():
            found = pc.add(found, compute_value_sizes(each))
    return found


def _sum_by_list(offsets: pa.Array, sizes: pa.Array) -> pa.Array:
    """Return the total size of the values of each list."""
    ends = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(sizes)])
    return pc.subtract(ends.take(offsets[1:]), ends.take(offsets[:-1]))
