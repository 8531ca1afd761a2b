"""Encode reports as JSON, also if paths in them are not UTF-8."""

from typing import Any

import msgspec


def encode_json(value: Any, *, indent: int | None = 2) -> bytes:
    """Encode a value as JSON in UTF-8, independent of the terminal's encoding.

    Bytes in paths that the user named, and that are not UTF-8, become escapes such as `\\xe9`.

    Args:
        value: a record, or plain values.
        indent: spaces for each level; the text then ends with a line break. None for one line without a break.
    """
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_escape_file_names(msgspec.to_builtins(value)))
    return data if indent is None else msgspec.json.format(data, indent=indent) + b"\n"


def _escape_file_names(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        case dict():
            return {_escape_file_names(key): _escape_file_names(each) for key, each in value.items()}
        case list() | tuple():
            return [_escape_file_names(each) for each in value]
    return value
