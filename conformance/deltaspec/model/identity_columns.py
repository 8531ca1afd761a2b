"""Identity columns: what a field says of the values generated for it. Source: Identity Columns.

Which values are generated is a should of writers throughout; that the properties are longs, and the step not 0, is not.
"""

from collections.abc import Mapping
from typing import Any

from deltaspec.model.json_values import Number

START = "delta.identity.start"
STEP = "delta.identity.step"
MARK = "delta.identity.highWaterMark"
EXPLICIT = "delta.identity.allowExplicitInsert"


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


def mark_is_in_sequence(metadata: Mapping[str, Any]) -> bool | None:
    """Whether the highest value generated is one that the sequence has: start + k * step for a k of at least 0.

    E45: for a negative step the text's highest value is the lowest.

    Returns:
        None where start, step or mark is absent or of the wrong form.
    """
    start, step, mark = (_long(metadata.get(name)) for name in (START, STEP, MARK))
    if start is None or step is None or mark is None or step == 0:
        return None
    return (mark - start) % step == 0 and (mark - start) // step >= 0


def _long(value: Any) -> int | None:
    if not isinstance(value, Number) or not value.is_integer or len(value) > 20:
        return None
    return int(value) if -(2**63) <= int(value) < 2**63 else None
