"""Prefixes of rule codes. Each names the module or the package below `deltaspec.rules` that has its rules, and their subject."""

import msgspec


class Prefix(msgspec.Struct, frozen=True):
    """Rules whose codes begin with the same letters."""

    module: str
    """Module below `deltaspec.rules`, or package if the rules need several modules."""
    subject: str
    """What the rules check, as a title."""


PREFIXES: dict[str, Prefix] = {
    "CAT": Prefix("catalog_managed", "Catalog-managed tables"),
    "CDF": Prefix("change_data", "Change data files"),
    "CFG": Prefix("configuration", "Table properties"),
    "CKP": Prefix("checkpoints", "Checkpoints"),
    "CLU": Prefix("clustering", "Clustered tables"),
    "CMP": Prefix("column_mapping", "Column mapping"),
    "COM": Prefix("commits", "Commits"),
    "CON": Prefix("constraints", "Constraints, generated columns and defaults"),
    "COP": Prefix("compactions", "Log compactions"),
    "CRC": Prefix("checksums", "Version checksums"),
    "DAT": Prefix("data_files", "Existence and size of data files"),
    "DOM": Prefix("domains", "Domain metadata"),
    "DVX": Prefix("deletion_vectors", "Deletion vectors"),
    "EVO": Prefix("evolution", "Changes of the protocol between versions"),
    "FEA": Prefix("features", "Feature lists"),
    "FIL": Prefix("file_actions", "Add, remove and cdc actions"),
    "ICE": Prefix("iceberg", "Iceberg compatibility"),
    "ICT": Prefix("in_commit_timestamps", "In-commit timestamps"),
    "IDN": Prefix("identity_columns", "Identity columns"),
    "LCP": Prefix("last_checkpoint", "Last checkpoint file"),
    "LIN": Prefix("lines", "Lines of the log"),
    "LOG": Prefix("log_files", "Log directory"),
    "MET": Prefix("metadata", "Metadata"),
    "PQT": Prefix("parquet", "Parquet files"),
    "PRO": Prefix("protocol", "Protocol actions"),
    "PRP": Prefix("proposals", "Proposals"),
    "RID": Prefix("row_tracking", "Row tracking"),
    "ROW": Prefix("rows", "Values of rows"),
    "SCH": Prefix("schema", "Schemas"),
    "STA": Prefix("statistics", "Statistics"),
    "VAC": Prefix("retention", "Files deleted too early"),
    "VAR": Prefix("variants", "Variant columns"),
    "WID": Prefix("type_widening", "Type widening"),
}
"""By prefix, sorted."""
