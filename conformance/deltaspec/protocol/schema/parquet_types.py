"""Delta types in Parquet files: which schema nodes can store which type.

There are three kinds of result. A *fault*: a reader of the table's type cannot read the stored values. A *warning*:
readers can read them, but the node is not a mapping that the protocol lists. *Narrower*: the values have a type that
can be widened to the table's type, so only readers of type widening expect them. Source: Delta Data Type to Parquet
Type Mappings (current).
"""

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.schema.data_types import (
    Array,
    DataType,
    Decimal,
    Map,
    Primitive,
    Struct,
    get_type_name,
    is_widening,
)

Repetition = Literal["required", "optional", "repeated"]


class Annotation(msgspec.Struct, frozen=True):
    """Annotation of a Parquet node: its logical type, or the converted type that older writers use."""

    name: str
    """STRING, MAP, LIST, ENUM, DECIMAL, DATE, TIME, TIMESTAMP, INTEGER, UNKNOWN, JSON, BSON, UUID, FLOAT16, VARIANT,
    INTERVAL, MAP_KEY_VALUE, or the number of an unknown annotation.
    """
    bits: int | None = None
    """Of INTEGER."""
    signed: bool | None = None
    precision: int | None = None
    """Of DECIMAL."""
    scale: int | None = None
    unit: str | None = None
    """Of TIMESTAMP and TIME: MILLIS, MICROS or NANOS."""
    utc: bool | None = None
    """Of TIMESTAMP and TIME: isAdjustedToUTC."""
    converted: bool = False
    """Derived from the converted type only, which cannot express a timestamp without time zone."""

    def __str__(self) -> str:
        match self.name:
            case "INTEGER":
                return f"INT({self.bits}, {'signed' if self.signed else 'unsigned'})"
            case "DECIMAL":
                return f"DECIMAL({self.precision}, {self.scale})"
            case "TIMESTAMP" | "TIME":
                return f"{self.name}({self.unit}, {'UTC' if self.utc else 'no zone'})"
        return self.name


class Node(msgspec.Struct, frozen=True):
    """A node of a Parquet schema: a column of values or a group of nodes."""

    name: str
    repetition: Repetition
    physical: str | None = None
    """BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY; None for a group."""
    annotation: Annotation | None = None
    field_id: int | None = None
    children: tuple["Node", ...] = ()
    length: int | None = None
    """Length of a FIXED_LEN_BYTE_ARRAY in bytes."""

    def __str__(self) -> str:
        form = self.physical or "group"
        if self.length is not None:
            form += f"({self.length})"
        return (
            form + (f" {self.annotation}" if self.annotation else "") + (", repeated" * (self.repetition == "repeated"))
        )


class StoredType(msgspec.Struct, frozen=True):
    """How a node stores a type."""

    fault: str | None = None
    """Why a reader cannot read the values."""
    warning: str | None = None
    """What is unusual about the node."""
    narrower_type: DataType | None = None
    """Type of the stored values, if reading them as the table's type needs type widening."""


SOUND = StoredType()
VARIANT_PARTS = ("metadata", "value", "typed_value")


def get_stored_type(data_type: DataType, node: Node) -> StoredType:
    """Describe how a node stores a Delta type; for structs, arrays and maps, only whether the node is such a group.

    Return `SOUND` for void, which no file stores, and for types that the protocol does not define.
    """
    match data_type:
        case Struct():
            return _group(data_type, node, lambda: _struct(node))
        case Array():
            return _array(data_type, node)
        case Map():
            found = _group(data_type, node, lambda: _map(node))
            return found if found.fault else StoredType(warning=_odd_key(node))
        case Primitive("variant"):
            return _group(data_type, node, lambda: _variant(node))
        case Primitive("void"):
            return SOUND
        case Primitive() | Decimal():
            return _leaf(data_type, node)
    return SOUND


# leaves


def find_type(node: Node) -> DataType | None:
    """Return the Delta type that the protocol lists for a node, or None; also None for INT96, which two types use."""
    annotation = node.annotation
    name = annotation.name if annotation else None
    if annotation and name == "DECIMAL":
        sized = annotation.precision is not None and annotation.scale is not None
        in_form = node.physical in ("INT32", "INT64", "FIXED_LEN_BYTE_ARRAY", "BYTE_ARRAY")
        return Decimal(annotation.precision or 0, annotation.scale or 0) if sized and in_form else None
    match node.physical, name:
        case "BOOLEAN" | "FLOAT" | "DOUBLE", None:
            return Primitive(node.physical.lower())
        case "INT32", None:
            return Primitive("integer")
        case "INT64", None:
            return Primitive("long")
        case "INT32", "DATE":
            return Primitive("date")
        case "INT32" | "INT64", "INTEGER" if annotation and annotation.signed:
            names = {("INT32", 8): "byte", ("INT32", 16): "short", ("INT32", 32): "integer", ("INT64", 64): "long"}
            found = names.get((node.physical, annotation.bits or 0))
            return Primitive(found) if found else None
        case "INT64", "TIMESTAMP" if annotation:
            return Primitive("timestamp" if annotation.utc else "timestamp_ntz")
        case "BYTE_ARRAY", "STRING" | "ENUM" | "JSON":
            return Primitive("string")
        case "BYTE_ARRAY", None | "BSON":
            return Primitive("binary")
        case "FIXED_LEN_BYTE_ARRAY", None:
            return Primitive("binary")
    return None


def _leaf(data_type: DataType, node: Node) -> StoredType:
    if node.physical is None or node.repetition == "repeated":
        return StoredType(fault=f"the file stores {node}; the schema says {get_type_name(data_type)}")
    found = find_type(node)
    if found == data_type:
        return StoredType(warning=_oddity(data_type, node))
    match data_type, found:
        case Primitive("timestamp" | "timestamp_ntz"), None if node.physical == "INT96":
            return SOUND  # an INT96 does not say whether it has a time zone (E54): the table's type decides
        case Primitive("timestamp_ntz"), Primitive("timestamp") if node.annotation and node.annotation.converted:
            return StoredType(warning=f"{node} has only a converted type, which cannot express a missing time zone")
        case Primitive("short" | "integer"), Primitive("byte" | "short") if is_widening(found, data_type):
            return SOUND  # the same bytes: every reader of the wider type can read them
        case Primitive("byte" | "short"), Primitive("short" | "integer"):
            return StoredType(warning=f"{node} may store values beyond the range of {get_type_name(data_type)}")
        case Primitive("string"), Primitive("binary") if node.physical == "BYTE_ARRAY" and not node.annotation:
            return StoredType(warning=f"{node} is not annotated as a string")
        case Primitive("binary"), Primitive("string"):
            return StoredType(warning=f"{node} is annotated as text")
        case Primitive("binary"), None if node.annotation == Annotation("UUID"):
            return StoredType(warning=f"{node} is annotated as a UUID")
    if found is not None and is_widening(found, data_type):
        return StoredType(narrower_type=found)
    return StoredType(fault=f"the file stores {node}; the schema says {get_type_name(data_type)}")


def _oddity(data_type: DataType, node: Node) -> str | None:
    annotation = node.annotation
    if isinstance(data_type, Decimal) and node.physical == "BYTE_ARRAY":
        return f"{node} does not have a fixed length"
    if annotation and annotation.name in ("ENUM", "JSON", "BSON"):
        return f"{node} is not annotated as a {get_type_name(data_type)}"
    if annotation and annotation.name == "TIMESTAMP" and annotation.unit != "MICROS":
        return f"{node} is not in microseconds"
    if data_type == Primitive("binary") and node.physical == "FIXED_LEN_BYTE_ARRAY":
        return f"{node} has a fixed length"
    return None


# groups


def _group(data_type: DataType, node: Node, look: Callable[[], str | None]) -> StoredType:
    if node.physical is not None or node.repetition == "repeated":
        return StoredType(fault=f"the file stores {node}; the schema says {get_type_name(data_type)}")
    return StoredType(fault=look())


def _struct(node: Node) -> str | None:
    return f"the file stores {node}; the schema says struct" if node.annotation else None


def _map(node: Node) -> str | None:
    # E55: the protocol also mentions maps with two levels, which Parquet does not have.
    if node.annotation is None or node.annotation.name not in ("MAP", "MAP_KEY_VALUE"):
        return f"{node} is not annotated as a map"
    inner = node.children[0] if len(node.children) == 1 else None
    if inner is None or inner.physical is not None or inner.repetition != "repeated" or len(inner.children) != 2:
        return "a map must be a group with one repeated group of key and value"
    return None


def _odd_key(node: Node) -> str | None:
    key, _ = get_map_nodes(node)
    return None if key.repetition == "required" else f"the map key is nullable: {key.repetition} {key}"


def _array(data_type: Array, node: Node) -> StoredType:
    if node.repetition == "repeated":
        # Parquet reads a repeated node outside of a LIST as a required list of required elements.
        return StoredType(warning=f"{node} outside of a LIST")
    if node.physical is not None:
        return StoredType(fault=f"the file stores {node}; the schema says array")
    if node.annotation is None or node.annotation.name != "LIST":
        return StoredType(fault=f"{node} is not annotated as a list")
    if len(node.children) != 1 or node.children[0].repetition != "repeated":
        return StoredType(fault="a list must be a group with one repeated node")
    return SOUND


def _variant(node: Node) -> str | None:
    if node.annotation is not None and node.annotation.name != "VARIANT":
        return f"the file stores {node}; the schema says variant"
    parts = {child.name: child for child in node.children}
    if len(parts) < len(node.children) or not parts.keys() <= set(VARIANT_PARTS):
        names = ", ".join(sorted(parts.keys() - set(VARIANT_PARTS)))
        return f"a variant has unexpected parts: {names or 'repeated names'}"
    if "metadata" not in parts:
        return "the variant has no metadata"
    for name in ("metadata", "value"):
        part = parts.get(name)
        if part and not _is_plain_binary(part):
            return f"{name} of a variant is {part}, not binary"
    typed = parts.get("typed_value")
    return None if typed is None else _typed_value(typed)


def _typed_value(node: Node) -> str | None:
    """Return why a `typed_value` is not a valid shredded form, or None.

    Objects and arrays are shredded recursively into pairs of `value` and `typed_value`. Optional fields and elements
    are accepted, because a null one has neither of the two. Source: Shredded Variant data in Parquet (current).
    """
    waiting = [node]
    while waiting:
        each = waiting.pop()
        name = each.annotation.name if each.annotation else None
        if each.repetition == "repeated" or (each.physical is not None and not is_shredded_scalar(each)):
            return f"{each} is not a type of shredded values"
        if each.physical is not None:
            continue
        if name not in (None, "LIST"):
            return f"{each} is not a type of shredded values"
        pairs = each.children
        if name == "LIST":
            inner = each.children[0] if len(each.children) == 1 else None
            if (
                inner is None
                or inner.physical is not None
                or inner.repetition != "repeated"
                or len(inner.children) != 1
            ):
                return "a shredded array must be a list of three levels"
            pairs = inner.children
        if len({pair.name for pair in pairs}) < len(pairs):
            return "a shredded object has two fields of one name"
        for pair in pairs:
            fault = _pair(pair)
            if fault is not None:
                return fault
            waiting += [child for child in pair.children if child.name == "typed_value"]
    return None


def _pair(node: Node) -> str | None:
    """Return why a field of a shredded object, or an element of a shredded array, is not valid, or None."""
    parts = {child.name: child for child in node.children}
    is_group = node.physical is None and node.annotation is None and node.repetition != "repeated"
    if not is_group or not parts or len(parts) < len(node.children) or not parts.keys() <= {"value", "typed_value"}:
        return f"{node.name} of a shredded value must be a group of value and typed_value"
    value = parts.get("value")
    return f"value of {node.name} is {value}, not binary" if value and not _is_plain_binary(value) else None


def _is_plain_binary(node: Node) -> bool:
    return node.physical == "BYTE_ARRAY" and node.annotation is None and node.repetition != "repeated"


_DIGITS = {"INT32": 9, "INT64": 18, "BYTE_ARRAY": 38, "FIXED_LEN_BYTE_ARRAY": 38}
"""Largest precision of a shredded decimal by physical type."""
_INTEGER_BITS = {"INT32": (8, 16, 32), "INT64": (64,)}


def is_shredded_scalar(node: Node) -> bool:
    """Return whether Parquet's shredding lists the type of a column of values."""
    physical, annotation = node.physical, node.annotation
    match annotation.name if annotation else None:
        case None:
            return physical in ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE", "BYTE_ARRAY")
        case "INTEGER" if annotation:
            return bool(annotation.signed) and annotation.bits in _INTEGER_BITS.get(physical or "", ())
        case "DECIMAL" if annotation:
            digits, scale = annotation.precision or 0, annotation.scale or 0
            return 0 <= scale <= digits and 1 <= digits <= _DIGITS.get(physical or "", 0)
        case "DATE":
            return physical == "INT32"
        case "TIME" if annotation:
            return physical == "INT64" and annotation.unit in (None, "MICROS")  # Arrow marks every time as UTC
        case "TIMESTAMP" if annotation:
            return physical == "INT64" and annotation.unit in ("MICROS", "NANOS")
        case "STRING":
            return physical == "BYTE_ARRAY"
        case "UUID":
            return physical == "FIXED_LEN_BYTE_ARRAY" and node.length in (None, 16)
    return False


def is_shredded(node: Node) -> bool:
    """Return whether a variant may store values outside `value`. Source: Variant Shredding (current)."""
    names = {child.name for child in node.children}
    return "typed_value" in names or "value" not in names


def get_map_nodes(node: Node) -> tuple[Node, Node]:
    """Return key and value of a valid map group; Parquet identifies them by order."""
    key, value = node.children[0].children
    return key, value


def get_element_nodes(node: Node) -> list[Node]:
    """Return the possible element nodes of a valid list, the likeliest first.

    A repeated group with one field may be the middle of three levels, or an element with one field. Parquet decides by
    names that only some writers use, so a caller that knows the element's type may try both. Source: Parquet, Lists.
    """
    if node.repetition == "repeated":
        return [_once(node)]
    inner = node.children[0]
    if inner.physical is not None or len(inner.children) != 1 or inner.children[0].repetition == "repeated":
        return [_once(inner)]
    if inner.name in ("array", f"{node.name}_tuple"):
        return [_once(inner), inner.children[0]]
    return [inner.children[0], _once(inner)]


def _once(node: Node) -> Node:
    """Return a repeated node as one required element."""
    return replace(node, repetition="required")
