"""Operations of the OpenAPI documents: their paths, and checks of parameters and bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from deltaspec.catalog_server.errors import ApiError

PREFIX = "/api/2.1/unity-catalog"
_BOUNDS = {"int32": 1 << 31, "int64": 1 << 63}


class Operation(msgspec.Struct, frozen=True):
    """An operation of the API."""

    name: str
    """`operationId`."""
    document: str
    """`delta` or `all`."""
    method: str
    path: str
    pattern: re.Pattern[str]
    parameters: Mapping[str, tuple[bool, Any]]
    """Query parameters: whether each is required, and its validator."""
    path_parameters: Mapping[str, Any]
    """Validators by name."""
    body: Any
    """Validator of the body; None if there is none."""

    def read_parameters(self, match: re.Match[str], query: str) -> dict[str, str]:
        """Return path and query parameters.

        Raises:
            ApiError: one is missing or invalid.
        """
        found = {name: unquote(value) for name, value in match.groupdict().items()}
        for name, value in found.items():
            _check_value(self.path_parameters[name], name, value, "NotFoundException")
        given = dict(parse_qsl(query, keep_blank_values=True))
        for name, (is_required, validator) in self.parameters.items():
            if name in given:
                _check_value(validator, name, given[name])
                found[name] = given[name]
            elif is_required:
                raise ApiError("BadRequestException", f"the parameter {name} is missing")
        return found

    def read_body(self, data: bytes) -> Any:
        """Return the decoded body; None if the operation has none.

        Raises:
            ApiError: it is not valid.
        """
        if self.body is None:
            return None
        try:
            body = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise ApiError("BadRequestException", f"the body is not JSON: {fault}") from fault
        error = best_match(self.body.iter_errors(body))
        if error is not None:
            raise ApiError("BadRequestException", f"{error.json_path}: {error.message[:200]}")
        return body


def load_document(name: str) -> dict[str, Any]:
    """Return an OpenAPI document: `delta` or `all`."""
    document: dict[str, Any] = msgspec.json.decode(
        files("deltaspec.catalog_server").joinpath("openapi", f"{name}.json").read_bytes()
    )
    return document


@cache
def load_operations() -> tuple[Operation, ...]:
    """Return the operations of both documents."""
    return tuple(operation for name in ("delta", "all") for operation in _build_operations(name))


def find_operations(path: str) -> list[tuple[Operation, re.Match[str]]]:
    """Return the operations of a path, of all methods. Paths begin with `PREFIX`."""
    if not path.startswith(PREFIX):
        return []
    rest = path.removeprefix(PREFIX)
    return [(each, match) for each in load_operations() if (match := each.pattern.fullmatch(rest)) is not None]


def _build_operations(name: str) -> list[Operation]:
    document = load_document(name)
    schemas = {key: _tighten(schema) for key, schema in document["components"]["schemas"].items()}
    for schema in schemas.values():
        _replace_choices(schema, schemas)

    def build_validator(schema: Any) -> Draft202012Validator:
        return Draft202012Validator(
            {**_tighten(schema), "components": {"schemas": schemas}},
            format_checker=Draft202012Validator.FORMAT_CHECKER,
        )

    found = []
    for path, methods in document["paths"].items():
        shared = methods.get("parameters", [])
        for method, operation in methods.items():
            if method == "parameters":
                continue
            parameters = [*shared, *operation.get("parameters", [])]
            body = operation.get("requestBody")
            found.append(
                Operation(
                    *(operation["operationId"], name, method.upper(), path),
                    pattern=re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)),
                    parameters={
                        each["name"]: (each["required"], build_validator(each["schema"]))
                        for each in parameters
                        if each["in"] == "query"
                    },
                    path_parameters={
                        each["name"]: build_validator(each["schema"]) for each in parameters if each["in"] == "path"
                    },
                    body=None if body is None else build_validator(body["content"]["application/json"]["schema"]),
                )
            )
    return found


def _tighten(schema: Any) -> Any:
    """Return a schema in which the formats of integers are bounds."""
    if isinstance(schema, list):
        return [_tighten(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _tighten(value) for key, value in schema.items()}
    bound = _BOUNDS.get(schema.get("format", "")) if schema.get("type") == "integer" else None
    return found if bound is None else {"minimum": -bound, "maximum": bound - 1, **found}


def _replace_choices(schema: Any, schemas: Mapping[str, Any]) -> None:
    """Replace each array item that a discriminator chooses by the choices, which JSON Schema understands."""
    if not isinstance(schema, dict):
        return
    for value in schema.values():
        _replace_choices(value, schemas)
    item = schema.get("items")
    if isinstance(item, dict) and "$ref" in item:
        base = schemas[item["$ref"].rpartition("/")[2]]
        if "discriminator" in base:
            schema["items"] = {"oneOf": [{"$ref": each} for each in base["discriminator"]["mapping"].values()]}


def _check_value(validator: Any, name: str, text: str, kind_of_error: str = "BadRequestException") -> None:
    kind = validator.schema.get("type")
    value: Any = text
    if kind == "integer" and re.fullmatch(r"-?\d{1,20}", text):
        value = int(text)
    elif kind == "boolean" and text in ("true", "false"):
        value = text == "true"
    error = best_match(validator.iter_errors(value))
    if error is not None:
        raise ApiError(kind_of_error, f"{name}: {error.message[:200]}")
