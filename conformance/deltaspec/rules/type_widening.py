"""Rules over type changes of columns. Source: Type Widening (current)."""

import polars as pl

from deltaspec.rules.command_fixes import ADD_TYPE_WIDENING
from deltaspec.rules.fixes import DISABLE_COMPATIBILITY, RESTORE_TYPE_CHANGES
from deltaspec.rules.registry import rule
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.table.table_actions import protocols
from deltaspec.views.table.type_widening import recorded_type_changes, type_changes

# Type changes recorded in schemas


@rule(
    "WID001",
    requires="type-widening.feature",
    view=recorded_type_changes,
    without_feature=True,
    fix=ADD_TYPE_WIDENING,
)
def type_changes_without_feature() -> pl.Expr:
    """A column records type changes although the protocol does not support typeWidening.

    Readers that do not know the feature assume that older files have the current type, and fail or misread them.

    Conforms::
        type_widening_supported: true
        type_widening_supported: null
    Violates::
        type_widening_supported: false
    """
    return ~pl.col("type_widening_supported")


@rule("WID002", requires="type-widening.changes-are-list", view=recorded_type_changes, fix=RESTORE_TYPE_CHANGES)
def type_changes_not_a_list() -> pl.Expr:
    """`delta.typeChanges` of a column is not a list of objects.

    Readers cannot determine which types older files have.

    Conforms::
        list_fault: null
    Violates::
        list_fault: "an object"
    """
    return pl.col("list_fault").is_not_null()


@rule("WID003", requires="type-widening.changes-are-list", view=recorded_type_changes, divergence="E30")
def type_changes_as_string() -> pl.Expr:
    """`delta.typeChanges` of a column is a string that contains the list of changes.

    One chapter calls the value a list, the table of column metadata calls it a JSON string. Engines write and read a
    list. Other rules read the list in the string.
    Fix (none): No repair is needed if your readers accept the string. Use a writer that stores a list.

    Conforms::
        is_string: false
    Violates::
        is_string: true
    """
    return pl.col("is_string")


@rule("WID004", requires="type-widening.changes-name-types", view=recorded_type_changes, fix=RESTORE_TYPE_CHANGES)
def type_change_without_types() -> pl.Expr:
    """A recorded type change has no valid fromType or toType.

    Readers cannot determine whether they can convert the values of older files.

    Conforms::
        types_fault: null
    Violates::
        types_fault: "/0: fromType is missing"
    """
    return pl.col("types_fault").is_not_null()


@rule(
    "WID005",
    requires=("type-widening.changes-name-place", "type-widening.changes-in-metadata"),
    view=recorded_type_changes,
    fix=RESTORE_TYPE_CHANGES,
)
def type_change_misplaced() -> pl.Expr:
    """The fieldPath of a recorded type change does not lead to a type that can be widened.

    The change must be recorded in the nearest struct field. From there, key, value and element lead to the type,
    separated by dots.

    Conforms::
        field_path_fault: null
    Violates::
        field_path_fault: "/0: the column is of type array"
    """
    return pl.col("field_path_fault").is_not_null()


@rule("WID006", requires="type-widening.supported-changes", view=recorded_type_changes, fix=RESTORE_TYPE_CHANGES)
def unlisted_change_recorded() -> pl.Expr:
    """A column records a type change that the protocol does not support.

    Readers must fail, because they cannot convert the values of older files.

    Conforms::
        unlisted_change: null
    Violates::
        unlisted_change: "long to double"
    """
    return pl.col("unlisted_change").is_not_null()


@rule("WID007", requires="type-widening.recorded", view=recorded_type_changes, fix=RESTORE_TYPE_CHANGES)
def type_changes_with_a_gap() -> pl.Expr:
    """The recorded type changes of a column do not lead to its current type without a gap.

    A change was not recorded. Readers may find files of a type that they do not expect.

    Conforms::
        chain_fault: null
    Violates::
        chain_fault: "integer is followed by long"
    """
    return pl.col("chain_fault").is_not_null()


# Type changes made by commits


@rule("WID010", requires="type-widening.supported-changes", view=type_changes)
def unsupported_type_change() -> pl.Expr:
    """A commit makes a type change that the protocol does not support, and older files remain.

    Readers with support for type widening must fail on files of the old type.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Copy the values into a new column of the new type instead.

    Conforms::
        is_legal: true, older_files: 4
        is_legal: false, older_files: 0
    Violates::
        is_legal: false, older_files: 1
    """
    return ~pl.col("is_legal") & (pl.col("older_files") > 0)


@rule("WID011", requires="type-widening.only-when-enabled", view=type_changes)
def type_widened_while_disabled() -> pl.Expr:
    """A commit widened the type of a column although delta.enableTypeWidening was not true.

    The table's owner did not permit type changes, so readers of the table may not support them.
    Fix (decide): Set `delta.enableTypeWidening` to true if the change is wanted. Otherwise run `RESTORE TABLE t TO
    VERSION AS OF n` with the version before, and repeat later changes.

    Conforms::
        is_widening: true, enabled: true, older_files: 4
        is_widening: true, enabled: false, older_files: 0
        is_widening: false, enabled: false, older_files: 4
    Violates::
        is_widening: true, enabled: false, older_files: 1
    """
    return pl.col("is_widening") & ~pl.col("enabled") & (pl.col("older_files") > 0)


@rule("WID012", requires="type-widening.changes-for-iceberg", view=type_changes, fix=DISABLE_COMPATIBILITY)
def type_widened_beyond_iceberg() -> pl.Expr:
    """A commit widened a type in a way that Iceberg does not support, on a table with Iceberg compatibility.

    Iceberg clients cannot read older files with the new type.

    Conforms::
        iceberg_supported: true, allowed_by_iceberg: true, older_files: 4
        iceberg_supported: true, allowed_by_iceberg: false, older_files: 0
        iceberg_supported: true, allowed_by_iceberg: null, older_files: 4
        iceberg_supported: false, allowed_by_iceberg: false, older_files: 4
    Violates::
        iceberg_supported: true, allowed_by_iceberg: false, older_files: 1
    """
    return pl.col("iceberg_supported") & ~pl.col("allowed_by_iceberg") & (pl.col("older_files") > 0)


@rule("WID013", requires="type-widening.recorded", view=type_changes)
def unrecorded_type_widening() -> pl.Expr:
    """A commit widened the type of a column without recording the change, and older files remain.

    Readers assume that all files have the current type, and fail or misread older ones.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Then change the type with `ALTER TABLE t ALTER COLUMN c TYPE ...`, which
    records the change. Do not rewrite files through a reader that misreads them.

    Conforms::
        is_widening: true, is_recorded: true, older_files: 4
        is_widening: true, is_recorded: false, older_files: 0
        is_widening: false, is_recorded: false, older_files: 4
        is_widening: true, is_recorded: null, older_files: 4
    Violates::
        is_widening: true, is_recorded: false, older_files: 1
    """
    return pl.col("is_widening") & ~pl.col("is_recorded") & (pl.col("older_files") > 0)


@rule("WID014", requires="type-widening.kept", view=file_columns)
def type_changes_lost() -> pl.Expr:
    """A file has a narrower type, but the record of the type change is no longer in the schema.

    Readers assume that all files have the current type, and fail or misread older ones.
    Fix (restore): Run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect, then repeat
    later changes with a corrected writer. Do not rewrite files through a reader that misreads them.

    Conforms::
        kind: add, type_widening_supported: true, widening_record_lost: false, remaining_rows: 10
        kind: add, type_widening_supported: true, widening_record_lost: true, remaining_rows: 0
        kind: add, type_widening_supported: false, widening_record_lost: true, remaining_rows: 10
        kind: cdc, type_widening_supported: true, widening_record_lost: true, remaining_rows: 10
    Violates::
        kind: add, type_widening_supported: true, widening_record_lost: true, remaining_rows: 10
    """
    has_rows = (pl.col("kind") == "add") & (pl.col("remaining_rows") > 0)
    return has_rows & pl.col("widening_record_lost") & pl.col("type_widening_supported")


@rule("WID016", requires="type-widening.recorded", view=file_columns)
def narrower_type_never_recorded() -> pl.Expr:
    """A file has a narrower type, and no schema records a change from this type.

    Readers assume that all files have the current type, and fail or misread this one.
    Fix (rewrite): Rewrite the file's rows with an engine that reads its values correctly. If the column had the
    narrower type before, run `RESTORE TABLE t TO VERSION AS OF n` with the last version before the change, then
    change the type with `ALTER TABLE t ALTER COLUMN c TYPE ...`, which records the change.

    Conforms::
        type_widening_supported: true, widening_recorded: true, widening_record_lost: false, remaining_rows: 1, version: 3, widening_unrecorded_at: null
        type_widening_supported: true, widening_recorded: null, widening_record_lost: false, remaining_rows: 1, version: 3, widening_unrecorded_at: null
        type_widening_supported: true, widening_recorded: false, widening_record_lost: true, remaining_rows: 1, version: 3, widening_unrecorded_at: null
        type_widening_supported: true, widening_recorded: false, widening_record_lost: false, remaining_rows: 0, version: 3, widening_unrecorded_at: null
        type_widening_supported: true, widening_recorded: false, widening_record_lost: false, remaining_rows: 1, version: 3, widening_unrecorded_at: 4
        type_widening_supported: false, widening_recorded: false, widening_record_lost: false, remaining_rows: 1, version: 3, widening_unrecorded_at: null
    Violates::
        type_widening_supported: true, widening_recorded: false, widening_record_lost: false, remaining_rows: 1, version: 3, widening_unrecorded_at: null
        type_widening_supported: true, widening_recorded: false, widening_record_lost: false, remaining_rows: 1, version: 3, widening_unrecorded_at: 3
    """
    is_reported = pl.col("widening_record_lost") | (pl.col("version") < pl.col("widening_unrecorded_at")).fill_null(
        False
    )
    is_unknown = ~pl.col("widening_recorded") & ~is_reported
    return is_unknown & pl.col("type_widening_supported") & (pl.col("remaining_rows") > 0)


@rule("WID015", requires="type-widening.gone-with-feature", view=protocols)
def traces_of_dropped_widening() -> pl.Expr:
    """A version drops typeWidening, but recorded type changes remain or the property is still true.

    Readers that do not know the feature assume that older files have the current type.
    Fix (restore): Restore the version before the drop: Delta Spark refuses the table, so it cannot add the feature
    again. Then `ALTER TABLE t DROP FEATURE typeWidening` rewrites older files and removes the records.

    Conforms::
        type_widening_traces: []
        type_widening_traces: null
    Violates::
        type_widening_traces: ["price", "delta.enableTypeWidening"]
    """
    return pl.col("type_widening_traces").list.len() > 0
