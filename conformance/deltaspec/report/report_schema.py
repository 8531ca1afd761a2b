"""The JSON Schema of a report, published as `reports/report.schema.json`."""

import json
from typing import Any

import msgspec

from deltaspec.report.report_types import Report


def build_report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `Report`."""
    schema = msgspec.json.schema(Report)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "deltaspec report"}
    return {**head, **schema}


def render_report_schema() -> str:
    """Return the content of the published file."""
    return json.dumps(build_report_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(render_report_schema(), end="")
