"""The catalog for tests answers as the OpenAPI documents say, also to requests that are not valid."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import SchemathesisConfig

from deltaspec.catalog_server import Catalog, CatalogServer, serve
from deltaspec.catalog_server.routes import PREFIX, load_document

load_all_checks()
EXCLUDED = [CHECKS.get_one("positive_data_acceptance")]
"""The descriptions of the API forbid more than its schemas."""
NAMES = {"catalog": "main", "schema": "default", "table": "orders", "full_name": "main.default.orders"}
"""Parameters of requests for a table that exists."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogServer]:
    with serve(Catalog(tmp_path_factory.mktemp("warehouse").as_uri()), token="secret") as server:
        staging = server.catalog.create_staging_table("main", "default", "orders")
        server.catalog.create_table(
            *("main", "default"),
            {
                "name": "orders",
                "location": staging.location,
                "table-type": "MANAGED",
                "columns": {"type": "struct", "fields": []},
                "protocol": {"min-reader-version": 3, "min-writer-version": 7},
                "properties": {},
                "last-commit-timestamp-ms": 1,
            },
        )
        yield server


def load(name: str) -> Any:
    return schemathesis.openapi.from_dict(load_document(name), config=SchemathesisConfig())


delta, general = load("delta"), load("all")
LIMITS = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def call(case: Any, server: CatalogServer, *, is_known: bool) -> None:
    if is_known:
        case.path_parameters = {key: NAMES.get(key, value) for key, value in (case.path_parameters or {}).items()}
    headers = {"Authorization": "Bearer secret"}
    case.call_and_validate(base_url=f"{server.url}{PREFIX}", headers=headers, excluded_checks=EXCLUDED)


@pytest.mark.parametrize("is_known", [True, False])
@delta.exclude(operation_id="deleteTable").parametrize()
@LIMITS
def test_delta_api(case: Any, server: CatalogServer, is_known: bool) -> None:
    call(case, server, is_known=is_known)


@pytest.mark.parametrize("is_known", [True, False])
@general.parametrize()
@LIMITS
def test_general_api(case: Any, server: CatalogServer, is_known: bool) -> None:
    call(case, server, is_known=is_known)
