"""Values that a writer generates for identity columns. Source: Identity Columns."""

from collections.abc import Collection, Sequence

from deltaspec.model.decisions import Accepted, Decision, Refused
from deltaspec.protocol.features.identity_columns import (
    MAX_LONG,
    MIN_LONG,
    Identity,
    is_beyond_high_water_mark,
    is_in_sequence,
)
from deltaspec.protocol.property_names import IDENTITY_EXPLICIT_INSERT


def allows_explicit_values(identity: Identity) -> Decision:
    """Decide whether users may insert explicit values. The default is true."""
    if identity.explicit is False:
        return Refused("identity-columns.explicit-values", f"{IDENTITY_EXPLICIT_INSERT} is false")
    return Accepted()


def generate_values(identity: Identity, count: int) -> list[int] | Refused:
    """Generate the next values of the sequence after the high-water mark; a writer may skip values.

    Args:
        identity: Properties before the write, with start and step.
        count: Number of values.

    Returns:
        `Refused` if a value does not fit a long: such a write is not allowed.
    """
    assert identity.start is not None, "identity.start is required"
    assert identity.step, "identity.step is required and must not be 0"
    last_index = (
        -1 if identity.high_water_mark is None else (identity.high_water_mark - identity.start) // identity.step
    )
    first = max(last_index + 1, 0)
    values = [identity.start + k * identity.step for k in range(first, first + count)]
    if any(not MIN_LONG <= value <= MAX_LONG for value in values):
        return Refused("identity-columns.overflow", f"{values[-1]} is not a long")
    return values


def find_value_faults(identity: Identity, present: Collection[int], generated: Sequence[int]) -> list[tuple[int, str]]:
    """Return the generated values that violate a requirement, each with the id of the first violated one.

    Args:
        identity: Properties in the version before the write.
        present: Values already in the column.
        generated: Values that the write generated, in order.
    """
    found: list[tuple[int, str]] = []
    for index, value in enumerate(generated):
        if value in present or value in generated[:index]:
            found.append((value, "identity-columns.unique"))
        elif is_in_sequence(identity, value) is False:
            found.append((value, "identity-columns.sequence"))
        elif is_beyond_high_water_mark(identity, value) is False:
            found.append((value, "identity-columns.beyond-mark"))
    return found
