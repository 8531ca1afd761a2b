"""Draw partition values and their texts in the log. Source: Partition Value Serialization."""

from typing import Any, Literal, TypeAlias

from deltaspec.protocol.files import partition_values
from deltaspec.protocol.schema.data_types import DataType, Primitive
from deltaspec_generators.choices import Choices
from deltaspec_generators.values.plain_values import draw_values

_BINARIES = (b"a", b"\x01\x02", b"\x7f", "é".encode())


def draw_partition_value(choices: Choices, data_type: DataType) -> Any:
    """Draw a plain partition value, which may be null.

    The empty string and empty binary are serialized like null. Binary values are UTF-8: others have no text, and the
    protocol does not define characters above U+007F (S67).
    """
    value = draw_values(choices, data_type, 1)[0]
    if data_type == Primitive("binary") and value is not None:
        value = choices.pick(_BINARIES)
    return None if value == "" else value


TimestampTexts: TypeAlias = Literal["any", "zoned", "spaced"]
"""All texts of a timestamp; only the text in UTC, which the current revision recommends; only texts of older ones."""


def draw_partition_text(
    choices: Choices, value: Any, data_type: DataType, timestamps: TimestampTexts = "any"
) -> str | None:
    """Draw one of the legal texts of a partition value; the first is the result of `serialize_partition_value`."""
    text = partition_values.serialize_partition_value(value, data_type)
    if text is None:
        return choices.pick((None, ""))
    match data_type:
        case Primitive("timestamp"):
            spaced = text.replace("T", " ").removesuffix("Z")
            texts = (text, spaced, *_drop_zeros(spaced))
            return choices.pick({"any": texts, "zoned": texts[:1], "spaced": texts[1:]}[timestamps])
        case Primitive("timestamp_ntz"):
            return choices.pick((text, *_drop_zeros(text)))
        case Primitive("float" | "double") if text.endswith(".0") and text != "-0.0":
            return choices.pick((text, f"{text.removesuffix('.0')}.00", f"{text}E0"))
    return text


def _drop_zeros(text: str) -> tuple[str, ...]:
    """Return the text without a fraction of zeros, as in older tables."""
    return (text.removesuffix(".000000"),) if text.endswith(".000000") else ()
