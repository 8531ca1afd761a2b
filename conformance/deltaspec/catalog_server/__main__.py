"""Start a catalog for tests: `python -m deltaspec.catalog_server --warehouse DIR`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from deltaspec.catalog_server.failures import KINDS, Failure
from deltaspec.catalog_server.server import CatalogServer
from deltaspec.catalog_server.tables import MAX_UNPUBLISHED, Catalog
from deltaspec.catalog_server.vending import StorageAccess

TOKEN_VARIABLE = "DELTASPEC_CATALOG_TOKEN"


@click.command()
@click.option("--warehouse", required=True, help="Directory, or URI such as s3://bucket/path, for managed tables.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 for an unused port.")
@click.option("--schema", "schemas", multiple=True, default=["main.default"], help="CATALOG.SCHEMA. Can be repeated.")
@click.option("--max-unpublished", type=click.IntRange(min=1), default=MAX_UNPUBLISHED, show_default=True)
@click.option("--state", "state_file", type=click.Path(dir_okay=False), help="JSON file that keeps the tables.")
@click.option(
    "--failure",
    "failures",
    multiple=True,
    metavar="KIND[:OPERATION[:COUNT]]",
    help="Show a failure: " + "; ".join(f"{kind} ({text})" for kind, text in KINDS.items()) + ".",
)
def main(
    warehouse: str,
    port: int,
    schemas: tuple[str, ...],
    max_unpublished: int,
    state_file: str | None,
    failures: tuple[str, ...],
) -> None:
    """Serve a catalog on 127.0.0.1 until it is stopped.

    It implements the parts of the API of Unity Catalog that concern Delta tables and their commits. Requests need the
    token in DELTASPEC_CATALOG_TOKEN, if it is set. Tables in S3 get AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of this
    process as temporary credentials. The first line of the output has the address.
    """
    names: dict[str, list[str]] = {}
    for catalog, _, schema in (each.partition(".") for each in schemas):
        names.setdefault(catalog, []).append(schema)
    location = warehouse if "://" in warehouse else Path(warehouse).absolute().as_uri()
    catalog_state = Catalog(location, schemas=names, max_unpublished=max_unpublished, state_file=state_file)
    access = StorageAccess(
        os.environ.get("AWS_ACCESS_KEY_ID"),
        os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
        os.environ.get("AWS_SESSION_TOKEN", ""),
    )
    planned = [_parse_failure(each) for each in failures]
    token = os.environ.get(TOKEN_VARIABLE) or None
    with CatalogServer(catalog_state, port=port, token=token, access=access, failures=planned) as server:
        click.echo(server.url)
        server.serve_forever()


def _parse_failure(text: str) -> Failure:
    kind, operation, count = (*text.split(":"), "", "")[:3]
    try:
        return Failure(kind, operation or None, int(count) if count else None)
    except ValueError as fault:
        raise click.BadParameter(f"{text}: {fault}") from fault


if __name__ == "__main__":
    main()
