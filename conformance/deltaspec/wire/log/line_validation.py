"""Explain why JSON does not decode, with the published JSON Schemas and a precise pointer.

This is the slow path next to msgspec, for malformed lines only. It parses losslessly and keeps numbers as written, to
distinguish `1.0`, `1e3` and 2^63 from 64-bit integers.
"""

import json
import math
from bisect import bisect_right
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from deltaspec.json_schemas import describe_type
from deltaspec.protocol.actions import ACTION_TYPES, WireStruct, get_action_types
from deltaspec.protocol.json_values import MAX_DEPTH, JsonError, JsonTooDeep, Number, parse_lossless
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint, get_hint_type
from deltaspec.protocol.log.version_checksum import VersionChecksum
from deltaspec.protocol.revisions import Revision

_OLDER_FORMS: dict[tuple[str, Revision], str] = {
    ("add", Revision.R1): "add.r1",
    ("add", Revision.R2): "add.r2",
    ("remove", Revision.R1): "remove.r1",
    ("remove", Revision.R2): "remove.r2",
    ("domainMetadata", Revision.R1): "domainMetadata.r1",
    ("domainMetadata", Revision.R2): "domainMetadata.r1",
    ("rowIdHighWaterMark", Revision.R1): "rowIdHighWaterMark.r1",
    ("rowIdHighWaterMark", Revision.R2): "rowIdHighWaterMark.r2",
}
"""(Action, revision) -> name of its schema, if it differs from the current revision."""

FREE_FORM = "commitInfo"
"""The action that may be any JSON value."""

SCHEMA_TYPES: dict[str, type[WireStruct]] = {
    **ACTION_TYPES,
    **{name: get_action_types(revision)[kind] for (kind, revision), name in _OLDER_FORMS.items()},
    "versionChecksum": VersionChecksum,
    "lastCheckpoint": LastCheckpoint,
    "lastCheckpoint.r1": get_hint_type(Revision.R1),
}
"""Every published schema: actions by wire name, older forms with their first revision, and the two files that are one
object."""


class LineError(msgspec.Struct, frozen=True):
    """Defects of one line; every field is None or 0 if it has none."""

    kind: str | None = None
    """Wire name of its single known action."""
    actions: int = 0
    """Number of keys whose value is not null."""
    known_actions: int = 0
    """Number of these keys that name an action of the revision."""
    unrecognized_key: str | None = None
    """First key that names no action of the revision, if the line has several keys; readers ignore it."""
    json_error: str | None = None
    schema_error: str | None = None
    pointer: str | None = None
    repeated_key: str | None = None
    unexpected_whitespace: str | None = None
    has_lone_surrogate: bool = False
    """A string has a lone surrogate, escaped or as octets, which JSON allows but UTF-8 cannot encode."""

    @property
    def is_blank(self) -> bool:
        """Whether the line is empty or white space."""
        return self.unexpected_whitespace == "blank line" and self.actions == 0 and self.json_error is None

    @property
    def is_undecodable(self) -> bool:
        """Whether the action of the line is unknown."""
        lost = self.has_lone_surrogate and self.kind is not None
        return self.json_error is not None or self.schema_error is not None or self.known_actions > 1 or lost

    @property
    def has_defect(self) -> bool:
        """Whether the line has any defect."""
        odd = (
            self.is_undecodable
            or self.has_lone_surrogate
            or self.unrecognized_key is not None
            or self.repeated_key is not None
            or self.unexpected_whitespace is not None
        )
        return odd or self.actions == 0


def explain_line(line: bytes, revision: Revision = Revision.CURRENT) -> LineError:
    """Return the kind and the defects of a line of the log, for readers of a revision.

    Raises:
        JsonTooDeep: the line starts as an object and is nested too deeply to be parsed.
    """
    text, space = line, None
    if text.startswith(b"\xef\xbb\xbf"):
        text, space = text[3:], "byte order mark"
    elif text.endswith(b"\r"):
        text, space = text[:-1], "carriage return"
    if not text.strip():
        return LineError(unexpected_whitespace="blank line")
    try:
        document = parse_lossless(text)
    except JsonError as error:
        if isinstance(error, JsonTooDeep) and text.lstrip().startswith(b"{"):
            raise
        return LineError(json_error=str(error), unexpected_whitespace=space)
    if not isinstance(document.value, dict):
        return LineError(json_error=f"is {_name_type(document.value)}, not an object", unexpected_whitespace=space)
    has_lone_surrogate = _may_contain_surrogate(text) and _contains_lone_surrogate(document.value)
    repeated = document.repeated_keys[0] if document.repeated_keys else None
    found = _count_actions(document.value, revision)
    if has_lone_surrogate:
        return replace(found, unrecognized_key=None, unexpected_whitespace=space, has_lone_surrogate=True)
    found, kind = replace(found, repeated_key=repeated, unexpected_whitespace=space), found.kind
    if kind and kind != FREE_FORM:
        fault, pointer = _find_defect(_get_schema_name(kind, revision), document.value[kind])
        if fault:
            return replace(found, schema_error=fault, pointer=f"/{kind}{pointer}")
    return found


def _count_actions(members: dict[str, Any], revision: Revision) -> LineError:
    """Return the kind of a line and the numbers of its keys."""
    present = [key for key, value in members.items() if value is not None]
    known = [key for key in present if key in get_action_types(revision)]
    unrecognized = next((key for key in present if key not in known), None) if len(present) > 1 else None
    return LineError(known[0] if len(known) == 1 else None, len(present), len(known), unrecognized)


def contains_lone_surrogate(data: bytes) -> bool:
    """Return whether a string of a JSON document has a lone surrogate, and the JSON is valid otherwise."""
    try:
        return _may_contain_surrogate(data) and _contains_lone_surrogate(parse_lossless(data).value)
    except JsonError:
        return False


def is_too_deep(data: bytes) -> bool:
    """Return whether a JSON document is nested more deeply than `MAX_DEPTH`, and may be valid."""
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return False
    try:
        parse_lossless(data)
    except JsonTooDeep:
        return True
    except JsonError:
        return False
    return False


def _may_contain_surrogate(data: bytes) -> bool:
    """Return whether a document has an escape, or the first octet of a surrogate."""
    return b"\\u" in data or b"\xed" in data


def _contains_lone_surrogate(value: Any) -> bool:
    """Return whether a string of a JSON value cannot be encoded as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _get_schema_name(kind: str, revision: Revision) -> str:
    return _OLDER_FORMS.get((kind, revision), kind)


def explain_action(kind: str, body: Any, revision: Revision = Revision.CURRENT) -> LineError:
    """Return the defect of an action with Python values, such as a Parquet row."""
    fault, pointer = _find_defect(_get_schema_name(kind, revision), to_lossless(body))
    return LineError(kind, 1, 1, schema_error=fault or "does not decode", pointer=f"/{kind}{pointer or ''}")


def explain_object(schema: str, data: bytes) -> tuple[str | None, str | None, str | None]:
    """Return the defect of a file that should be one JSON object.

    Args:
        schema: name in `SCHEMA_TYPES`.
        data: content of the file.

    Returns:
        Message of the defect, its JSON pointer, and the pointer of a repeated key; None for each that is absent.
    """
    try:
        document = parse_lossless(data)
    except JsonError as error:
        return f"is not JSON: {error}", "", None
    repeated = document.repeated_keys[0] if document.repeated_keys else None
    if not isinstance(document.value, dict):
        return f"is {_name_type(document.value)}, not an object", "", repeated
    fault, pointer = _find_defect(schema, document.value)
    return fault, pointer, repeated


def _find_defect(schema: str, value: Any) -> tuple[str | None, str | None]:
    """Return message and pointer of the defect of a value. Each shape of values is validated once."""
    key = (schema, compute_shape(value))
    fault = DEFECT_BY_SHAPE.get(key, _UNKNOWN)  # another thread may clear the cache
    if fault is _UNKNOWN:
        fault = find_first_defect(schema, value)
        if key[1] is not None:
            if len(DEFECT_BY_SHAPE) >= MAX_SHAPES:
                DEFECT_BY_SHAPE.clear()
            DEFECT_BY_SHAPE[key] = fault
    if fault is None:
        return None, None
    instance = value
    for part in fault.path:
        instance = instance[part]
    pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in fault.path)
    return _describe(fault, instance), pointer


class _Defect(msgspec.Struct, frozen=True):
    """A defect that all values of one shape have."""

    path: tuple[str | int, ...]
    validator: str
    wanted: Any


MAX_SHAPES = 1000
"""Number of shapes after which the cache of their defects is cleared."""
_UNKNOWN = _Defect((), "", None)
"""Placeholder for a shape that was not validated yet."""
DEFECT_BY_SHAPE: dict[tuple[str, tuple[Any, ...] | None], _Defect | None] = {}
"""(Schema, shape) -> defect, or None if it is valid."""
_SHAPE_LENGTH = 1000
_INTEGER_LENGTH = 20
"""Length of the longest 64-bit integer, with sign."""
INTEGER_BOUNDS = (-(2**63), -(2**31), 2**31, 2**63)
"""Integers between two of these satisfy the same bounds of the schemas."""


def find_first_defect(schema: str, value: Any) -> _Defect | None:
    """Validate a value; return the defect that is reported first, or None if there is none."""
    if is_convertible(schema, value):
        return None
    from jsonschema.exceptions import best_match

    faults = sorted(get_validator(schema).iter_errors(value), key=lambda fault: [str(part) for part in fault.path])
    if not faults:
        return None
    fault = best_match(faults)
    return _Defect(tuple(fault.absolute_path), fault.validator, fault.validator_value)


def is_convertible(schema: str, value: Any) -> bool:
    """Return whether a value is valid, as its class decides; this needs no JSON Schema, which is slow to import."""
    try:
        msgspec.convert(_without_fractions(value), SCHEMA_TYPES[schema])
    except msgspec.ValidationError:
        return False
    return True


def _without_fractions(value: Any) -> Any:
    """Replace numbers by Python numbers, and numbers that are not 64-bit integers by one that no field accepts."""
    match value:
        case Number():
            return int(value) if value.is_integer and len(value) <= _INTEGER_LENGTH else math.nan
        case dict():
            return {key: _without_fractions(member) for key, member in value.items()}
        case list():
            return [_without_fractions(member) for member in value]
    return value


def compute_shape(value: Any) -> tuple[Any, ...] | None:
    """Return everything that a schema depends on: member names and value types; None if the result is too long."""
    found: list[Any] = []
    pending, length = [value], 0
    while pending:
        value = pending.pop()
        length += 1
        if isinstance(value, Number):
            found.append(_shape_of_number(value))
        elif isinstance(value, dict):
            length += sum(map(len, value))
            found += (dict, len(value), *value)
            pending += value.values()
        elif isinstance(value, list):
            found += (list, len(value))
            pending += value
        else:
            found.append(type(value))
        if length + len(pending) > _SHAPE_LENGTH:
            return None
    return tuple(found)


def _shape_of_number(value: Number) -> Any:
    if not value.is_integer:
        return float
    return (
        bisect_right(INTEGER_BOUNDS, int(value)) if len(value) <= 20 else (len(INTEGER_BOUNDS), value.startswith("-"))
    )


def _describe(fault: _Defect, instance: Any) -> str:
    name = fault.path[-1] if fault.path else "it"
    shown = _shorten(instance)
    match fault.validator:
        case "required":
            missing = [key for key in fault.wanted if key not in instance]
            return f"{', '.join(missing)} missing"
        case "type" | "anyOf":
            wanted = fault.wanted if fault.validator == "type" else "of another type"
            found = "null" if instance is None else f"{_name_type(instance)} {shown}"
            return f"{name} is {found}, should be {wanted}"
        case "minimum" | "maximum":
            return f"{name} is {shown}, beyond {fault.wanted}"
    return f"{name} is {shown}: {fault.validator} {fault.wanted}"


def _shorten(value: Any) -> str:
    text = str(value) if isinstance(value, Number) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _name_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Number):
        return "the number"
    words = {bool: "the boolean", str: "the text", dict: "an object", list: "an array"}
    return words.get(type(value), type(value).__name__)


def to_lossless(value: Any) -> Any:
    """Return a JSON value whose numbers the validator compares without loss."""
    if isinstance(value, dict):
        return {str(key): to_lossless(member) for key, member in value.items()}
    if isinstance(value, list):
        return [to_lossless(member) for member in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Number(value)
    return value


@cache
def build_json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of an action or file, as published in `wire/schemas/`; null means absent."""
    schema = describe_type(SCHEMA_TYPES[name])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **schema}


@cache
def get_validator(name: str) -> Any:
    """Return the JSON Schema validator of an action."""
    import jsonschema  # slow to import, and valid tables do not need it

    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, Number) and value.is_integer,
            "number": lambda _, value: isinstance(value, Number),
            "string": lambda _, value: isinstance(value, str) and not isinstance(value, Number),
        }
    )
    validator = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {"minimum": _minimum, "maximum": _maximum}, type_checker=checker
    )
    return validator(build_json_schema(name))


def _minimum(_: Any, bound: int, value: Any, __: Any) -> Any:
    if _exceeds(value, -bound, negative=True):
        yield _beyond("below the minimum")


def _maximum(_: Any, bound: int, value: Any, __: Any) -> Any:
    if _exceeds(value, bound, negative=False):
        yield _beyond("above the maximum")


def _beyond(message: str) -> Exception:
    from jsonschema import ValidationError

    error: Exception = ValidationError(message)
    return error


def _exceeds(value: Any, bound: int, *, negative: bool) -> bool:
    """Return whether an integer lexeme exceeds a bound on its side of zero, without converting huge numbers."""
    if not isinstance(value, Number) or not value.is_integer or value.startswith("-") is not negative:
        return False
    digits = value.lstrip("-").lstrip("0")
    return len(digits) > 19 or int(digits or "0") > bound
