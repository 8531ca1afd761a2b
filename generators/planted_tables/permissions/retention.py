"""Valid tables of retention: files that VACUUM may delete or keep."""

from deltaspec.protocol.property_names import FILE_RETENTION
from deltaspec.protocol.time_units import DAY_MS, HOUR_MS
from deltaspec_generators.table_files import TableFiles
from planted_tables.bases import log_only
from planted_tables.bases.retention import REMOVED_MS, add_live_files, build_table_with_replaced_vector
from planted_tables.permissions.registry import permission


@permission("table.vacuum-after-retention", "files")
def removed_file_vacuumed_after_a_week() -> TableFiles:
    files = add_live_files(log_only.build_table(), "a.parquet")
    files.clock_ms = REMOVED_MS + 7 * DAY_MS + 1
    return files


@permission("table.vacuum-after-retention", "files")
def removed_file_vacuumed_after_an_hour_as_the_table_says() -> TableFiles:
    configuration = {FILE_RETENTION: "interval 1 hour"}
    files = add_live_files(log_only.build_table(configuration=configuration), "a.parquet")
    files.clock_ms = REMOVED_MS + HOUR_MS + 1
    return files


@permission("table.vacuum-after-retention", "files")
def vector_of_a_removed_file_kept() -> TableFiles:
    files, path, data = build_table_with_replaced_vector()
    files.extra[path] = data
    files.clock_ms = REMOVED_MS + HOUR_MS
    return files
