"""Plain values of an older schema, and under physical names, as values of the current schema.

A conversion is built from the schemas before any row is converted. Unchanged parts of a value are shared with the
converted value, not copied.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal as Exact
from typing import Any, TypeAlias

from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Map, Primitive, Struct
from deltaspec.protocol.time_units import DAY_US
from deltaspec_generators.values.plain_values import VOID

Converter: TypeAlias = Callable[[Any], Any] | None
"""Converts a plain value; None if every value stays as it is."""


def convert_all(convert: Converter, values: Iterable[Any]) -> list[Any]:
    """Return the converted values, as a new list."""
    return list(values) if convert is None else [convert(each) for each in values]


def build_converter(before: DataType, after: DataType) -> Converter:
    """Build the conversion of plain values to a later type: new fields are null, numbers are widened.

    Fields are matched by name, so both types must have physical names.
    """
    if before == after:
        return None
    match before, after:
        case Struct(old), Struct(new):
            known = {each.name: each.type for each in old}
            fields = [
                (each.name, each.name, build_converter(known[each.name], each.type) if each.name in known else _to_null)
                for each in new
            ]
            return _for_fields(fields, required=known.keys() & {each.name for each in new})
        case Array(old_element), Array(element):
            return _for_elements(build_converter(old_element, element))
        case Map(old_key, old_value), Map(key, item):
            return _for_entries(build_converter(old_key, key), build_converter(old_value, item))
        case Primitive("date"), Primitive("timestamp_ntz"):
            return _or_null(lambda value: value * DAY_US)
        case _, Primitive("double"):
            return _or_null(float)
        case _, Decimal():
            return _or_null(Exact)
    return None


def build_renamer(data_type: DataType, mapping: str | None) -> Converter:
    """Build the conversion of physical field names to the logical names in `data_type`; void fields are null."""
    if data_type == VOID:
        return _to_null
    match data_type:
        case Struct(fields):
            return _for_fields(
                [
                    (each.name, column_mapping.physical_name(each, mapping), build_renamer(each.type, mapping))
                    for each in fields
                ]
            )
        case Array(element):
            return _for_elements(build_renamer(element, mapping))
        case Map(key, item):
            return _for_entries(build_renamer(key, mapping), build_renamer(item, mapping))
    return None


def _to_null(_: Any) -> None:
    return None


def _or_null(convert: Callable[[Any], Any]) -> Converter:
    return lambda value: None if value is None else convert(value)


def _for_fields(fields: Sequence[tuple[str, str, Converter]], *, required: AbstractSet[str] = frozenset()) -> Converter:
    """Build the conversion of a struct whose fields have a new name, an old one and a conversion.

    A value without a required old name raises `KeyError`; other missing names are null.
    """

    def convert_fields(value: Mapping[str, Any]) -> dict[str, Any]:
        if not required <= value.keys():
            raise KeyError(*(required - value.keys()))
        return {new: value.get(old) if convert is None else convert(value.get(old)) for new, old, convert in fields}

    return _or_null(convert_fields)


def _for_elements(convert: Converter) -> Converter:
    return None if convert is None else _or_null(lambda value: [convert(each) for each in value])


def _for_entries(convert_key: Converter, convert_item: Converter) -> Converter:
    if convert_key is None and convert_item is None:
        return None
    key, item = convert_key or _keep, convert_item or _keep
    return _or_null(lambda value: [(key(left), item(right)) for left, right in value])


def _keep(value: Any) -> Any:
    return value
