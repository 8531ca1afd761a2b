"""Views over what the log says of the table as a whole, each action as written at its version."""

import polars as pl

from deltaspec.views.base import LOCATION_COLUMNS, Column, View
from deltaspec.views.table.iceberg import iceberg as iceberg
from deltaspec.views.table.iceberg import nested_ids as nested_ids

protocols = View(
    name="protocols",
    grain="protocol action of the judged history",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "min_reader_version": Column(pl.Int64, "minReaderVersion"),
        "min_writer_version": Column(pl.Int64, "minWriterVersion"),
        "reader_features": Column(pl.List(pl.String), "readerFeatures; null where absent"),
        "writer_features": Column(pl.List(pl.String), "writerFeatures; null where absent"),
        "previous_min_reader_version": Column(pl.Int64, "minReaderVersion of the protocol it replaces"),
        "previous_min_writer_version": Column(pl.Int64, "minWriterVersion of the protocol it replaces"),
        "dropped_features": Column(
            pl.List(pl.String), "features that the replaced protocol lists and this does not support"
        ),
        "unlisted_used_features": Column(
            pl.List(pl.String),
            "of a protocol that begins to list features: those that the versions before stood for, that a version of "
            "the judged history used, and that are not listed",
        ),
        "type_widening_traces": Column(
            pl.List(pl.String),
            "of a protocol that drops typeWidening: columns that record changes of their type, and the property of the "
            "feature, where this version has them",
        ),
    },
)

features = View(
    name="features",
    grain="feature name in the lists of a protocol action",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "feature": Column(pl.String, "name as written"),
        "min_reader_version": Column(pl.Int64, "minReaderVersion of that protocol"),
        "in_reader_features": Column(pl.Boolean, "stands in readerFeatures"),
        "in_writer_features": Column(pl.Boolean, "stands in writerFeatures"),
        "occurrences": Column(pl.Int64, "how often it stands in the list in which it stands most often"),
        "kind": Column(pl.String, "writer or reader-writer; null for a name that the judged text does not know"),
        "intended_name": Column(pl.String, "the feature that an unknown name is a known misspelling of"),
        "missing_requirements": Column(
            pl.List(pl.String), "features that it requires and that this protocol does not support"
        ),
    },
)

metadata = View(
    name="metadata",
    grain="metaData action of the judged history",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "id": Column(pl.String, "id"),
        "id_is_guid": Column(pl.Boolean, "id has the form of a GUID"),
        "provider": Column(pl.String, "format.provider"),
        "schema_fault": Column(pl.String, "kind of the first fault of schemaString; null where it has none"),
        "schema_fault_pointer": Column(pl.String, "where in the schema that fault is, and what it is", shown=True),
        "partition_columns": Column(pl.List(pl.String), "partitionColumns"),
        "unknown_partition_columns": Column(pl.List(pl.String), "partition columns that the schema does not have"),
        "repeated_partition_columns": Column(pl.List(pl.String), "partition columns that stand twice"),
        "nested_partition_columns": Column(pl.List(pl.String), "partition columns of struct, array or map type"),
        "repeated_columns": Column(
            pl.List(pl.String), "field paths that equal another one of the same struct but for case"
        ),
        "max_column_id": Column(pl.Int64, "delta.columnMapping.maxColumnId; null where column mapping is off"),
        "max_column_id_before": Column(
            pl.Int64, "the highest that the property was in the judged history before; null where mapping was off"
        ),
        "max_used_column_id": Column(pl.Int64, "highest column id in the schema; null where column mapping is off"),
        "column_mapping_mode": Column(pl.String, "id or name; null where column mapping is off"),
    },
)

schema_fields = View(
    name="schema_fields",
    grain="field of a schema of the judged history, nested ones too",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "column": Column(pl.String, "logical field path, segments joined by dots"),
        "type": Column(pl.String, "type name as the schema spells it; struct, array or map for nested types"),
        "nullable": Column(pl.Boolean, "nullable"),
        "column_mapping_mode": Column(pl.String, "id or name; null where column mapping is off"),
        "column_id": Column(pl.Int64, "delta.columnMapping.id"),
        "physical_name": Column(pl.String, "delta.columnMapping.physicalName"),
        "fields_with_column_id": Column(pl.Int64, "fields of the schema that have this column id"),
        "fields_with_physical_path": Column(pl.Int64, "fields of the schema that have this physical path"),
        "shares_physical_name": Column(
            pl.Boolean,
            "a field below another parent has this physical name, neither is new beside the other, and no field that "
            "has it bears it as its name as well",
        ),
        "physical_name_before": Column(
            pl.String, "for a column whose physical name changed: the one that its id had in the judged history before"
        ),
        "path_was_reused": Column(
            pl.Boolean, "for a column whose id is new: the judged history knows its physical path by another id"
        ),
        "name_was_reused": Column(
            pl.Boolean, "for a column whose id is new: the judged history knows its physical name by another id"
        ),
        "unsupported_feature": Column(
            pl.String, "feature that the type needs and the protocol of that version does not support"
        ),
        "unsupported_keys": Column(
            pl.List(pl.String), "keys of its metadata that belong to a feature that the table does not support"
        ),
        "invariant_fault": Column(
            pl.String, "what is wrong with delta.invariants; null where the feature is not supported"
        ),
        "identity_fault": Column(
            pl.String,
            "what is wrong with the properties of an identity column; null where the feature is not supported",
        ),
        "identity_mark_is_in_sequence": Column(
            pl.Boolean, "delta.identity.highWaterMark is start plus a multiple of step; null where one is not given"
        ),
    },
)

configuration = View(
    name="configuration",
    grain="entry of a configuration, at each version where it changed",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "property": Column(pl.String, "name of the property"),
        "value": Column(pl.String, "its value; null where this version took it away"),
        "value_before": Column(pl.String, "its value before; null where it was not set"),
        "value_fault": Column(pl.String, "what is wrong with the value of a property that the text defines"),
        "value_warning": Column(pl.String, "why writers are not to take the value, though none has to refuse it"),
        "unsupported_feature": Column(
            pl.String, "feature that this value relies on and that the protocol of that version does not support"
        ),
        "intended_name": Column(pl.String, "the property that this name is a known misspelling of"),
        "constraint_fault": Column(
            pl.String, "for a CHECK constraint that is none: `no name`, or `no condition: ` and why"
        ),
    },
)

domains = View(
    name="domains",
    grain="domainMetadata action of the judged history",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "domain": Column(pl.String, "domain", shown=True),
        "removed": Column(pl.Boolean, "removed"),
        "configuration": Column(pl.String, "configuration"),
        "supported": Column(pl.Boolean, "domainMetadata is supported at that version"),
        "known_system_domain": Column(
            pl.Boolean, "for names that begin with `delta.`: the text or a proposal defines it"
        ),
        "configuration_fault": Column(
            pl.String, "what is wrong with the configuration of a live domain that the text defines"
        ),
        "configuration_before": Column(
            pl.String, "the configuration that the domain had in the judged history before; null where it was not live"
        ),
        "unsupported_feature": Column(
            pl.String,
            "for a domain that a commit writes: the feature that it belongs to and that the table does not support",
        ),
        "confusable_with": Column(
            pl.String,
            "for a user's domain: the live domain, or the reserved prefix, that its name equals but for case; or "
            "`nothing`, where the name is empty",
        ),
    },
)

clustering = View(
    name="clustering",
    grain="clustering of the table, at each version where its columns, the schema or the partitioning may have changed",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "clustering_columns": Column(
            pl.List(pl.String), "columns that delta.clustering names, path segments joined by dots"
        ),
        "unknown_clustering_columns": Column(
            pl.List(pl.String),
            "those that are no field of the schema, under column mapping by their physical path; in r3 by neither path",
        ),
        "logically_named_clustering_columns": Column(
            pl.List(pl.String), "those that are the logical path of a field, where physical ones are in force"
        ),
        "partition_columns": Column(pl.List(pl.String), "partitionColumns"),
        "column_mapping_mode": Column(pl.String, "id or name; null where column mapping is off"),
    },
)

transactions = View(
    name="transactions",
    grain="txn action of the judged history",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "app_id": Column(pl.String, "appId"),
        "app_version": Column(pl.Int64, "version, as the application counts"),
        "app_version_before": Column(pl.Int64, "the version recorded before; null where there was none"),
        "last_updated": Column(pl.Int64, "lastUpdated, milliseconds since the epoch"),
    },
)

constraint_columns = View(
    name="constraint_columns",
    grain="CHECK constraint in force at each version that states the metadata or the protocol",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "constraint": Column(pl.String, "name of the constraint", shown=True),
        "expression": Column(pl.String, "the SQL as written", shown=True),
        "missing_columns": Column(
            pl.List(pl.String),
            "columns that it speaks of and the schema lacks, with dots; null where it is no SQL that the kit reads",
        ),
    },
)
