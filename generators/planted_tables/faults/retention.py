"""Planted faults of retention: files and history deleted before their retention ended."""

from hypothesis import strategies as st

from deltaspec.protocol.property_names import FILE_RETENTION, LOG_RETENTION
from deltaspec.protocol.time_units import DAY_MS, HOUR_MS
from deltaspec_generators.table_files import TableFiles
from planted_tables.bases import log_only
from planted_tables.bases.retention import (
    REMOVED_MS,
    add_live_files,
    build_table_cleaned_up_at_2,
    build_table_with_replaced_vector,
)
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("table.vacuum-after-retention", "files")
def removed_file_vacuumed_at_once(draw: st.DrawFn) -> TableFiles:
    configuration, age = draw_one(
        draw,
        ({}, DAY_MS),
        ({}, 7 * DAY_MS),
        ({FILE_RETENTION: "interval 30 days"}, 29 * DAY_MS),
        ({FILE_RETENTION: "1 hour"}, 1000),
    )
    files = add_live_files(log_only.build_table(configuration=configuration), "a.parquet")
    files.clock_ms = REMOVED_MS + age
    return files


@planted_fault("table.vacuum-after-retention", "files")
def vector_of_a_removed_file_vacuumed_at_once(draw: st.DrawFn) -> TableFiles:
    files, _, _ = build_table_with_replaced_vector()
    files.clock_ms = REMOVED_MS + draw_one(draw, HOUR_MS, 7 * DAY_MS)
    return files


@planted_fault("cleanup.keeps-cutoff-commit")
def history_cut_off_at_once(draw: st.DrawFn) -> TableFiles:
    text, days = draw_one(draw, ("interval 30 days", 30), ("interval 1 day", 1), ("24 hours", 1))
    files = build_table_cleaned_up_at_2(log_only.build_table(configuration={LOG_RETENTION: text}, last_remove=False))
    files.clock_ms = REMOVED_MS + days * DAY_MS - draw_one(draw, 0, HOUR_MS)
    return files
