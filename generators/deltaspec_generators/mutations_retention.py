"""Mutations of what a vacuum and a cleanup may take: files of tombstones and history that the retention keeps."""

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles
from deltaspec_generators.mutations import mutation, pick
from deltaspec_generators.mutations_cleanup import cleaned_up_at_2
from deltaspec_generators.retention_bases import DAY, HOUR, REMOVED_AT, marked_again, with_live_files

_RETENTION = "delta.deletedFileRetentionDuration"


@mutation("table.vacuum-after-retention", "files")
def removed_file_vacuumed_at_once(draw: st.DrawFn) -> TableFiles:
    configuration, age = pick(
        draw, ({}, DAY), ({}, 7 * DAY), ({_RETENTION: "interval 30 days"}, 29 * DAY), ({_RETENTION: "1 hour"}, 1000)
    )
    files = with_live_files(bases.plain(configuration=configuration), "a.parquet")
    files.clock_ms = REMOVED_AT + age
    return files


@mutation("table.vacuum-after-retention", "files")
def vector_of_a_removed_file_vacuumed_at_once(draw: st.DrawFn) -> TableFiles:
    files, _, _ = marked_again()
    files.clock_ms = REMOVED_AT + pick(draw, HOUR, 7 * DAY)
    return files


@mutation("cleanup.keeps-cutoff-commit")
def history_cut_off_at_once(draw: st.DrawFn) -> TableFiles:
    text, days = pick(draw, ("interval 30 days", 30), ("interval 1 day", 1), ("24 hours", 1))
    files = cleaned_up_at_2(bases.plain(configuration={"delta.logRetentionDuration": text}, last_remove=False))
    files.clock_ms = REMOVED_AT + days * DAY - pick(draw, 0, HOUR)
    return files
