"""Valid tables whose checkpoint has a bound twice: complete in the typed column, truncated in JSON."""

from datetime import timedelta

from deltaspec_generators.table_files import TableFiles
from planted_tables.bases.typed_copies import SAMPLES, build_facts, build_table_of_copies, get_column_name
from planted_tables.permissions.registry import permission


@permission("statistics.timestamp-milliseconds")
def timestamp_truncated_in_json_only() -> TableFiles:
    facts, column = build_facts(("timestamp_ntz",)), get_column_name("timestamp_ntz")
    assert facts.typed is not None
    facts.typed["maxValues"][column] = SAMPLES["timestamp_ntz"].high + timedelta(microseconds=999)
    return build_table_of_copies(facts, ("timestamp_ntz",))


@permission("statistics.string-prefix")
def string_truncated_in_json_only() -> TableFiles:
    facts, column = build_facts(("string",)), get_column_name("string")
    assert facts.stats is not None
    assert facts.typed is not None
    facts.typed["minValues"][column], facts.stats["minValues"][column] = "abc", "ab"
    facts.typed["maxValues"][column], facts.stats["maxValues"][column] = "abd", "ab\x7f"
    return build_table_of_copies(facts, ("string",))
