"""Write the JSON Schemas of every action, the version checksum and the `_last_checkpoint` file into a directory.

python -m deltaspec.wire.publish_schemas [DIRECTORY]      (default: `wire/schemas/`, the published schemas)

They are generated from the types of `deltaspec.protocol`; a test fails if they are out of date. A schema cannot state
that null means absent, or that integers are written without a decimal point.
"""

import json
import sys
from pathlib import Path

from deltaspec.output_files import write_file
from deltaspec.wire.log.line_validation import SCHEMA_TYPES, build_json_schema

SCHEMAS = Path(__file__).parent / "schemas"


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
