"""Clustered tables."""

import json
from typing import Any

from deltaspec_generators.table_files import TableFiles, domain_action, get_action, protocol_action
from planted_tables.bases import log_only

CLUSTERING_PROTOCOL = protocol_action(1, 7, None, ["clustering", "domainMetadata"])


def build_clustered_table(*domains: Any) -> TableFiles:
    """Build a table clustered by `id`, with statistics of `id` in every add."""
    files = log_only.build_table(protocol=CLUSTERING_PROTOCOL)
    for version, which in ((1, 0), (1, 1), (2, 0)):
        bounds = {"minValues": {"id": 1}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
        get_action(files, version, "add", which)["stats"] = json.dumps({"numRecords": 10, **bounds})
    files.commits[0] += [domain_action("delta.clustering", json.dumps({"clusteringColumns": ["id"]})), *domains]
    return files
