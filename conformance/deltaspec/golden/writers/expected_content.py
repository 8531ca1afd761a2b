"""What a table, its checkpoint and its checksum contain after an operation, whatever writer performed it.

Paths, sizes and statistics of files are the choice of a writer, so they are not stated. `check_derived.py` in
`golden-tables` compares them with the commits of the same table.
"""

import json
from typing import Any

import pyarrow as pa

from deltaspec_generators.histories.plain_table import GENERATED, PlainTable

_FEATURE_PREFIX = "delta.feature."


def list_known_columns(table: PlainTable) -> list[str]:
    """List the columns whose values the history defines; a writer chooses the values of identity columns."""
    return [each.name for each in table.columns if not any(row.get(each.name) is GENERATED for row in table.rows)]


def describe_state(table: PlainTable) -> dict[str, Any]:
    """Return what the snapshot must have; configuration and features may have more."""
    return {
        "columns": [{name: each.to_json()[name] for name in ("name", "type", "nullable")} for each in table.columns],
        "partitionColumns": list(table.partition_by),
        "configuration": _get_configuration(table),
        "features": sorted(name.removeprefix(_FEATURE_PREFIX) for name in table.properties if _names_feature(name)),
        "constraints": sorted(table.constraints),
        "transactions": dict(table.transactions),
        "domains": dict(table.domains),
    }


def build_checkpoint_rows(table: PlainTable) -> pa.Table:
    """Return the rows of a checkpoint that the history determines, as kind and JSON of each action.

    The metadata has only the fields that are stated; the checkpoint has further rows for protocol and files.
    """
    metadata = {"partitionColumns": list(table.partition_by), "configuration": _get_configuration(table)}
    actions: list[tuple[str, dict[str, Any]]] = [
        ("metaData", {**metadata, "columns": [each.name for each in table.columns]})
    ]
    for app, version in sorted(table.transactions.items()):
        actions.append(("txn", {"appId": app, "version": version}))
    for domain, configuration in sorted(table.domains.items()):
        actions.append(("domainMetadata", {"domain": domain, "configuration": configuration, "removed": False}))
    kinds = pa.array([kind for kind, _ in actions], pa.string())
    return pa.table({"kind": kinds, "action": pa.array([json.dumps(body, sort_keys=True) for _, body in actions])})


def describe_checksum(table: PlainTable) -> dict[str, Any]:
    """Return the fields of a version checksum that the history determines; lists are optional in the file."""
    return {
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": {"partitionColumns": list(table.partition_by), "configuration": _get_configuration(table)},
        "setTransactions": [{"appId": app, "version": each} for app, each in sorted(table.transactions.items())],
        "domainMetadata": [
            {"domain": domain, "configuration": text, "removed": False}
            for domain, text in sorted(table.domains.items())
        ],
    }


def _get_configuration(table: PlainTable) -> dict[str, str]:
    return {name: text for name, text in sorted(table.properties.items()) if not _names_feature(name)}


def _names_feature(name: str) -> bool:
    return name.startswith(_FEATURE_PREFIX)
