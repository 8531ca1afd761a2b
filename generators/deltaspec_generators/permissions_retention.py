"""Tables that use the freedoms of catalogs, and of what may be deleted when."""

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles
from deltaspec_generators.permissions import permission
from deltaspec_generators.retention_bases import DAY, HOUR, REMOVED_AT, marked_again, with_live_files


@permission("table.vacuum-after-retention", "files")
def removed_file_vacuumed_after_a_week() -> TableFiles:
    files = with_live_files(bases.plain(), "a.parquet")
    files.clock_ms = REMOVED_AT + 7 * DAY + 1
    return files


@permission("table.vacuum-after-retention", "files")
def removed_file_vacuumed_after_an_hour_as_the_table_says() -> TableFiles:
    configuration = {"delta.deletedFileRetentionDuration": "interval 1 hour"}
    files = with_live_files(bases.plain(configuration=configuration), "a.parquet")
    files.clock_ms = REMOVED_AT + HOUR + 1
    return files


@permission("table.vacuum-after-retention", "files")
def vector_of_a_removed_file_kept() -> TableFiles:
    files, path, data = marked_again()
    files.extra[path] = data
    files.clock_ms = REMOVED_AT + HOUR
    return files
