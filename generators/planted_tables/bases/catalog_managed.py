"""Catalog-managed tables and their staged commits."""

from typing import Any

from deltaspec.protocol.log.file_names import staged_commit_name
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec_generators.action_lines import Line, encode_lines
from deltaspec_generators.table_files import LOG, TableFiles, commit_info_action, protocol_action
from planted_tables.bases import log_only

FIRST_UUID, SECOND_UUID = "016ae953-37a9-438e-8683-9a9a4a79a395", "7d17ac10-5cc3-401b-bd1a-9c82dd2ea032"


FEATURES = ["catalogManaged", "inCommitTimestamp"]


def build_managed_table(**more: Any) -> TableFiles:
    """Build a catalog-managed table; the transaction of version v is `txn-v`."""
    files = log_only.build_table(
        protocol=protocol_action(3, 7, ["catalogManaged"], FEATURES),
        configuration={IN_COMMIT_TIMESTAMPS: "true"},
        **more,
    )
    for version, lines in files.commits.items():
        lines[0] = transaction_commit_info(version)
    return files


def transaction_commit_info(version: int, retried: int = 0) -> dict[str, Any]:
    """Build the commitInfo of a version; `retried` distinguishes further attempts of its transaction."""
    return commit_info_action(version, inCommitTimestamp=1_700_000_000_000 + version + retried, txnId=f"txn-{version}")


def add_staged_commit(files: TableFiles, version: int, uuid: str, lines: list[Line] | bytes) -> None:
    """Add a staged commit to the table."""
    data = lines if isinstance(lines, bytes) else encode_lines(lines)
    files.extra[LOG + staged_commit_name(version, uuid)] = data
