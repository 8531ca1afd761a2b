"""What is wrong with a text that does not decode, said by the published JSON Schemas with a precise pointer.

The slow path beside msgspec: it runs only for lines that are odd, on a parse that keeps numbers as they are written,
so that `1.0`, `1e3` and 2^63 are told from integers of 64 bits.
"""

import inspect
import json
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from deltaspec.model.actions import ACTION_TYPES, WireStruct, get_action_types
from deltaspec.model.json_values import JsonError, JsonTooDeep, Number, parse_lossless
from deltaspec.model.log.last_checkpoint import LastCheckpoint
from deltaspec.model.log.version_checksum import VersionChecksum
from deltaspec.model.revisions import Revision

_OLDER_FORMS: dict[tuple[str, Revision], str] = {
    ("domainMetadata", Revision.R1): "domainMetadata.r1",
    ("domainMetadata", Revision.R2): "domainMetadata.r1",
    ("rowIdHighWaterMark", Revision.R1): "rowIdHighWaterMark.r1",
    ("rowIdHighWaterMark", Revision.R2): "rowIdHighWaterMark.r2",
}
"""Action and revision to the name of its schema, where it is not that of the newest text."""

SCHEMA_TYPES: dict[str, type[WireStruct]] = {
    **ACTION_TYPES,
    **{name: get_action_types(revision)[kind] for (kind, revision), name in _OLDER_FORMS.items()},
    "versionChecksum": VersionChecksum,
    "lastCheckpoint": LastCheckpoint,
}
"""Every published schema: actions by wire name, older forms with the first revision they hold in, and the two
single-object files."""


@dataclass(frozen=True, slots=True)
class LineError:
    """What is odd about one line; everything None or 0 where nothing is."""

    kind: str | None = None
    """Wire name of its single known action."""
    actions: int = 0
    """Keys whose value is not null."""
    json_error: str | None = None
    schema_error: str | None = None
    pointer: str | None = None
    repeated_key: str | None = None
    unexpected_whitespace: str | None = None
    has_lone_surrogate: bool = False
    """A text of it escapes half of a surrogate pair: JSON by its grammar, but nothing that UTF-8 can hold."""

    @property
    def is_blank(self) -> bool:
        """The line holds nothing at all."""
        return self.unexpected_whitespace == "blank line" and self.actions == 0 and self.json_error is None

    @property
    def is_undecodable(self) -> bool:
        """What the line says is not known."""
        lost = self.has_lone_surrogate and self.kind is not None
        return self.json_error is not None or self.schema_error is not None or self.actions > 1 or lost

    @property
    def has_defect(self) -> bool:
        """There is something to say."""
        odd = (
            self.is_undecodable
            or self.has_lone_surrogate
            or self.repeated_key is not None
            or self.unexpected_whitespace is not None
        )
        return odd or self.actions == 0


def explain_line(line: bytes, revision: Revision = Revision.CURRENT) -> LineError:
    """What a line of the log is to readers of a revision, and what is wrong with it, if anything is.

    Raises:
        JsonTooDeep: it begins like an object and is nested too deeply to be read: nothing is known of it.
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
        return LineError(json_error=f"is {_kind_of(document.value)}, not an object", unexpected_whitespace=space)
    has_lone_surrogate = b"\\u" in text and _holds_half_a_pair(document.value)
    repeated = document.repeated_keys[0] if document.repeated_keys else None
    present = [key for key, value in document.value.items() if value is not None]
    kind = present[0] if len(present) == 1 and present[0] in get_action_types(revision) else None
    if has_lone_surrogate:
        return LineError(kind, len(present), unexpected_whitespace=space, has_lone_surrogate=True)
    fault, pointer = _first_fault(_schema(kind, revision), document.value[kind]) if kind else (None, None)
    return LineError(kind, len(present), None, fault, f"/{kind}{pointer}" if fault else None, repeated, space)


def contains_lone_surrogate(data: bytes) -> bool:
    """Whether a text of a JSON document escapes half of a surrogate pair, and nothing else is wrong with its JSON."""
    try:
        return b"\\u" in data and _holds_half_a_pair(parse_lossless(data).value)
    except JsonError:
        return False


def _holds_half_a_pair(value: Any) -> bool:
    """Whether a text of a JSON value cannot be written as UTF-8: its grammar admits such escapes."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _schema(kind: str, revision: Revision) -> str:
    return _OLDER_FORMS.get((kind, revision), kind)


def explain_action(kind: str, body: Any, revision: Revision = Revision.CURRENT) -> LineError:
    """What is wrong with an action whose values are already Python's, as those of a Parquet row."""
    fault, pointer = _first_fault(_schema(kind, revision), _lossless(body))
    return LineError(kind, 1, None, fault or "does not decode", f"/{kind}{pointer or ''}")


def explain_object(schema: str, data: bytes) -> tuple[str | None, str | None, str | None]:
    """What is wrong with a file that is one JSON object.

    Args:
        schema: name in `SCHEMA_TYPES`.
        data: the file.

    Returns:
        The fault in words, its JSON pointer, and the pointer of a repeated key; None each where there is none.
    """
    try:
        document = parse_lossless(data)
    except JsonError as error:
        return f"is no JSON: {error}", "", None
    repeated = document.repeated_keys[0] if document.repeated_keys else None
    if not isinstance(document.value, dict):
        return f"is {_kind_of(document.value)}, not an object", "", repeated
    fault, pointer = _first_fault(schema, document.value)
    return fault, pointer, repeated


def _first_fault(schema: str, value: Any) -> tuple[str | None, str | None]:
    """Words and pointer of the fault that is told of a value; values of one shape are asked about once."""
    key = (schema, _shape(value))
    fault = _KNOWN_SHAPES.get(key, _UNKNOWN)  # another thread may forget them meanwhile
    if fault is _UNKNOWN:
        fault = _best_fault(schema, value)
        if key[1] is not None:
            if len(_KNOWN_SHAPES) >= _SHAPES:
                _KNOWN_SHAPES.clear()
            _KNOWN_SHAPES[key] = fault
    if fault is None:
        return None, None
    instance = value
    for part in fault.path:
        instance = instance[part]
    pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in fault.path)
    return _words(fault, instance), pointer


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault that all values of one shape have."""

    path: tuple[str | int, ...]
    validator: str
    wanted: Any


_SHAPES = 1000
_UNKNOWN = _Fault((), "", None)
"""Stands for the fault of a shape that was not asked about."""
_KNOWN_SHAPES: dict[tuple[str, tuple[Any, ...] | None], _Fault | None] = {}
"""Schema and shape to the fault, if any."""
_SHAPE_LENGTH = 1000
INTEGER_BOUNDS = (-(2**63), -(2**31), 2**31, 2**63)
"""Integers between two of them fulfil the same bounds of the schemas."""


def _best_fault(schema: str, value: Any) -> _Fault | None:
    from jsonschema.exceptions import best_match

    faults = sorted(_validator(schema).iter_errors(value), key=lambda fault: [str(part) for part in fault.path])
    if not faults:
        return None
    fault = best_match(faults)
    return _Fault(tuple(fault.absolute_path), fault.validator, fault.validator_value)


def _shape(value: Any) -> tuple[Any, ...] | None:
    """All that schemas look at of a value: its members, and of what else it holds the kinds; None if that is long."""
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


def _words(fault: _Fault, instance: Any) -> str:
    name = fault.path[-1] if fault.path else "it"
    shown = _shown(instance)
    match fault.validator:
        case "required":
            missing = [key for key in fault.wanted if key not in instance]
            return f"{', '.join(missing)} missing"
        case "type" | "anyOf":
            wanted = fault.wanted if fault.validator == "type" else "of another type"
            return f"{name} is {_kind_of(instance)} {shown}, should be {wanted}"
        case "minimum" | "maximum":
            return f"{name} is {shown}, beyond {fault.wanted}"
    return f"{name} is {shown}: {fault.validator} {fault.wanted}"


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Number) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Number):
        return "the number"
    words = {bool: "the boolean", str: "the text", dict: "an object", list: "an array"}
    return words.get(type(value), type(value).__name__)


def _lossless(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _lossless(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_lossless(member) for member in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Number(value)
    return value


@cache
def build_json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of an action or file, as published in `wire/schemas/`; null equals absence."""
    schema = msgspec.json.schema(SCHEMA_TYPES[name])
    for definition in schema["$defs"].values():  # whose indentation depends on the version of Python
        definition["description"] = inspect.cleandoc(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **schema}


@cache
def _validator(name: str) -> Any:
    import jsonschema  # a table without a fault needs none, and it takes long to import

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
    """Whether an integer lexeme lies beyond a bound on its side of zero; compares digits, converts no huge number."""
    if not isinstance(value, Number) or not value.is_integer or value.startswith("-") is not negative:
        return False
    digits = value.lstrip("-").lstrip("0")
    return len(digits) > 19 or int(digits or "0") > bound
