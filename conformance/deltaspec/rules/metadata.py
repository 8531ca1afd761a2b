"""Rules over metaData actions. Source: chapters Change Metadata and Schema Serialization Format."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.table.table_actions import metadata


@rule("MET001", requires="metadata.id-is-guid", view=metadata)
def table_id_is_not_guid() -> pl.Expr:
    """The id of a table is not a GUID.

    Clients and catalogs use it to tell tables apart; a made-up word collides.
    Fix: commit a metaData with a GUID as id.

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
)
def malformed_schema() -> pl.Expr:
    """The schema string is not a schema: no JSON, no struct, or a part of it lacks what it must have.

    Readers fail on the table.
    Fix: commit a metaData with a sound schema.

    Conforms::
        schema_fault: null
        schema_fault: "unknown type"
    Violates::
        schema_fault: "not JSON"
        schema_fault: malformed
    """
    return pl.col("schema_fault").is_in(["not JSON", "not a struct", "malformed"])


@rule("MET003", requires=("schema.primitive-types", "schema.variant-type"), view=metadata)
def unknown_type() -> pl.Expr:
    """A field has a type that the text does not define.

    Readers fail on the table. (The type is `integer`, not `int`; the text's own examples get this wrong, E16.)
    Fix: commit a metaData with the name of the type as the text spells it.

    Conforms::
        schema_fault: null
    Violates::
        schema_fault: "unknown type"
    """
    return pl.col("schema_fault") == "unknown type"


@rule("MET004", requires="schema.decimal-range", view=metadata)
def decimal_out_of_range() -> pl.Expr:
    """A decimal type has a precision beyond 38, or a scale beyond its precision.

    No reader can hold its values.
    Fix: commit a metaData with a precision from 1 to 38 and a scale from 0 to the precision.

    Conforms::
        schema_fault: null
    Violates::
        schema_fault: "decimal out of range"
    """
    return pl.col("schema_fault") == "decimal out of range"


@rule("MET005", requires="metadata.partition-columns", view=metadata)
def unknown_partition_column() -> pl.Expr:
    """The table is partitioned by a column that its schema does not have.

    Readers fail, or have values of a column that nobody can ask for.
    Fix: commit a metaData whose partition columns stand in the schema.

    Conforms::
        unknown_partition_columns: []
    Violates::
        unknown_partition_columns: ["day"]
    """
    return pl.col("unknown_partition_columns").list.len() > 0


@rule("MET006", requires="metadata.partition-columns", view=metadata)
def repeated_partition_column() -> pl.Expr:
    """The table is partitioned twice by one column.

    Readers that map partition columns by position mix them up.
    Fix: commit a metaData that names each partition column once.

    Conforms::
        repeated_partition_columns: []
    Violates::
        repeated_partition_columns: ["day"]
    """
    return pl.col("repeated_partition_columns").list.len() > 0


@rule("MET007", requires="partition-values.serialization", view=metadata, divergence="S35")
def nested_partition_column() -> pl.Expr:
    """The table is partitioned by a column of struct, array or map type.

    The text says how to write partition values of primitive types only; engines refuse or invent a form.
    Fix: partition by a primitive column.

    Conforms::
        nested_partition_columns: []
    Violates::
        nested_partition_columns: ["address"]
    """
    return pl.col("nested_partition_columns").list.len() > 0


@rule("MET008", requires="schema.names-unique", view=metadata)
def repeated_column_name() -> pl.Expr:
    """Two columns of one struct have names that differ at most in case.

    Engines that ignore case cannot tell them apart: they fail, or return one for the other.
    Fix: rename one of them.

    Conforms::
        repeated_columns: []
    Violates::
        repeated_columns: ["Price"]
    """
    return pl.col("repeated_columns").list.len() > 0


@rule("MET009", requires="metadata.format-parquet", view=metadata, divergence="S39")
def format_is_not_parquet() -> pl.Expr:
    """The format of the data files is not Parquet.

    New tables are always of Parquet; what a reader does with another provider is not said.
    Fix: none for an old table that some engine still reads.

    Conforms::
        provider: parquet
    Violates::
        provider: orc
    """
    return pl.col("provider") != "parquet"
