"""A small catalog for tests: tables and commits through the published API of Unity Catalog, and failures on request.

`python -m deltaspec.catalog_server --warehouse DIR` starts it; tests call `serve`.
"""

from deltaspec.catalog_server.errors import ApiError
from deltaspec.catalog_server.failures import KINDS, Failure
from deltaspec.catalog_server.server import CatalogServer, serve
from deltaspec.catalog_server.tables import Catalog, StagedCommitInfo, Table

__all__ = ["KINDS", "ApiError", "Catalog", "CatalogServer", "Failure", "StagedCommitInfo", "Table", "serve"]
