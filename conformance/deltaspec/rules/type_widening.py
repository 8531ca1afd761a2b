"""Rules over types of columns that became wider. Source: Type Widening (current)."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.table.table_actions import protocols
from deltaspec.views.table.type_widening import recorded_type_changes, type_changes

# what schemas record


@rule("WID001", requires="type-widening.feature", view=recorded_type_changes)
def type_changes_without_feature() -> pl.Expr:
    """A column records changes of its type, and the table does not support typeWidening.

    Readers that do not know the feature take old files for files of the type of today, and fail or misread them.
    Fix: add typeWidening to readerFeatures and writerFeatures, or rewrite the files and drop the record.

    Conforms::
        type_widening_supported: true
        type_widening_supported: null
    Violates::
        type_widening_supported: false
    """
    return ~pl.col("type_widening_supported")


@rule("WID002", requires="type-widening.changes-are-list", view=recorded_type_changes)
def type_changes_not_a_list() -> pl.Expr:
    """`delta.typeChanges` of a column is no list of objects.

    Readers cannot tell which types older files have for the column.
    Fix: commit the schema with a list of objects that name fromType and toType.

    Conforms::
        list_fault: null
    Violates::
        list_fault: "an object"
    """
    return pl.col("list_fault").is_not_null()


@rule("WID003", requires="type-widening.changes-are-list", view=recorded_type_changes, divergence="E30")
def type_changes_as_string() -> pl.Expr:
    """`delta.typeChanges` of a column is a text.

    One chapter calls the value a list, the table of column metadata a JSON string; engines read and write a list.
    Fix: commit the schema with the list itself.

    Conforms::
        is_string: false
    Violates::
        is_string: true
    """
    return pl.col("is_string")


@rule("WID004", requires="type-widening.changes-name-types", view=recorded_type_changes)
def type_change_without_types() -> pl.Expr:
    """A recorded change of a type lacks the type before or the one after, or names none.

    Readers cannot tell whether they know how to convert the values of older files.
    Fix: commit the schema with fromType and toType in every entry, as schemas spell types.

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
)
def type_change_misplaced() -> pl.Expr:
    """A recorded change of a type does not say of what: its fieldPath does not lead to a type that may be widened.

    Changes stand with the nearest struct field; below that, key, value and element lead to them, joined by dots.
    Fix: commit the schema with the change where it belongs, and the path from there.

    Conforms::
        field_path_fault: null
    Violates::
        field_path_fault: "/0: the column is of type array"
    """
    return pl.col("field_path_fault").is_not_null()


@rule("WID006", requires="type-widening.supported-changes", view=recorded_type_changes)
def unlisted_change_recorded() -> pl.Expr:
    """A column records a change of its type that is none of those that the text lists.

    Readers have to fail on it: they do not know how to convert the values of older files.
    Fix: rewrite the files that are older than the change, and drop the record.

    Conforms::
        unlisted_change: null
    Violates::
        unlisted_change: "long to double"
    """
    return pl.col("unlisted_change").is_not_null()


@rule("WID007", requires="type-widening.recorded", view=recorded_type_changes)
def type_changes_with_a_gap() -> pl.Expr:
    """The recorded changes of a type do not lead from one to the next, and at last to the type of the column.

    A change between was not recorded. Readers may meet files of a type that they were not told of.
    Fix: commit the schema with the changes that are missing.

    Conforms::
        chain_fault: null
    Violates::
        chain_fault: "integer is followed by long"
    """
    return pl.col("chain_fault").is_not_null()


# what commits do


@rule("WID010", requires="type-widening.supported-changes", view=type_changes)
def unsupported_type_change() -> pl.Expr:
    """A commit gave a column another type, the change is none that the text lists, and older files stay.

    Readers of type widening have to fail on files that hold the old type.
    Fix: restore the schema before, and rewrite the files with the new type before it is given to the column.

    Conforms::
        is_legal: true, older_files: 4
        is_legal: false, older_files: 0
    Violates::
        is_legal: false, older_files: 1
    """
    return ~pl.col("is_legal") & (pl.col("older_files") > 0)


@rule("WID011", requires="type-widening.only-when-enabled", view=type_changes)
def type_widened_while_disabled() -> pl.Expr:
    """A commit gave a column a wider type, and delta.enableTypeWidening was not true.

    Who did not enable it did not expect that types change: writers have to refuse.
    Fix: enable it before the next change, or rewrite the files and drop the feature.

    Conforms::
        is_widening: true, enabled: true, older_files: 4
        is_widening: true, enabled: false, older_files: 0
        is_widening: false, enabled: false, older_files: 4
    Violates::
        is_widening: true, enabled: false, older_files: 1
    """
    return pl.col("is_widening") & ~pl.col("enabled") & (pl.col("older_files") > 0)


@rule("WID012", requires="type-widening.changes-for-iceberg", view=type_changes)
def type_widened_beyond_iceberg() -> pl.Expr:
    """A commit gave a column a wider type in a way that Iceberg does not know, in a table that is compatible with it.

    Clients of Iceberg cannot read older files as the new type.
    Fix: rewrite the files that are older than the change.

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
    """A commit gave a column a wider type, older files stay, and the schema does not record the change.

    Readers take it that all files have the type of today, and fail or misread the older ones.
    Fix: commit the schema with the change in delta.typeChanges of the nearest struct field.

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
    """A file has rows of a narrower type, a schema recorded that the type became wider, and none records it any more.

    Readers take it that all files have the type of today, and fail or misread the older ones.
    Fix: commit the schema with the changes as they were, or rewrite the files first.

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


@rule("WID015", requires="type-widening.gone-with-feature", view=protocols)
def traces_of_dropped_widening() -> pl.Expr:
    """A version drops typeWidening, and records of changed types are still there, or the property is still true.

    Readers that do not know the feature take old files for files of the type of today.
    Fix: commit a metaData without delta.typeChanges and delta.enableTypeWidening, and rewrite files of older types.

    Conforms::
        type_widening_traces: []
        type_widening_traces: null
    Violates::
        type_widening_traces: ["price", "delta.enableTypeWidening"]
    """
    return pl.col("type_widening_traces").list.len() > 0
