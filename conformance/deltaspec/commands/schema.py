"""`deltaspec schema`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from deltaspec.commands.printing import print_text
from deltaspec.errors import InvalidUsage, suggest_name


def _build_report_schema() -> dict[str, Any]:
    from deltaspec.report.report_schema import build_report_schema

    return build_report_schema()


def _build_tables_schema() -> dict[str, Any]:
    from deltaspec.report.tables_summary import build_tables_schema

    return build_tables_schema()


def _build_compare_schema() -> dict[str, Any]:
    from deltaspec.comparison.results import build_compare_schema

    return build_compare_schema()


def _build_case_schema() -> dict[str, Any]:
    from deltaspec.golden.case_format import build_json_schema

    return build_json_schema()


def _build_catalog_schema() -> dict[str, Any]:
    from deltaspec.validation.catalog_commits import build_catalog_schema

    return build_catalog_schema()


def _build_plan_schema() -> dict[str, Any]:
    from deltaspec.repair.plan_format import build_plan_schema

    return build_plan_schema()


def _build_message_schema(message: str) -> dict[str, Any]:
    from deltaspec.candidates.publish_schemas import SCHEMA_TYPES, build_json_schema

    if message not in SCHEMA_TYPES:
        raise InvalidUsage(f"unknown message {message!r} ({suggest_name(message, SCHEMA_TYPES)})")
    return build_json_schema(message)


def _build_candidate_schemas() -> dict[str, Any]:
    from deltaspec.candidates.publish_schemas import SCHEMA_TYPES

    return {name: _build_message_schema(name) for name in SCHEMA_TYPES}


_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "report": _build_report_schema,
    "tables": _build_tables_schema,
    "compare": _build_compare_schema,
    "case": _build_case_schema,
    "catalog-commits": _build_catalog_schema,
    "repair-plan": _build_plan_schema,
    "candidate": _build_candidate_schemas,
}


@click.command()
@click.argument("name", type=click.Choice(list(_SCHEMAS)))
@click.argument("message", required=False)
def schema(name: str, message: str | None) -> None:
    """Print a JSON Schema (2020-12) that deltaspec publishes.

    \b
    report           reports of `deltaspec validate --format json`
    tables           summary of `deltaspec validate` with several tables
    compare          comparisons of `deltaspec compare --format json`
    case             `case.json` of a golden case
    catalog-commits  file of `deltaspec validate --catalog-commits`
    repair-plan      `plan.json` of `deltaspec repair`
    candidate        messages of the candidate protocol, an object by name; with
                     MESSAGE, such as scan.request, only the schema of this message
    """
    import json

    if message is not None and name != "candidate":
        raise InvalidUsage(f"the schema of a {name} has no messages; leave out {message!r}")
    found = _SCHEMAS[name]() if message is None else _build_message_schema(message)
    print_text(json.dumps(found, indent=2))
