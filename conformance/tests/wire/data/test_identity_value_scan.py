"""Scans of an identity column in batches: bounds, values outside of the sequence, repeated values."""

import pyarrow as pa
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.features.identity_columns import Identity, is_in_sequence
from deltaspec.wire.data.identity_value_scan import IdentityValues
from deltaspec.wire.parquet.file_opener import UnreadableRows

LEAST, GREATEST = -(2**63), 2**63 - 1
_numbers = st.integers(-6, 6) | st.integers(LEAST, LEAST + 2) | st.integers(GREATEST - 2, GREATEST)
_steps = st.sampled_from([1, -1, 3, -2, GREATEST, LEAST])


def scan(identity: Identity, *batches: list[int | None]) -> IdentityValues:
    found = IdentityValues(identity)
    for batch in batches:
        found.take(pa.array(batch, pa.int64()))
    return found


@example_settings(60)
@given(_numbers, _steps, st.lists(st.lists(st.none() | _numbers, max_size=5), min_size=1, max_size=3))
def test_result_does_not_depend_on_batches(start: int, step: int, batches: list[list[int | None]]) -> None:
    identity = Identity(start, step)
    found = scan(identity, *batches)
    values = [each for batch in batches for each in batch if each is not None]
    off = [each for each in values if not is_in_sequence(identity, each)]
    repeated = {each for each in values if values.count(each) > 1}
    assert (found.lowest, found.highest) == (min(values, default=None), max(values, default=None))
    assert (found.off_sequence, found.first_off_sequence) == (len(off), off[0] if off else None)
    assert found.first_repeated == min(repeated, default=None)
    assert (found.repeated > 0) is bool(repeated)
    assert {each - 2**64 if each > GREATEST else each for each in found.values} == set(values)


def test_column_without_values() -> None:
    found = scan(Identity(1, 1), [None, None], [])
    found.take(pa.nulls(3))
    assert (found.lowest, found.highest, found.off_sequence, found.repeated) == (None, None, 0, 0)


def test_narrower_integers_are_read() -> None:
    found = IdentityValues(Identity(1, 1))
    found.take(pa.array([1, 2], pa.int32()))
    assert (found.lowest, found.highest) == (1, 2)


def test_values_that_are_not_integers_are_unreadable() -> None:
    with pytest.raises(UnreadableRows, match="an identity column is stored as string"):
        IdentityValues(Identity(1, 1)).take(pa.array(["1"]))
