"""Rules over metaData actions. Source: chapters Change Metadata and Schema Serialization Format."""

import polars as pl

from deltaspec.rules.fixes import RESTORE_LOADABLE_TABLE, WRITE_KEYS_ONCE
from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import metadata


@rule("MET001", requires="metadata.id-is-guid", view=metadata, warning=True)
def table_id_is_not_guid() -> pl.Expr:
    """The id of a table is not a GUID.

    Clients and catalogs identify tables by this id. Ids that are not GUIDs may collide.
    Fix (decide): Do not change the id while streams read the table: they treat it as another table. Copy the table,
    or use an engine that writes a metaData action with a GUID.

    Conforms::
        id_is_guid: true
    Violates::
        id_is_guid: false
    """
    return ~pl.col("id_is_guid")


@rule(
    "MET002",
    requires=(
        "metadata.schema-string",
        "schema.struct",
        "schema.field",
        "schema.field-metadata",
        "schema.array",
        "schema.map",
        "schema.map-value-null",
    ),
    view=metadata,
    fix=RESTORE_LOADABLE_TABLE,
)
def malformed_schema() -> pl.Expr:
    """The schema string is not valid JSON for a struct type.

    Readers fail on the table.

    Conforms::
        schema_fault: null
        schema_fault: "unknown type"
    Violates::
        schema_fault: "not JSON"
        schema_fault: malformed
    """
    return pl.col("schema_fault").is_in(["not JSON", "not a struct", "malformed"])


@rule("MET003", requires=("schema.primitive-types", "schema.variant-type", "user-defined-types.form"), view=metadata)
def unknown_type() -> pl.Expr:
    """A field has a type that neither the revision nor a feature of the table defines.

    Readers fail on the table. (The type is `integer`, not `int`; examples of the protocol are wrong here, E16. Types of
    proposals need the feature of the proposal. A user-defined type needs a `sqlType`, and other members that are
    strings.)
    Fix (restore): If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last
    version before the defect, then repeat later changes with a corrected writer. Otherwise restore the log from
    backup. Do not edit or delete commit files. If a newer revision defines the type, validate with that revision.

    Conforms::
        schema_fault: null, undefined_types: null
    Violates::
        schema_fault: "unknown type", undefined_types: null
        schema_fault: null, undefined_types: ["g: geometry(OGC:CRS84)"]
    """
    return pl.col("schema_fault").eq_missing("unknown type") | pl.col("undefined_types").is_not_null()


@rule("MET004", requires="schema.decimal-range", view=metadata, fix=RESTORE_LOADABLE_TABLE)
def decimal_out_of_range() -> pl.Expr:
    """A decimal type has a precision of 0 or above 38, or a scale above its precision.

    Readers cannot represent its values and fail.

    Conforms::
        schema_fault: null
    Violates::
        schema_fault: "decimal out of range"
    """
    return pl.col("schema_fault") == "decimal out of range"


@rule("MET005", requires="metadata.partition-columns", view=metadata, fix=RESTORE_LOADABLE_TABLE)
def unknown_partition_column() -> pl.Expr:
    """The table is partitioned by a column that is not in its schema.

    Readers fail, or ignore the partition values.

    Conforms::
        unknown_partition_columns: []
    Violates::
        unknown_partition_columns: ["day"]
    """
    return pl.col("unknown_partition_columns").list.len() > 0


@rule("MET006", requires="metadata.partition-columns", view=metadata, fix=RESTORE_LOADABLE_TABLE)
def repeated_partition_column() -> pl.Expr:
    """The table is partitioned twice by the same column.

    Readers that match partition columns by position confuse them.

    Conforms::
        repeated_partition_columns: []
    Violates::
        repeated_partition_columns: ["day"]
    """
    return pl.col("repeated_partition_columns").list.len() > 0


@rule("MET007", requires="partition-values.serialization", view=metadata, divergence="S35")
def nested_partition_column() -> pl.Expr:
    """The table is partitioned by a struct, array or map column.

    The protocol defines partition values only for primitive types. Engines refuse the table or invent a format.
    Fix (rewrite): Copy the rows into a new table that is partitioned by primitive columns.

    Conforms::
        nested_partition_columns: []
    Violates::
        nested_partition_columns: ["address"]
    """
    return pl.col("nested_partition_columns").list.len() > 0


@rule("MET008", requires="schema.names-unique", view=metadata)
def repeated_column_name() -> pl.Expr:
    """Two columns of the same struct have names that are equal or differ only in case.

    Case-insensitive engines fail, or return one column for the other.
    Fix (restore): Rename one column with `ALTER TABLE t RENAME COLUMN` in a case-sensitive engine; this needs
    column mapping. Otherwise restore the version before.

    Conforms::
        repeated_columns: []
    Violates::
        repeated_columns: ["Price"]
    """
    return pl.col("repeated_columns").list.len() > 0


@rule("MET009", requires="metadata.format-parquet", view=metadata, divergence="S39")
def format_is_not_parquet() -> pl.Expr:
    """The format provider of the table is not Parquet.

    New tables must use Parquet. The protocol does not say how readers treat another provider.
    Fix (rewrite): No repair is needed for an old table that an engine still reads. Copy its rows into a new table
    before that engine is retired.

    Conforms::
        provider: parquet
    Violates::
        provider: orc
    """
    return pl.col("provider") != "parquet"


@rule("MET010", requires="metadata.schema-string", view=metadata, divergence="S21")
def lone_surrogate_in_schema() -> pl.Expr:
    """The schema string has an escaped lone surrogate.

    The grammar of JSON permits it, but no UTF-8 text can contain it. Parsers keep, replace or refuse it, so engines
    read different schemas or fail. The schema is not checked.
    Fix (restore): If an engine can load the table, rename the column or change its comment with it. Otherwise run
    `RESTORE TABLE t TO VERSION AS OF n` with the last version before the defect. The writer must not cut strings
    within a character.

    Conforms::
        schema_fault: null
        schema_fault: "not JSON"
    Violates::
        schema_fault: "lone surrogate"
    """
    return pl.col("schema_fault") == "lone surrogate"


@rule("MET011", requires="schema.void", view=metadata, divergence="S65")
def void_partition_column() -> pl.Expr:
    """A partition column has type void.

    The protocol does not define partition values of type void. Engines fail, or read null for every file.
    Fix (rewrite): Give the column a type with `CREATE OR REPLACE TABLE t PARTITIONED BY (...) AS SELECT`, or write
    the table without this partition column.

    Conforms::
        void_partition_columns: []
        void_partition_columns: null
    Violates::
        void_partition_columns: ["day"]
    """
    return pl.col("void_partition_columns").list.len() > 0


@rule("MET012", requires="log.embedded-json", view=metadata, divergence="S19", fix=WRITE_KEYS_ONCE)
def repeated_key_in_schema() -> pl.Expr:
    """The schema, or JSON in the metadata of a column, has the same key twice in one object.

    JSON parsers keep the first value or the last one, or fail. Engines read different schemas, or cannot open the table.

    Conforms::
        repeated_key: null
    Violates::
        repeated_key: "/fields/0/nullable"
    """
    return pl.col("repeated_key").is_not_null()
