"""All mutants of the self-test."""

from deltaspec.selftest.mutants import MUTANTS
from deltaspec.selftest.readers import (
    catalog_managed as catalog_readers,
)
from deltaspec.selftest.readers import (
    changes,
    checkpoints,
    column_mapping,
    deletion_vectors,
    equal_values,
    filters,
    log_listing,
    partition_values,
    reconciliation,
    refusals,
    row_ids,
    side_effects,
    statistics,
    time_travel,
    type_widening,
    values,
)
from deltaspec.selftest.writers import (
    catalog_managed as catalog_writers,
)
from deltaspec.selftest.writers import (
    change_files,
    column_values,
    commits,
    concurrency,
    constraints,
    derived_files,
    file_statistics,
    log_cleanup,
    maintenance,
    partitioning,
    replacements,
    row_tracking,
    schema_changes,
    type_changes,
)

READER_MODULES = (
    log_listing,
    reconciliation,
    checkpoints,
    deletion_vectors,
    partition_values,
    column_mapping,
    type_widening,
    values,
    statistics,
    filters,
    equal_values,
    time_travel,
    changes,
    row_ids,
    refusals,
    side_effects,
    catalog_readers,
)
WRITER_MODULES = (
    commits,
    file_statistics,
    partitioning,
    constraints,
    column_values,
    schema_changes,
    replacements,
    type_changes,
    row_tracking,
    change_files,
    maintenance,
    log_cleanup,
    derived_files,
    concurrency,
    catalog_writers,
)
"""Their import registers the mutants."""

__all__ = ["MUTANTS", "READER_MODULES", "WRITER_MODULES"]
