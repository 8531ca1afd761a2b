"""Identity columns: what a field says of the values generated for it. Source: Identity Columns.

Which values are generated is a should of writers throughout; that the properties are longs, and the step not 0, is not.
Where the text says highest and higher, a negative step makes it lowest and lower (E45).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaspec.model.features.protocol import Accepted, Decision, Refused
from deltaspec.model.json_values import Number

FEATURE = "identityColumns"
START = "delta.identity.start"
STEP = "delta.identity.step"
MARK = "delta.identity.highWaterMark"
EXPLICIT = "delta.identity.allowExplicitInsert"

_LEAST, _GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Identity:
    """What the metadata of a column says; None where a key is absent, or of the wrong form."""

    start: int | None = None
    step: int | None = None
    mark: int | None = None
    """The last value generated."""
    explicit: bool | None = None
    """Whether users may give values themselves."""

    @property
    def is_always_generated(self) -> bool:
        """Whether every value of the column was generated, as far as the text says how: users may give none."""
        return self.explicit is False and self.start is not None and self.step not in (None, 0)


def read_identity(metadata: Mapping[str, Any]) -> Identity | None:
    """The identity properties of a field; None where it has none."""
    keys = (START, STEP, MARK, EXPLICIT)
    if all(metadata.get(key) is None for key in keys):
        return None
    explicit = metadata.get(EXPLICIT)
    start, step, mark = (_long(metadata.get(key)) for key in (START, STEP, MARK))
    return Identity(start, step, mark, explicit if isinstance(explicit, bool) else None)


def fault(metadata: Mapping[str, Any]) -> str | None:
    """What breaks the form of a field's identity properties, in words; None where nothing does or there are none."""
    for name in (START, STEP, MARK):
        if metadata.get(name) is not None and _long(metadata[name]) is None:
            return f"{name} is no long"
    if _long(metadata.get(STEP)) == 0:
        return f"{STEP} is 0"
    if not isinstance(metadata.get(EXPLICIT), bool | None):
        return f"{EXPLICIT} is no boolean"
    return None


# one value


def is_in_sequence(identity: Identity, value: int) -> bool | None:
    """Whether a value is the start plus k steps for a k of at least 0; None where start or step is not known."""
    if identity.start is None or identity.step is None or identity.step == 0:
        return None
    return (value - identity.start) % identity.step == 0 and (value - identity.start) // identity.step >= 0


def is_beyond_high_water_mark(identity: Identity, value: int) -> bool | None:
    """Whether a value lies beyond the mark in the direction of the step; None where mark or step is not known."""
    if identity.mark is None or identity.step is None or identity.step == 0:
        return None
    return value > identity.mark if identity.step > 0 else value < identity.mark


def is_high_water_mark_in_sequence(metadata: Mapping[str, Any]) -> bool | None:
    """Whether the last value generated is one that the sequence has.

    Returns:
        None where start, step or mark is absent or of the wrong form.
    """
    identity = read_identity(metadata)
    return None if identity is None or identity.mark is None else is_in_sequence(identity, identity.mark)


# what a write does


def allows_explicit_values(identity: Identity) -> Decision:
    """Whether users may give a value of their own for the column; whoever is not told may."""
    if identity.explicit is False:
        return Refused("identity-columns.explicit-values", f"{EXPLICIT} is false")
    return Accepted()


def generate_values(identity: Identity, count: int) -> list[int] | Refused:
    """The next values of the sequence beyond the mark, one by one; a writer may leave some out.

    Args:
        identity: before the write, with start and step.
        count: of values.

    Returns:
        `Refused` where a value does not fit a long: such a write is not allowed.
    """
    assert identity.start is not None, "without a start there is no sequence"
    assert identity.step, "nor without a step"
    given = -1 if identity.mark is None else (identity.mark - identity.start) // identity.step
    first = max(given + 1, 0)
    values = [identity.start + k * identity.step for k in range(first, first + count)]
    if any(not _LEAST <= value <= _GREATEST for value in values):
        return Refused("identity-columns.overflow", f"{values[-1]} is no long")
    return values


def find_value_faults(identity: Identity, present: Collection[int], generated: Sequence[int]) -> list[tuple[int, str]]:
    """Generated values that break a requirement: the value, and the id of the first that it breaks.

    Args:
        identity: as the version before the write has it.
        present: values that the column holds already.
        generated: by the write.
    """
    found: list[tuple[int, str]] = []
    for place, value in enumerate(generated):
        if value in present or value in generated[:place]:
            found.append((value, "identity-columns.unique"))
        elif is_in_sequence(identity, value) is False:
            found.append((value, "identity-columns.sequence"))
        elif is_beyond_high_water_mark(identity, value) is False:
            found.append((value, "identity-columns.beyond-mark"))
    return found


# from version to version


def find_changed_properties(before: Identity, after: Identity) -> list[str]:
    """Keys of what stays as it was when the column was created, and is another or gone."""
    pairs = (
        (START, before.start, after.start),
        (STEP, before.step, after.step),
        (EXPLICIT, before.explicit, after.explicit),
    )
    return [key for key, old, new in pairs if old is not None and old != new]


def is_illegal_high_water_mark(before: Identity, after: Identity) -> bool:
    """Whether the mark is gone, or went back against the direction of the step: values would be generated again.

    Of a commit that generates values: which the mark is after others (a restore, or a user who had it set to the
    highest value that is left) the text does not say.
    """
    if before.mark is None or not after.step:
        return False
    if after.mark is None:
        return True
    return after.mark < before.mark if after.step > 0 else after.mark > before.mark


def _long(value: Any) -> int | None:
    if not isinstance(value, Number) or not value.is_integer or len(value) > 20:
        return None
    return int(value) if _LEAST <= int(value) <= _GREATEST else None
