"""The JSON Schema of SARIF 2.1.0, the OASIS Standard, as SchemaStore publishes it (Apache License 2.0)."""

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft7Validator

_SCHEMA = Path(__file__).parents[1] / "report" / "schemas" / "sarif-2.1.0.json"


@cache
def build_sarif_validator() -> Draft7Validator:
    """Return the validator of a SARIF document."""
    return Draft7Validator(json.loads(_SCHEMA.read_text("utf-8")))
