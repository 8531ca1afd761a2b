"""Planted faults of the copies of facts in a checkpoint: typed columns that contradict the text of their row."""

from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles
from planted_tables.bases.typed_copies import (
    FEATURE_TYPES,
    SAMPLES,
    STATISTICS,
    TYPES,
    build_facts,
    build_table_of_copies,
    change_typed_statistic,
    get_column_name,
)
from planted_tables.faults.registry import draw_one, planted_fault

_OLD_TYPES = tuple(kind for kind in TYPES if kind not in FEATURE_TYPES | {"timestamp"})
"""Types with the same partition values in every revision."""


@planted_fault("checkpoint-contents.struct-statistics-equal")
def typed_statistic_changed(draw: st.DrawFn) -> TableFiles:
    facts, committed = build_facts(_OLD_TYPES), build_facts(_OLD_TYPES)
    statistic, kind = draw_one(draw, *STATISTICS), draw_one(draw, *_OLD_TYPES)
    change_typed_statistic(facts, statistic, kind, nested=draw(st.booleans()))
    is_base = draw(st.booleans())
    return build_table_of_copies(facts, _OLD_TYPES, committed=None if is_base else committed)


@planted_fault("checkpoint-contents.parsed-partition-values-equal")
def typed_partition_value_changed(draw: st.DrawFn) -> TableFiles:
    facts, committed = build_facts(_OLD_TYPES), build_facts(_OLD_TYPES)
    kind = draw_one(draw, *_OLD_TYPES)
    facts.typed_values[get_column_name(kind, "p")] = draw_one(draw, SAMPLES[kind].other, None)
    is_base = draw(st.booleans())
    return build_table_of_copies(facts, _OLD_TYPES, committed=None if is_base else committed)


@planted_fault("checkpoint.equals-replay")
def typed_statistic_of_another_commit(draw: st.DrawFn) -> TableFiles:
    facts, committed = build_facts(_OLD_TYPES), build_facts(_OLD_TYPES)
    facts.stats = None
    statistic, kind = draw_one(draw, *STATISTICS), draw_one(draw, *_OLD_TYPES)
    change_typed_statistic(facts, statistic, kind, nested=draw(st.booleans()))
    return build_table_of_copies(facts, _OLD_TYPES, committed=committed)
