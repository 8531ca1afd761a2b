"""What writers must enforce or generate: constraints, generated and identity columns, non-nullable columns."""

import pyarrow as pa
from known_bugs.registry import known_bug
from known_bugs.single_file_tables import build_single_file_table

from deltaspec_generators.table_files import TableFiles, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.column_features import build_identity_table


@known_bug("wr-005", SCH003=1)
def identity_mark_moved_below_its_start(is_sound: bool) -> TableFiles:
    """A merge that only updates lowers the high-water mark of an identity column from 100 by 2, below its start."""
    return _build_identity_table(100 if is_sound else 98)


@known_bug("wr-005", SCH003=1)
def identity_mark_moved_to_a_user_value(is_sound: bool) -> TableFiles:
    """The high-water mark is set to a value that a user inserted and that is not part of the sequence."""
    return _build_identity_table(104 if is_sound else 10_001)


@known_bug("wr-005", level="rows", IDN005=1, IDN006=1)
def identity_value_from_an_engine_without_support(is_sound: bool) -> TableFiles:
    """An engine without identity columns stores values from its input; one of them already exists."""
    return build_identity_table((102, [100, 102]), (104, [104]) if is_sound else (102, [102]))


@known_bug("wr-002", level="rows", ROW043=1)
def invariant_violated(is_sound: bool) -> TableFiles:
    """A column has the invariant x > 3, and a writer that ignores it commits 1 and a null."""
    metadata = {"delta.invariants": '{"expression":{"expression":"x > 3"}}'}
    field = {"name": "x", "type": "long", "nullable": True, "metadata": metadata}
    return build_single_file_table(pa.table({"x": pa.array([4, 5] if is_sound else [1, None], pa.int64())}), [field])


@known_bug("wr-002", level="rows", ROW002=1)
def null_in_a_non_nullable_column(is_sound: bool) -> TableFiles:
    """A writer ignores nullability and commits a null."""
    field = {"name": "x", "type": "long", "nullable": False, "metadata": {}}
    return build_single_file_table(pa.table({"x": pa.array([1, 2 if is_sound else None], pa.int64())}), [field])


@known_bug("wr-002", level="rows", ROW002=1)
def null_in_a_non_nullable_field(is_sound: bool) -> TableFiles:
    """A field of a struct is non-nullable. It may be null below a null struct, but a null is committed in another
    struct."""
    inner = {"name": "a", "type": "long", "nullable": False, "metadata": {}}
    values = [None, {"a": 1 if is_sound else None}]
    table = pa.table({"s": pa.array(values, pa.struct([("a", pa.int64())]))})
    return build_single_file_table(table, [("s", {"type": "struct", "fields": [inner]})])


@known_bug("wr-002", level="rows", ROW006=1)
def null_in_an_array_without_nulls(is_sound: bool) -> TableFiles:
    """An array is declared to contain no nulls, and a writer commits one."""
    kind = {"type": "array", "elementType": "long", "containsNull": False}
    table = pa.table({"l": pa.array([[1, 2 if is_sound else None]], pa.list_(pa.int64()))})
    return build_single_file_table(table, [("l", kind)])


@known_bug("wr-003", level="rows", ROW040=1)
def constraint_evaluates_to_null(is_sound: bool) -> TableFiles:
    """The constraint c >= 0 is neither true nor false for a null, and a writer accepts it as SQL does."""
    configuration = {"delta.constraints.positive": "c >= 0"}
    table = pa.table({"c": pa.array([0 if is_sound else None], pa.int64())})
    return build_single_file_table(table, [("c", "long")], protocol=protocol_action(1, 3), configuration=configuration)


@known_bug("wr-004", level="rows", ROW041=1)
def generated_column_with_wrong_values(is_sound: bool) -> TableFiles:
    """A writer that does not know generated columns stores a null and an arbitrary value."""
    metadata = {"delta.generationExpression": "x * 2"}
    generated = {"name": "y", "type": "long", "nullable": True, "metadata": metadata}
    table = pa.table({"x": pa.array([1, 2], pa.int64()), "y": pa.array([2, 4] if is_sound else [None, 7], pa.int64())})
    return build_single_file_table(table, [("x", "long"), generated], protocol=protocol_action(1, 4))


def _build_identity_table(mark: int) -> TableFiles:
    properties = {"start": 100, "step": 2, "allowExplicitInsert": True, "highWaterMark": mark}
    metadata = {f"delta.identity.{name}": value for name, value in properties.items()}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": metadata}
    return log_only.build_table(protocol=protocol_action(1, 6), fields=[field, ("name", "string")])
