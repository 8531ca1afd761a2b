"""Values of an identity column, batch by batch: their ends, those out of the sequence, those that came before."""

import pyarrow as pa
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.model.features.identity_columns import Identity, is_in_sequence
from deltaspec.wire.data.identity_value_scan import IdentityValues
from deltaspec.wire.parquet.file_opener import UnreadableRows

LEAST, GREATEST = -(2**63), 2**63 - 1
_numbers = st.integers(-6, 6) | st.integers(LEAST, LEAST + 2) | st.integers(GREATEST - 2, GREATEST)
_steps = st.sampled_from([1, -1, 3, -2, GREATEST, LEAST])


def taken(identity: Identity, *batches: list[int | None]) -> IdentityValues:
    found = IdentityValues(identity)
    for batch in batches:
        found.take(pa.array(batch, pa.int64()))
    return found


@example_settings(60)
@given(_numbers, _steps, st.lists(st.lists(st.none() | _numbers, max_size=5), min_size=1, max_size=3))
def test_batches_give_what_their_values_give(start: int, step: int, batches: list[list[int | None]]) -> None:
    identity = Identity(start, step)
    found = taken(identity, *batches)
    values = [each for batch in batches for each in batch if each is not None]
    off = [each for each in values if not is_in_sequence(identity, each)]
    repeated = {each for each in values if values.count(each) > 1}
    assert (found.lowest, found.highest) == (min(values, default=None), max(values, default=None))
    assert (found.off_sequence, found.first_off_sequence) == (len(off), off[0] if off else None)
    assert found.first_repeated == min(repeated, default=None)
    assert (found.repeated > 0) is bool(repeated)
    assert {each - 2**64 if each > GREATEST else each for each in found.values} == set(values)


def test_a_value_that_a_file_before_holds_is_repeated() -> None:
    first, second = taken(Identity(1, 1), [1, 2, -3]), taken(Identity(1, 1), [2, -3, 4])
    second.record_repeats(first.values)
    assert (second.repeated, second.first_repeated) == (2, -3)


def test_a_column_that_holds_nothing() -> None:
    found = taken(Identity(1, 1), [None, None], [])
    found.take(pa.nulls(3))
    assert (found.lowest, found.highest, found.off_sequence, found.repeated) == (None, None, 0, 0)


def test_narrower_integers_are_longs() -> None:
    found = IdentityValues(Identity(1, 1))
    found.take(pa.array([1, 2], pa.int32()))
    assert (found.lowest, found.highest) == (1, 2)


def test_what_is_no_long_is_not_read() -> None:
    with pytest.raises(UnreadableRows, match="an identity column is string"):
        IdentityValues(Identity(1, 1)).take(pa.array(["1"]))
