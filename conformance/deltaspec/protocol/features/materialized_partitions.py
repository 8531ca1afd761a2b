"""Partition columns in data files. Source: Iceberg Compatibility V1, V2; Materialize Partition Columns.

Materialize Partition Columns is a proposal. Readers use the values from the
log in any case. `deltaspec.views.data.iceberg_files` finds the missing columns.
"""

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import WRITE_PARTITION_COLUMNS, is_property_true
from deltaspec.protocol.property_names import ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3

FEATURE = "materializePartitionColumns"
PROPERTY = WRITE_PARTITION_COLUMNS
_WHEN_ENABLED = {
    "icebergCompatV1": ICEBERG_COMPAT_V1,
    "icebergCompatV2": ICEBERG_COMPAT_V2,
    "icebergCompatV3": ICEBERG_COMPAT_V3,
}


def find_requiring_features(protocol: Protocol, metadata: MetaData) -> list[str]:
    """Return the features that require partition columns in new data files.

    `materializePartitionColumns` requires them if it is supported, Iceberg compatibility if it is enabled.
    """
    found = [FEATURE] if supports(protocol, FEATURE) else []
    settings = metadata.configuration
    return found + [
        name for name, key in _WHEN_ENABLED.items() if supports(protocol, name) and is_property_true(settings, key)
    ]
