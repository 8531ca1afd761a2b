"""Writes the JSON Schema of every action, of a version checksum and of the checkpoint hint into a directory.

python -m deltaspec.wire.publish_schemas [DIRECTORY]      (without one: `wire/schemas/`, where the published ones are)

They are generated from the model's types, so that what is published is what is judged by. A test tells when they are
out of date. Two things a schema cannot say: null equals absence, and integers are written as such (`1.0` is none).
"""

import json
import sys
from pathlib import Path

from deltaspec.wire.log.line_validation import SCHEMA_TYPES, build_json_schema

SCHEMAS = Path(__file__).parent / "schemas"


def render_schemas() -> dict[str, str]:
    """File name to text of every schema."""
    return {f"{name}.json": json.dumps(build_json_schema(name), indent=2) + "\n" for name in SCHEMA_TYPES}


def publish(directory: Path) -> None:
    """Write every schema; files already there are replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in render_schemas().items():
        (directory / name).write_text(text, "utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1]) if len(sys.argv) > 1 else SCHEMAS)
