"""The JSON Schema of a report, published as `reports/report.schema.json`."""

import json
from typing import Any

from deltaspec.json_schemas import describe_type
from deltaspec.report.report_types import REPORT_VERSION, Report


def build_report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `Report`."""
    schema = describe_type(Report)
    schema["$defs"]["Report"]["properties"]["report_version"]["const"] = REPORT_VERSION
    title = f"deltaspec report, version {REPORT_VERSION}"
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**head, **schema}


def render_report_schema() -> str:
    """Return the content of the published file."""
    return json.dumps(build_report_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(render_report_schema(), end="")
