"""JSON Schemas of the published files, the same under every release of Python and msgspec."""

import inspect
from typing import Any

import msgspec


def describe_type(type_: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type, whose descriptions are the docstrings without their indentation."""
    schema = msgspec.json.schema(type_)
    for definition in schema["$defs"].values():
        if "description" in definition:  # some releases of Python or msgspec remove the indentation, others keep it
            definition["description"] = inspect.cleandoc(definition["description"])
    return schema
