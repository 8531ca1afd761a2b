"""How many bytes the values of a column have, row by row."""

import pyarrow as pa
import pyarrow.compute as pc

_OTHER = 16
"""Of a number, a time, a flag."""


def compute_value_sizes(array: pa.Array) -> pa.Array:
    """Bytes of each value with all that is below it, 64 bits; at least so many, where it is not text or bytes alone.

    Args:
        array: of a type that `logical_rows.arrow_type` gives.
    """
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pc.fill_null(pc.binary_length(array), 0).cast(pa.int64())
    if pa.types.is_map(kind):
        return _in_lists(array.offsets, pc.add(compute_value_sizes(array.keys), compute_value_sizes(array.items)))
    if pa.types.is_list(kind):
        return _in_lists(array.offsets, compute_value_sizes(array.values))
    found = pa.repeat(pa.scalar(_OTHER, pa.int64()), len(array))
    if pa.types.is_struct(kind):
        for each in array.flatten():
            found = pc.add(found, compute_value_sizes(each))
    return found


def _in_lists(offsets: pa.Array, below: pa.Array) -> pa.Array:
    """Of each list, the sum of what its values have."""
    ends = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(below)])
    return pc.subtract(ends.take(offsets[1:]), ends.take(offsets[:-1]))
