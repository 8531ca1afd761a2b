"""Top-level columns of a schema along the history: each version computes only facts of the columns that it changes.

A table that adds a thousand columns one by one has half a million columns in its metaData actions.
"""

from collections.abc import Callable
from operator import is_
from typing import Any, Generic, TypeVar

import msgspec

from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec.protocol.schema.schema_string import SchemaError, find_repeated_names, parse_schema

T = TypeVar("T")
_HEAD, _END = b'{"type":"struct","fields":[', b"]}"
_COMMON_TYPES = frozenset(
    ("string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date", "timestamp")
)


class _Columns(msgspec.Struct):
    type: str
    fields: list[msgspec.Raw]


_decoder = msgspec.json.Decoder(_Columns)


class SchemaReader:
    """Parser of schema strings; a column with the same text as in the preceding schema is the same object."""

    def __init__(self) -> None:
        self._columns: dict[bytes, Field] = {}

    def parse(self, schema_string: str) -> Struct:
        """Parse the next schema string; the result equals the result of `parse_schema`.

        Raises:
            SchemaError: see `parse_schema`.
        """
        texts = _split_columns(schema_string)
        before, self._columns = self._columns, {}
        new = [each for each in texts if each not in before]
        if len(new) == len(texts):
            schema = parse_schema(schema_string)
            if len(schema.fields) == len(texts):
                self._columns = dict(zip(texts, schema.fields, strict=True))
            return schema
        try:
            parsed = parse_schema((_HEAD + b",".join(new) + _END).decode()).fields
        except SchemaError:
            return parse_schema(schema_string)  # it reports the location of the error
        before |= zip(new, parsed, strict=True)
        self._columns = {each: before[each] for each in texts}
        return Struct(tuple(self._columns.values()))


def _split_columns(schema_string: str) -> list[bytes]:
    """Return the text of each top-level column; nothing if the text is not in the usual form, or repeats a column."""
    try:
        text = schema_string.encode()
        columns = [bytes(each) for each in _decoder.decode(text).fields]
    except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError):
        return []
    is_usual = _HEAD + b",".join(columns) + _END == text and len(set(columns)) == len(columns)
    return columns if is_usual else []


class ColumnCache(Generic[T]):
    """Results of a function for each top-level column, kept while the schema keeps the column."""

    def __init__(self, compute: Callable[..., T]) -> None:
        self._compute = compute
        self._arguments: tuple[Any, ...] = ()
        self._columns: tuple[Field, ...] = ()
        """Compared by identity, because equality ignores column metadata."""
        self._results: list[T] = []

    def collect(self, schema: Struct, *arguments: Any) -> list[T]:
        """Return the result for a schema of only that column, and the arguments, for each column."""
        if arguments != self._arguments:
            self._arguments, self._columns, self._results = arguments, (), []
        before, count = self._columns, len(self._columns)
        if count <= len(schema.fields) and all(map(is_, before, schema.fields)):
            results = self._results + [self._compute(Struct((each,)), *arguments) for each in schema.fields[count:]]
        else:
            known = {id(column): result for column, result in zip(before, self._results, strict=True)}
            results = [
                known[id(each)] if id(each) in known else self._compute(Struct((each,)), *arguments)
                for each in schema.fields
            ]
        self._columns, self._results = schema.fields, results
        return results


def find_appended_columns(before: Struct | None, after: Struct) -> Struct | None:
    """Return the columns that a schema appends to an earlier schema; None if it does not begin with its columns.

    Args:
        before: earlier schema; None if it is unknown.
        after: later schema. Columns are compared by identity, because equality ignores column metadata.
    """
    if before is None or len(before.fields) > len(after.fields) or not all(map(is_, before.fields, after.fields)):
        return None
    return Struct(after.fields[len(before.fields) :])


class RepeatedNames:
    """Names of fields that repeat the name of a sibling, schema by schema."""

    def __init__(self) -> None:
        self._schema: Struct | None = None
        self._names: set[str] = set()
        """Names of the top-level columns in lower case."""
        self._found: list[str] = []

    def find(self, schema: Struct) -> list[str]:
        """Return what `find_repeated_names` returns for the next schema."""
        appended = find_appended_columns(self._schema, schema)
        self._schema = schema
        names = {each.name.lower() for each in (schema if appended is None else appended).fields}
        if appended is not None and names.isdisjoint(self._names):
            self._names |= names
            self._found = self._found + find_repeated_names(appended)
        else:
            self._names = names if appended is None else self._names | names
            self._found = find_repeated_names(schema)
        return self._found


_last_special: list[tuple[Struct, Struct]] = []
"""The schema whose special columns were selected last, and the result; empty before."""


def select_special_columns(schema: Struct) -> Struct:
    """Return the schema without columns that have a common type and no metadata: they need no feature.

    Several views need them for each version, so the last result is kept. Schemas are compared by identity, because
    equality ignores column metadata.
    """
    for last, special in _last_special:
        if last is schema:
            return special
        if (appended := find_appended_columns(last, schema)) is not None:
            special = Struct(special.fields + _select_special(appended))
            break
    else:
        special = Struct(_select_special(schema))
    _last_special[:] = [(schema, special)]
    return special


def _select_special(schema: Struct) -> tuple[Field, ...]:
    return tuple(
        each for each in schema.fields if each.metadata or getattr(each.type, "name", None) not in _COMMON_TYPES
    )
