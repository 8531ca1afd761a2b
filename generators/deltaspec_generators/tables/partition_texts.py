"""Draw partition values and their texts in the log. Source: Partition Value Serialization."""

from typing import Any

from deltaspec.model.schema.data_types import DataType, Primitive
from deltaspec_generators.tables.choices import Choices
from deltaspec_generators.tables.values import draw_values

_BINARIES = (b"a", b"\x01\x02", b"\x7f", "é".encode())


def draw_partition_value(choices: Choices, kind: DataType) -> Any:
    """Draw a plain partition value, which may be null.

    The empty string and empty binary are serialized like null. Binary values are UTF-8, because others have no text.
    """
    value = draw_values(choices, kind, 1)[0]
    if kind == Primitive("binary") and value is not None:
        value = choices.pick(_BINARIES)
    return None if value == "" else value
