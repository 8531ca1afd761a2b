"""Who asks for partition columns in data files. Source: Iceberg Compatibility V1, V2; Materialize Partition Columns.

The last is an accepted proposal that no text of the protocol holds yet. Readers take the values from the log either
way. Which of the columns a file lacks, `deltaspec.model.rows.iceberg_files` tells.
"""

from typing import Literal

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.features.protocol import supports
from deltaspec.model.features.table_properties import is_property_true

FEATURE = "materializePartitionColumns"
PROPERTY = "delta.writePartitionColumnsToParquet"
_WHEN_ENABLED = {
    "icebergCompatV1": "delta.enableIcebergCompatV1",
    "icebergCompatV2": "delta.enableIcebergCompatV2",
    "icebergCompatV3": "delta.enableIcebergCompatV3",
}


def find_requiring_features(protocol: Protocol, metadata: MetaData) -> list[str]:
    """Features by which new data files have to hold the partition columns.

    `materializePartitionColumns` asks wherever it is supported, Iceberg compatibility where it is enabled.
    """
    found = [FEATURE] if supports(protocol, FEATURE) else []
    settings = metadata.configuration
    return found + [
        name for name, key in _WHEN_ENABLED.items() if supports(protocol, name) and is_property_true(settings, key)
    ]


def get_requirement_level(protocol: Protocol, metadata: MetaData) -> Literal["must", "should", "should not"] | None:
    """Whether new data files hold the partition columns; None where they are free to.

    A property gives the wish of the table's owner where no feature asks; none of its values takes back what one asks.
    """
    if find_requiring_features(protocol, metadata):
        return "must"
    if PROPERTY not in metadata.configuration:
        return None
    return "should" if is_property_true(metadata.configuration, PROPERTY) else "should not"
