"""Schema string of a table: parsing and serialization. Source: Schema Serialization Format: Struct Type, Struct Field,
Array Type, Map Type, Variant Type, Column Metadata.

Interpretations: `decimal` without parameters is (10,0) (E24); a type object `{"type": "variant"}` equals its name
(E17); a field without `metadata` is accepted (S38). Types that Spark writes and the protocol does not define become
`UndefinedType`.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from deltaspec.protocol.json_values import (
    MAX_DEPTH,
    JsonError,
    Number,
    find_repeated_key,
    has_lone_surrogate,
    parse_lossless,
)
from deltaspec.protocol.property_names import INVARIANTS, TYPE_CHANGES
from deltaspec.protocol.schema.data_types import (
    MAX_PRECISION,
    PRIMITIVES,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    UndefinedType,
    get_type_name,
)

_DECIMAL = re.compile(r"decimal\(\s*(-?\d{1,100})\s*,\s*(-?\d{1,100})\s*\)", re.ASCII)
_PROPOSED = re.compile(
    r"(interval( .*)?|timestamp(_ntz)?_nanos(_ntz)?|timestamp_ltz|file|time(\(\d\))?|geometry(\(.*\))?"
    r"|geography(\(.*\))?|string collate .*|char\(\d+\)|varchar\(\d+\)|object|null"
    r"|decfloat\(\d\d\)|float16|uint(8|16|32|64)|timestamp(_ntz| without time zone)?\(\d\))",
    re.ASCII,
)
_USER_DEFINED, _STORED = "udt", "sqlType"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
JSON_METADATA = (TYPE_CHANGES, INVARIANTS)
"""Keys of column metadata whose strings contain JSON."""
_VOID = Primitive("void")
KINDS = ("not JSON", "too deep", "lone surrogate", "not a struct", "malformed", "unknown type", "decimal out of range")


class SchemaError(ValueError):
    """A schema string that does not follow the serialization format."""

    def __init__(self, kind: str, pointer: str, what: str) -> None:
        super().__init__(f"{pointer or 'schema'}: {what}")
        self.kind = kind
        """One of `KINDS`."""
        self.pointer = pointer
        """JSON pointer to the error, such as `/fields/2/type/elementType`; empty for the complete schema."""
        self.what = what

    def __reduce__(self) -> tuple[Any, ...]:
        """Executors return errors to the driver."""
        return type(self), (self.kind, self.pointer, self.what)


class SchemaTooDeep(SchemaError):
    """A schema string nested more deeply than the kit reads; the limit is ours, the protocol has none."""


def parse_schema(schema_string: str) -> Struct:
    """Parse a schema string.

    Raises:
        SchemaTooDeep: The string is nested more than `json_values.MAX_DEPTH` levels deep.
        SchemaError: The string is not JSON or not a schema; describes the first error.
    """
    schema, found = _read(schema_string)
    if found:
        raise found[0]
    return schema


def find_schema_faults(schema_string: str) -> list[SchemaError]:
    """Return all errors of a schema string in document order."""
    return _read(schema_string)[1]


def _read(schema_string: str) -> tuple[Struct, list[SchemaError]]:
    try:
        document = parse_lossless(schema_string).value
    except JsonError as fault:
        if _depth(schema_string) > MAX_DEPTH:
            return Struct(()), [SchemaTooDeep("too deep", "", f"nested more than {MAX_DEPTH} levels deep")]
        return Struct(()), [SchemaError("not JSON", "", str(fault))]
    if has_lone_surrogate(document):
        return Struct(()), [SchemaError("lone surrogate", "", "a string has a lone surrogate")]
    if not isinstance(document, dict) or document.get("type") != "struct":
        return Struct(()), [SchemaError("not a struct", "", "a schema is an object of type struct")]
    found: list[SchemaError] = []
    return _struct(document, "", found), found


def find_repeated_schema_key(schema_string: str) -> str | None:
    """Return the JSON pointer of the first repeated key of a schema string; None without one, and in no JSON.

    JSON in strings of column metadata, such as invariants and recorded type changes, belongs to the schema.
    """
    try:
        document = parse_lossless(schema_string)
    except JsonError:
        return None
    if document.repeated_keys:
        return document.repeated_keys[0]
    return next(_iter_repeated_metadata_keys(document.value, ""), None)


def _iter_repeated_metadata_keys(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, member in enumerate(value):
            yield from _iter_repeated_metadata_keys(member, f"{at}/{index}")
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _iter_repeated_metadata_keys(member, f"{at}/{key}")
    elif isinstance(value, str) and not isinstance(value, Number) and value[:1] in ("{", "["):
        repeated = find_repeated_key(value)
        if repeated is not None and at.split("/")[-1] in JSON_METADATA:
            yield f"{at}{repeated}"


def _depth(text: str) -> int:
    """Return the nesting depth of brackets outside strings."""
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in ("]", "}"):
            depth -= 1
    return deepest


def _struct(value: dict[str, Any], at: str, found: list[SchemaError]) -> Struct:
    fields = _member(value, "fields", list, at, found) or []
    read = [_field(each, f"{at}/fields/{index}", found) for index, each in enumerate(fields)]
    return Struct(tuple(field for field in read if field is not None))


def _field(value: Any, at: str, found: list[SchemaError]) -> Field | None:
    if not isinstance(value, dict):
        found.append(SchemaError("malformed", at, "a field is an object"))
        return None
    metadata = _member(value, "metadata", dict, at, found) if "metadata" in value else {}
    name = _member(value, "name", str, at, found)
    kind = _type_of(value, "type", at, found)
    nullable = _member(value, "nullable", bool, at, found)
    return Field(name or "", kind, nullable is not False, metadata or {})


def _type_of(value: dict[str, Any], key: str, at: str, found: list[SchemaError]) -> DataType:
    """Read the type under a key; record an error and return an `UndefinedType` if it is malformed."""
    member = _member(value, key, (str, dict), at, found)
    here = f"{at}/{key}"
    if member is None:
        return UndefinedType("")
    if isinstance(member, str):
        return _named(member, here, found)
    match member.get("type"):
        case "struct":
            return _struct(member, here, found)
        case "array":
            element = _type_of(member, "elementType", here, found)
            return Array(element, _member(member, "containsNull", bool, here, found) is not False)
        case "map":
            # The protocol's table of keys omits valueContainsNull; its example shows it.
            key_type = _type_of(member, "keyType", here, found)
            value_type = _type_of(member, "valueType", here, found)
            return Map(key_type, value_type, _member(member, "valueContainsNull", bool, here, found) is not False)
        case "variant":
            return Primitive("variant")
        case "udt":
            return _user_defined(member, here, found)
    found.append(SchemaError("malformed", here, "a type object is a struct, an array or a map"))
    return UndefinedType("")


def _user_defined(value: dict[str, Any], at: str, found: list[SchemaError]) -> DataType:
    """Read a user-defined type. Its other members are strings or null, or no proposal defines it either."""
    annotation = [member for key, member in value.items() if key not in ("type", _STORED)]
    if _STORED not in value or not all(member is None or type(member) is str for member in annotation):
        return UndefinedType(_USER_DEFINED)
    return UndefinedType(_USER_DEFINED, _type_of(value, _STORED, at, found))


def _named(name: str, at: str, found: list[SchemaError]) -> DataType:
    if name in PRIMITIVES:
        return Primitive(name)
    if name == "decimal":
        return Decimal(10, 0)
    if match := _DECIMAL.fullmatch(name):
        precision, scale = int(match[1]), int(match[2])
        if 1 <= precision <= MAX_PRECISION and 0 <= scale <= precision:
            return Decimal(precision, scale)
        expected = f"a precision from 1 to {MAX_PRECISION} and a scale from 0 to the precision"
        found.append(SchemaError("decimal out of range", at, f"{name}: expected {expected}"))
    elif not _PROPOSED.fullmatch(name):
        found.append(SchemaError("unknown type", at, f"{name[:80]!r} is not a type"))
    return UndefinedType(name)


def _member(value: dict[str, Any], key: str, kind: Any, at: str, found: list[SchemaError]) -> Any:
    """Return a member of the required type; record an error and return None if it is missing or of another type."""
    if key not in value:
        found.append(SchemaError("malformed", at, f"{key} is missing"))
        return None
    member = value[key]
    if not isinstance(member, kind) or isinstance(member, Number):
        found.append(SchemaError("malformed", f"{at}/{key}", f"{key} has the wrong type"))
        return None
    return member


class TypeChange(msgspec.Struct, frozen=True):
    """A type change recorded in the metadata of a column. Source: Type Change Metadata (current)."""

    before: DataType
    after: DataType
    field_path: tuple[str, ...] = ()
    """Steps `element`, `key` and `value` below the column; empty for the column itself."""


def get_type_change_record(field: Field) -> tuple[Any, bool]:
    """Return the value of `delta.typeChanges`, None if absent, and whether it is a string that contains the list (E30).

    Such a string is returned as the list that it contains; any other string as it is.
    """
    value = field.metadata.get(TYPE_CHANGES)
    if isinstance(value, str) and not isinstance(value, Number):
        try:
            decoded = parse_lossless(value).value
        except JsonError:
            return value, False
        if isinstance(decoded, list):
            return decoded, True
    return value, False


def read_type_changes(field: Field) -> list[TypeChange]:
    """Return the type changes recorded in a field's metadata, oldest first; unknown keys are ignored.

    Raises:
        SchemaError: The changes are malformed.
    """
    changes, _ = get_type_change_record(field)
    if changes is None:
        return []
    if not isinstance(changes, list):
        raise SchemaError("malformed", f"/{TYPE_CHANGES}", "type changes are a list")
    return [read_type_change(change, f"/{TYPE_CHANGES}/{index}") for index, change in enumerate(changes)]


def read_type_change(value: Any, at: str) -> TypeChange:
    """Read one recorded type change; `at` is its JSON pointer.

    Raises:
        SchemaError: The change is malformed.
    """
    if not isinstance(value, dict):
        raise SchemaError("malformed", at, "a type change is an object")
    found: list[SchemaError] = []
    before, after = _type_of(value, "fromType", at, found), _type_of(value, "toType", at, found)
    path = _member(value, "fieldPath", str, at, found) if value.get("fieldPath") is not None else ""
    steps = tuple(path.split(".")) if path else ()
    if not set(steps) <= {"element", "key", "value"}:
        found.append(SchemaError("malformed", f"{at}/fieldPath", "a field path is made of element, key and value"))
    if found:
        raise found[0]
    return TypeChange(before, after, steps)


def serialize_schema(schema: Struct) -> str:
    """Serialize a struct without whitespace; numbers in metadata keep their lexeme."""
    return _text(_document(schema))


def to_json(data_type: DataType) -> Any:
    """Convert a type to plain JSON values; numbers in metadata become Python numbers if they fit."""
    return _numbers(_document(data_type))


def _document(data_type: DataType) -> Any:
    """Convert a type to JSON values with the number type of `json_values`."""
    match data_type:
        case Struct(fields):
            members = [
                {"name": f.name, "type": _document(f.type), "nullable": f.nullable, "metadata": f.metadata}
                for f in fields
            ]
            return {"type": "struct", "fields": members}
        case Array(element, contains_null):
            return {"type": "array", "elementType": _document(element), "containsNull": contains_null}
        case Map(key, value, value_contains_null):
            return {
                "type": "map",
                "keyType": _document(key),
                "valueType": _document(value),
                "valueContainsNull": value_contains_null,
            }
        case UndefinedType("udt", stored):
            return {"type": _USER_DEFINED} | ({} if stored is None else {_STORED: _document(stored)})
    return get_type_name(data_type)


def _text(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_text(str(key))}:{_text(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_text(member) for member in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _numbers(value: Any) -> Any:
    """Convert numbers to Python numbers; numbers beyond the range of a double keep their lexeme."""
    if isinstance(value, Number):
        if value.is_integer and len(value) < 400:
            return int(value)
        return float(value) if float(value) not in (float("inf"), float("-inf")) else value
    if isinstance(value, dict):
        return {key: _numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_numbers(member) for member in value]
    return value


def render_tree(schema: Struct) -> str:
    """Render the schema as an indented tree with one line per node. Source: Schema Serialization Format, Example."""
    return "\n".join(_tree_lines(schema, ""))


def _tree_lines(data_type: DataType, indent: str) -> list[str]:
    lines: list[str] = []
    match data_type:
        case Struct(fields):
            for member in fields:
                nullable = str(member.nullable).lower()
                lines.append(f"{indent}|-- {member.name}: {get_type_name(member.type)} (nullable = {nullable})")
                lines += _tree_lines(member.type, indent + "|    ")
        case Array(element, contains_null):
            lines.append(f"{indent}|-- element: {get_type_name(element)} (containsNull = {str(contains_null).lower()})")
            lines += _tree_lines(element, indent + "|    ")
        case Map(key, value, value_contains_null):
            lines.append(f"{indent}|-- key: {get_type_name(key)}")
            lines += _tree_lines(key, indent + "|    ")
            has_null = str(value_contains_null).lower()
            lines.append(f"{indent}|-- value: {get_type_name(value)} (valueContainsNull = {has_null})")
            lines += _tree_lines(value, indent + "|    ")
    return lines


def find_repeated_names(data_type: DataType, path: tuple[str, ...] = ()) -> list[str]:
    """Return paths of fields whose name equals an earlier sibling's, ignoring case (a MUST since current, S34)."""
    found: list[str] = []
    match data_type:
        case Struct(fields):
            seen: set[str] = set()
            for member in fields:
                here = (*path, member.name)
                if member.name.lower() in seen:
                    found.append(".".join(here))
                seen.add(member.name.lower())
                found += find_repeated_names(member.type, here)
        case Array(element):
            found += find_repeated_names(element, (*path, "element"))
        case Map(key, value):
            found += find_repeated_names(key, (*path, "key")) + find_repeated_names(value, (*path, "value"))
    return found


def find_void_fault(schema: Struct) -> tuple[str, str] | None:
    """Return why columns of type void prevent adding data files, as requirement and reason; None if they do not.

    Source: Void Type (current).
    """
    if schema.fields and all(member.type == _VOID for member in schema.fields):
        return "schema.void-not-all-columns", "all columns are void"
    return next(_void_hindrances(schema, (), contained=False), None)


def _void_hindrances(data_type: DataType, path: tuple[str, ...], *, contained: bool) -> Iterator[tuple[str, str]]:
    """Yield the faults at and below a type; `contained` means inside an array or a map."""
    match data_type:
        case Primitive("void") if contained:
            yield "schema.void-not-in-containers", f"{'.'.join(path)} is void inside an array or a map"
        case Struct(fields):
            if path and fields and all(member.type == _VOID for member in fields):
                yield "schema.void-not-all-of-a-struct", f"all fields of {'.'.join(path)} are void"
            for member in fields:
                yield from _void_hindrances(member.type, (*path, member.name), contained=contained)
        case Array(element):
            yield from _void_hindrances(element, (*path, "element"), contained=True)
        case Map(key, value):
            yield from _void_hindrances(key, (*path, "key"), contained=True)
            yield from _void_hindrances(value, (*path, "value"), contained=True)


def find_void_without_null(field: Field) -> str | None:
    """Return the part of a field that has type void, whose only value is null, but cannot be null; None without one.

    Parts are `column`, `element`, `key` and `value`; struct fields below the field are fields themselves.
    """
    return _find_void_without_null(field.type, "column", nullable=field.nullable)


def _find_void_without_null(data_type: DataType, part: str, *, nullable: bool) -> str | None:
    match data_type:
        case Primitive("void"):
            return None if nullable else part
        case Array(element, contains_null):
            return _find_void_without_null(element, "element", nullable=contains_null)
        case Map(key, value, value_contains_null):
            below = _find_void_without_null(key, "key", nullable=False)
            return below or _find_void_without_null(value, "value", nullable=value_contains_null)
    return None
