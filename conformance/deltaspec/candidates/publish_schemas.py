"""Write the JSON Schemas of all messages of the candidate protocol into a directory.

python -m deltaspec.candidates.publish_schemas [DIRECTORY]      (default: `candidates/schemas/`, the published schemas)

A request is named after its operation, as in `scan.request.json`, and the `ok` of its answer as in `scan.answer.json`.
`answer.json` is a line of the candidate. The schemas are generated from the types in `messages`; a test fails if they
are out of date. Unknown fields are allowed everywhere.
"""

import json
import sys
from pathlib import Path
from typing import Any

from deltaspec.candidates import messages
from deltaspec.json_schemas import describe_type
from deltaspec.output_files import write_file

SCHEMAS = Path(__file__).parent / "schemas"
SCHEMA_TYPES: dict[str, Any] = {
    "hello.request": messages.Hello,
    "hello.answer": messages.Capabilities,
    "snapshot.request": messages.Snapshot,
    "snapshot.answer": messages.SnapshotAnswer,
    "scan.request": messages.Scan,
    "scan.answer": messages.RowsAnswer,
    "changes.request": messages.Changes,
    "changes.answer": messages.RowsAnswer,
    "apply.request": messages.Apply,
    "apply.answer": messages.ApplyAnswer,
    "bye.request": messages.Bye,
    "answer": messages.Answer,
}


def build_json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a message."""
    schema = describe_type(SCHEMA_TYPES[name])
    message = schema["$defs"][SCHEMA_TYPES[name].__name__]
    if name.endswith(".request"):
        message["properties"] = {"seq": {"type": "integer"}, **message["properties"]}
        message["required"] = ["seq", *message["required"]]
    if name == "answer":  # `ok` depends on the request
        message["oneOf"] = [{"required": [each]} for each in ("ok", "error", "progress")]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **schema}


def render_schemas() -> dict[str, str]:
    """Return file name -> text of every schema."""
    return {f"{name}.json": json.dumps(build_json_schema(name), indent=2) + "\n" for name in SCHEMA_TYPES}


def publish(directory: Path) -> None:
    """Write every schema; existing files are replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in render_schemas().items():
        write_file(directory / name, text.encode())


if __name__ == "__main__":
    publish(Path(sys.argv[1]) if len(sys.argv) > 1 else SCHEMAS)
