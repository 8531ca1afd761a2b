"""Replace the names and values of a table: columns, paths, statistics, partition values, rows, properties, and ids.

These stay: words of the protocol (fields of actions, types, features, property names and their values), functions in
expressions, sizes, counts, versions, modification times, and deletion vectors, which are row positions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from deltaspec.errors import InvalidUsage
from deltaspec.extraction.draft import Files
from deltaspec.extraction.pseudonyms import Pseudonyms
from deltaspec.extraction.reduction import encode_object, parse_object, read_parquet, write_parquet
from deltaspec.extraction.vocabulary import is_property, is_protocol_word
from deltaspec.protocol.log.file_names import OtherFile, parse_log_file_name
from deltaspec.protocol.property_names import CONSTRAINT_PREFIX, GENERATION_EXPRESSION, INVARIANTS
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_LOG = f"{LOG_DIRECTORY}/"
_VECTOR_FILE = re.compile(r"deletion_vector_[0-9a-f-]{36}\.bin")
_LITERAL = re.compile(rb'"(?:[^"\\]|\\.)*"')
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{4,}")
_SQL = re.compile(r"'(?:[^'\\]|\\.|'')*'|`(?:[^`]|``)+`|[^\W\d]\w*(?=\s*\()|[^\W\d]\w*|\d+(?:\.\d+)?")
_KEYWORDS = re.compile(
    "and|or|not|in|is|null|like|rlike|between|case|when|then|else|end|cast|as|true|false|interval", re.IGNORECASE
)
_PARSED = ("minValues", "maxValues", "partitionValues_parsed")
_KEPT_COMMIT_INFO = ("timestamp", "inCommitTimestamp")
MIN_SEARCHED = 4
"""Shortest string that is searched for in a redacted table."""


class CannotRedact(InvalidUsage):
    """A part of the table cannot be replaced."""


def redact_files(files: Files) -> Files:
    """Return files with made-up names and values.

    Raises:
        CannotRedact: a file has a form that is not understood, or contains an original name or value afterwards.
    """
    pseudonyms = Pseudonyms()
    redactor = _Redactor(pseudonyms)
    redactor.redact(files)
    pseudonyms.end_collecting()
    result = redactor.redact(files)
    search_originals(result, pseudonyms.replaced_texts)
    return result


def search_originals(files: Files, originals: set[str]) -> None:
    """Check that no original string of at least `MIN_SEARCHED` characters is left as a separate word.

    Raises:
        CannotRedact: there is one. The message does not repeat it.
    """
    searched = [each for each in originals if len(each) >= MIN_SEARCHED and not is_protocol_word(each)]
    if not searched:
        return
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(searched, key=len, reverse=True)))})(?!\w)")
    for path, data in files.items():
        assert isinstance(data, bytes)
        texts = [path, unquote(path), data.decode("utf-8", "replace")]
        table = read_parquet(data) if path.endswith(".parquet") else None
        if table is not None:
            texts += [str(table.schema), repr(table.to_pylist())]
        elif not path.endswith(".bin"):
            texts += [repr(parse_object(line)) for line in data.split(b"\n")]
        if any(pattern.search(text) for text in texts):
            raise CannotRedact(f"{path if path.startswith(_LOG) else 'a data file'} still contains an original string")


class _Redactor:
    """Replaces names and values in the files of a table."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._sizes: dict[str, tuple[int, int]] = {}
        """Original path of a data file -> its size before and after."""

    def redact(self, files: Files) -> Files:
        """Return the files with replaced names and values."""
        result: Files = {}
        for path, data in files.items():
            if not path.startswith(_LOG):
                assert isinstance(data, bytes)
                result[self._redact_stored_path(path)] = found = self._redact_data_file(path, data)
                self._sizes[path] = len(data), len(found)
        for path, data in files.items():
            if path.startswith(_LOG):
                assert isinstance(data, bytes)
                _check_log_name(path)
                result[path] = self._redact_log_file(path, data)
        return result

    # files

    def _redact_data_file(self, path: str, data: bytes) -> bytes:
        if _VECTOR_FILE.fullmatch(path.rpartition("/")[2]):
            return data
        table = read_parquet(data)
        if table is None:
            raise CannotRedact("a data file is not readable as Parquet")
        return self._rebuild(table, lambda _, value: self._redact_value(value))

    def _redact_log_file(self, path: str, data: bytes) -> bytes:
        if path.endswith(".parquet"):
            table = read_parquet(data)
            if table is None:
                raise CannotRedact(f"{path} is not readable as Parquet")
            return self._rebuild(table, self._redact_field)
        return b"\n".join(self._redact_line(path, line) for line in data.split(b"\n"))

    def _redact_line(self, path: str, line: bytes) -> bytes:
        if not line.strip():
            return line
        value = parse_object(line)
        if value is not None:
            return encode_object(self._redact_object(value))
        words = (word.decode("utf-8", "replace") for word in _WORD.findall(_LITERAL.sub(b"", line)))
        if not all(map(is_protocol_word, words)):
            raise CannotRedact(f"{path} has a line that is not a JSON object")
        try:
            return _LITERAL.sub(lambda match: encode_object(self._redact_text(json.loads(match[0]))), line)
        except ValueError:
            raise CannotRedact(f"{path} has a line that is not a JSON object") from None

    def _rebuild(self, table: pa.Table, redact: Callable[[str, Any], Any]) -> bytes:
        """Replace names and values of a Parquet file."""
        try:
            fields = [self._rename(each) for each in table.schema]
            columns = [
                pa.array([redact(name, value) for value in table[name].to_pylist()], field.type)
                for name, field in zip(table.column_names, fields, strict=True)
            ]
        except (pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError) as fault:
            raise CannotRedact(f"values of a Parquet file cannot be replaced ({type(fault).__name__})") from None
        return write_parquet(pa.Table.from_arrays(columns, schema=pa.schema(fields)))

    def _rename(self, field: pa.Field) -> pa.Field:
        """Rename a field and those in it. Only its field id is kept of its metadata."""
        name = field.name if is_protocol_word(field.name) else self._pseudonyms.replace_name(field.name)
        kept = {key: value for key, value in (field.metadata or {}).items() if key == b"PARQUET:field_id"}
        kind = field.type
        if pa.types.is_struct(kind):
            kind = pa.struct([self._rename(each) for each in kind])
        elif pa.types.is_map(kind):
            key, item = (self._rename(each) for each in (kind.key_field, kind.item_field))
            kind = pa.map_(key, item)
        elif pa.types.is_list(kind):
            kind = pa.list_(self._rename(kind.value_field))
        return pa.field(name, kind, field.nullable, kept or None)

    # fields of actions

    def _redact_object(self, value: dict[str, Any]) -> dict[str, Any]:
        result = {self._redact_name(name): self._redact_field(name, each) for name, each in value.items()}
        old = value.get("path")
        before, after = self._sizes.get(unquote(old), (None, 0)) if isinstance(old, str) else (None, 0)
        if before is not None and value.get("size") == before:
            result["size"] = after
        return result

    def _redact_field(self, name: str, value: Any) -> Any:
        """Replace the content of a field of an action, or of a structure in it."""
        if value is None:
            return None
        match name:
            case "commitInfo" if isinstance(value, dict):
                return {each: value[each] for each in _KEPT_COMMIT_INFO if isinstance(value.get(each), int)}
            case "sidecar" if isinstance(value, dict):
                return {each: value[each] for each in value if each != "tags"}
            case "path":
                return self._redact_path(value) if isinstance(value, str) else self._redact_any(value)
            case "pathOrInlineDv":
                return self._redact_path(value) if isinstance(value, str) and ":/" in value else value
            case "partitionValues":
                return self._redact_map(value, self._redact_value)
            case "configuration" | "tags" | "options" if isinstance(value, dict | list):
                return self._redact_configuration(value)
            case _ if name in _PARSED:
                return self._redact_value(value)
        return self._redact_any(value)

    def _redact_any(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redact_text(value)
        if isinstance(value, dict):
            return self._redact_object(value)
        if isinstance(value, list):
            return [self._redact_any(each) for each in value]
        if isinstance(value, tuple):
            return tuple(map(self._redact_any, value))
        return value

    def _redact_text(self, text: str) -> str:
        """Replace a string, or the content of the JSON in it."""
        if is_protocol_word(text):
            return text
        if text[:1] == "{" and (value := parse_object(text)) is not None:
            redact = self._redact_schema if "fields" in value else self._redact_object
            return encode_object(redact(value)).decode()
        return self._redact_path(text) if "/" in text else self._pseudonyms.replace_name(text)

    def _redact_schema(self, value: Any) -> Any:
        """Replace the names and expressions in a schema."""
        if isinstance(value, list):
            return [self._redact_schema(each) for each in value]
        if not isinstance(value, dict):
            return self._redact_name(value) if isinstance(value, str) else value
        return {
            self._redact_name(name): self._redact_metadata(each) if name == "metadata" else self._redact_schema(each)
            for name, each in value.items()
        }

    def _redact_metadata(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return self._redact_any(value)
        found = {}
        for name, each in value.items():
            if name in (GENERATION_EXPRESSION, "CURRENT_DEFAULT", "EXISTS_DEFAULT") and isinstance(each, str):
                found[name] = self._redact_expression(each)
            elif name == INVARIANTS and isinstance(each, str):
                found[name] = self._redact_invariant(each)
            else:
                found[self._redact_name(name)] = self._redact_schema(each)
        return found

    def _redact_invariant(self, text: str) -> str:
        value = parse_object(text)
        inner = (value or {}).get("expression")
        if value is None or not isinstance(inner, dict) or not isinstance(inner.get("expression"), str):
            return self._redact_text(text)
        return encode_object({"expression": {"expression": self._redact_expression(inner["expression"])}}).decode()

    def _redact_configuration(self, value: Any) -> Any:
        pairs = []
        for name, each in value.items() if isinstance(value, dict) else value:
            if name.startswith(CONSTRAINT_PREFIX):
                constraint = self._pseudonyms.replace_name(name.removeprefix(CONSTRAINT_PREFIX))
                pairs.append((CONSTRAINT_PREFIX + constraint, each and self._redact_expression(each)))
            elif name == "delta.dataSkippingStatsColumns" and each:
                pairs.append((name, ",".join(self._redact_name(part.strip()) for part in each.split(","))))
            elif is_property(name):
                pairs.append((name, each))
            else:
                pairs.append((self._redact_name(name), self._redact_any(each)))
        return dict(pairs) if isinstance(value, dict) else pairs

    def _redact_map(self, value: Any, redact: Callable[[Any], Any]) -> Any:
        if isinstance(value, dict):
            return {self._redact_name(name): redact(each) for name, each in value.items()}
        if isinstance(value, list) and all(isinstance(each, tuple) for each in value):
            return [(self._redact_name(name), redact(each)) for name, each in value]
        return self._redact_any(value)

    # names and values

    def _redact_name(self, name: str) -> str:
        return name if is_protocol_word(name) else self._pseudonyms.replace_name(name)

    def _redact_value(self, value: Any) -> Any:
        """Replace a value of a column, or the values in it."""
        if isinstance(value, dict):
            return {self._redact_name(name): self._redact_value(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._redact_value(each) for each in value]
        if isinstance(value, tuple):
            return tuple(map(self._redact_value, value))
        return self._pseudonyms.replace_value(value)

    def _redact_path(self, path: str) -> str:
        if not isinstance(parse_log_file_name(path), OtherFile):
            return path
        return quote(self._redact_stored_path(unquote(path)), safe="/=:")

    def _redact_stored_path(self, path: str) -> str:
        """Replace the segments of a decoded path, but neither its scheme nor the form of partition folders."""
        return "/".join(map(self._redact_segment, path.split("/")))

    def _redact_segment(self, segment: str) -> str:
        if segment in ("", ".", "..", "__HIVE_DEFAULT_PARTITION__", "_change_data") or _VECTOR_FILE.fullmatch(segment):
            return segment
        if re.fullmatch(r"(s3a?|gs|abfss?|hdfs|file|dbfs|wasbs?|deltaspec-table):", segment):
            return segment
        name, equals, value = segment.partition("=")
        if equals:
            return f"{self._redact_name(unquote(name))}={self._redact_partition(value)}"
        stem, dot, extension = segment.rpartition(".")
        if dot and extension == "parquet":
            return self._pseudonyms.replace_name(stem) + ".parquet"
        return self._pseudonyms.replace_name(segment)

    def _redact_partition(self, value: str) -> str:
        if value == "__HIVE_DEFAULT_PARTITION__":
            return value
        return quote(self._pseudonyms.replace_value(unquote(value)), safe=" -_.+")

    def _redact_expression(self, text: str) -> str:
        """Replace columns and literals of an SQL expression, but not the names of functions."""

        def replace(match: re.Match[str]) -> str:
            token = match[0]
            if token[0] == "'":
                return "'" + str(self._pseudonyms.replace_value(token[1:-1])) + "'"
            if token[0] == "`":
                return f"`{self._redact_name(token[1:-1])}`"
            if token[0].isdigit():
                return str(self._pseudonyms.replace_value(token))
            is_function = text[match.end() :].lstrip().startswith("(")
            kept = is_function or _KEYWORDS.fullmatch(token) or is_protocol_word(token)
            return token if kept else self._pseudonyms.replace_name(token)

        return _SQL.sub(replace, text)


def _check_log_name(path: str) -> None:
    """Raise `CannotRedact` for a name in the log that the protocol does not define and that contains words."""
    name = path.removeprefix(_LOG)
    if isinstance(parse_log_file_name(name), OtherFile):
        words = re.findall(r"[^\W\d_]{4,}", re.sub(r"[0-9a-fA-F-]{32,}", "", name))
        if any(word not in ("checkpoint", "json", "parquet", "compacted", "sidecars", "last") for word in words):
            raise CannotRedact("a file in the log has a name that the protocol does not define")
