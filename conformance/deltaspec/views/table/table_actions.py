"""Views over actions that describe the table: protocol, metadata, domains and transactions, as written."""

import polars as pl

from deltaspec.views.base import LOCATION_COLUMNS, STATE_COLUMNS, STATE_KINDS, Column, View
from deltaspec.views.table.iceberg import iceberg as iceberg
from deltaspec.views.table.iceberg import iceberg_v3 as iceberg_v3
from deltaspec.views.table.iceberg import nested_ids as nested_ids
from deltaspec.views.table.proposals import proposals as proposals

protocols = View(
    name="protocols",
    decided_by=STATE_KINDS,
    grain="protocol action of the validated history",
    key=(),
    columns={
        **STATE_COLUMNS,
        "min_reader_version": Column(pl.Int64, "minReaderVersion"),
        "min_writer_version": Column(pl.Int64, "minWriterVersion"),
        "reader_features": Column(pl.List(pl.String), "readerFeatures; null if absent", varies=True),
        "writer_features": Column(pl.List(pl.String), "writerFeatures; null if absent", varies=True),
        "previous_min_reader_version": Column(
            pl.Int64, "minReaderVersion of the replaced protocol; null if there is none"
        ),
        "previous_min_writer_version": Column(
            pl.Int64, "minWriterVersion of the replaced protocol; null if there is none"
        ),
        "dropped_features": Column(
            pl.List(pl.String),
            "features that the replaced protocol lists and this protocol does not support, although it must",
        ),
        "removals_judged_elsewhere": Column(
            pl.List(pl.String),
            "features that the replaced protocol lists and this protocol does not support, and whose removal other "
            "rules judge: a chapter or proposal describes it, or a feature of this protocol requires the feature",
            varies=True,
        ),
        "unlisted_used_features": Column(
            pl.List(pl.String),
            "for a protocol that starts to list features: unlisted features that the replaced protocol versions "
            "implied and that the validated history used",
        ),
        "uses_without_feature": Column(
            pl.List(pl.String),
            "`feature: use` of each column, property and domain that the preceding version had too, and whose feature "
            "this protocol does not support; without those that were unsupported before, type_widening_traces, and "
            "features that a feature of this protocol requires",
        ),
        "protected_before": Column(
            pl.Int64,
            "for a protocol that drops checkpointProtection: version up to which history must have been truncated, "
            "although the log still has an earlier commit; null otherwise",
        ),
        "type_widening_traces": Column(
            pl.List(pl.String),
            "for a protocol that drops typeWidening: columns that still record type changes, and the property of the "
            "feature if it is still set",
        ),
    },
)

features = View(
    name="features",
    decided_by=STATE_KINDS,
    grain="feature name in a list of a protocol action",
    key=(),
    columns={
        **STATE_COLUMNS,
        "feature": Column(pl.String, "feature name, as written"),
        "min_reader_version": Column(pl.Int64, "minReaderVersion of the protocol"),
        "in_reader_features": Column(pl.Boolean, "whether the feature is in readerFeatures"),
        "in_writer_features": Column(pl.Boolean, "whether the feature is in writerFeatures"),
        "occurrences": Column(
            pl.Int64, "number of occurrences in readerFeatures or writerFeatures, whichever is higher"
        ),
        "kind": Column(
            pl.String,
            "kind of feature: writer or reader-writer; null for a name that the protocol revision does not define",
        ),
        "proposed_kind": Column(
            pl.String, "kind of feature for a name of a proposal or a preview; null for other names"
        ),
        "intended_name": Column(
            pl.String, "defined feature that an unknown name is a known misspelling of; null if there is none"
        ),
        "missing_requirements": Column(
            pl.List(pl.String),
            "required features that this protocol does not support; null for a name of a proposal or a preview",
        ),
        "missing_requirements_of_proposal": Column(
            pl.List(pl.String),
            "for a name of a proposal or a preview: required features that this protocol does not support",
        ),
        "excluded_by_proposal": Column(
            pl.List(pl.String),
            "for a name of a proposal or a preview: features that this protocol supports although the proposal "
            "excludes them",
        ),
    },
)

metadata = View(
    name="metadata",
    decided_by=STATE_KINDS,
    grain="metaData action of the validated history, or protocol action that turns column mapping on or off",
    key=(),
    columns={
        **STATE_COLUMNS,
        "id": Column(pl.String, "table id"),
        "id_is_guid": Column(pl.Boolean, "whether the table id is a valid GUID"),
        "provider": Column(pl.String, "format.provider"),
        "schema_fault": Column(pl.String, "kind of the first fault in schemaString; null if there is none"),
        "repeated_key": Column(
            pl.String,
            "JSON pointer of the first key that occurs twice in an object of schemaString, or of JSON in the metadata "
            "of a column",
            shown=True,
        ),
        "schema_fault_pointer": Column(pl.String, "location and description of that fault", shown=True),
        "undefined_types": Column(
            pl.List(pl.String),
            "`column: type` of columns whose type neither the revision nor a feature of the table defines, and that "
            "were defined, or not there, in the preceding version; null in rows of the complete metadata",
        ),
        "partition_columns": Column(pl.List(pl.String), "partitionColumns"),
        "unknown_partition_columns": Column(pl.List(pl.String), "partition columns that are not in the schema"),
        "repeated_partition_columns": Column(pl.List(pl.String), "partition columns that are listed more than once"),
        "nested_partition_columns": Column(pl.List(pl.String), "partition columns of struct, array or map type"),
        "repeated_columns": Column(
            pl.List(pl.String), "paths of fields whose names differ only in case from another field of the same struct"
        ),
        "max_column_id": Column(pl.Int64, "value of delta.columnMapping.maxColumnId; null if column mapping is off"),
        "max_column_id_before": Column(
            pl.Int64, "highest earlier value of the property in the validated history; null if column mapping was off"
        ),
        "max_used_column_id": Column(pl.Int64, "highest column id in the schema; null if column mapping is off"),
        "column_mapping_mode": Column(pl.String, "column mapping mode: id or name; null if off"),
        "column_mapping_mode_before": Column(
            pl.String, "column_mapping_mode of the preceding version; null if it was off or is not known"
        ),
        "void_partition_columns": Column(pl.List(pl.String), "partition columns of type void"),
    },
)

schema_fields = View(
    name="schema_fields",
    decided_by=STATE_KINDS,
    grain="field of the schema, including nested fields, at each version in which the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "column": Column(pl.String, "logical column path, segments joined by dots"),
        "type": Column(pl.String, "type name in the schema; struct, array or map for nested types"),
        "nullable": Column(pl.Boolean, "nullable of the field"),
        "void_without_null": Column(
            pl.String,
            "what has type void but cannot be null: `column`, `element`, `key` or `value`; null if nothing has",
        ),
        "column_mapping_mode": Column(pl.String, "column mapping mode: id or name; null if off"),
        "column_id": Column(pl.Int64, "value of delta.columnMapping.id"),
        "physical_name": Column(pl.String, "value of delta.columnMapping.physicalName"),
        "fields_with_column_id": Column(
            pl.Int64, "number of fields in the schema with this column id; null without one"
        ),
        "fields_with_physical_path": Column(pl.Int64, "number of fields in the schema with this physical path"),
        "shares_physical_name": Column(
            pl.Boolean,
            "whether a field of another struct has the same physical name, although it was assigned under column "
            "mapping "
            "and does not equal a logical name; false if name_was_reused",
        ),
        "physical_name_before": Column(
            pl.String,
            "for a column whose physical name changed: earlier physical name of its column id; null otherwise",
        ),
        "path_was_reused": Column(
            pl.Boolean, "for a new column id: whether another id had the same physical path in the validated history"
        ),
        "name_was_reused": Column(
            pl.Boolean, "for a new column id: whether another id had the same physical name in the validated history"
        ),
        "unsupported_feature": Column(
            pl.String,
            "feature that the type requires and the table does not support, if the version introduces the use; "
            "null if there is none",
        ),
        "unsupported_keys": Column(
            pl.List(pl.String),
            "metadata keys of features that the table does not support, if the version introduces them",
        ),
        "collation_fault": Column(
            pl.String, "why the collations of the field are invalid; null if they are valid or absent"
        ),
        "invariant_fault": Column(
            pl.String, "why delta.invariants is invalid; null if it is valid, absent, or the feature is not supported"
        ),
        "identity_fault": Column(
            pl.String,
            "why the identity properties are invalid; null if they are valid, absent, or the feature is not supported",
        ),
        "identity_mark_is_in_sequence": Column(
            pl.Boolean,
            "whether delta.identity.highWaterMark is start plus a multiple of step; null if one of them is missing",
        ),
    },
)

configuration = View(
    name="configuration",
    decided_by=STATE_KINDS,
    grain="table property, at each version in which it changed, or in which a schema changed its validity",
    key=(),
    columns={
        **STATE_COLUMNS,
        "property": Column(pl.String, "name of the property", shown=True),
        "value": Column(pl.String, "property value; null if this version removed the property", shown=True),
        "value_before": Column(pl.String, "previous value; null if the property was not set"),
        "value_fault": Column(
            pl.String, "why the value of a property defined by the protocol is invalid; null if it is valid"
        ),
        "undefined_value": Column(
            pl.String, "why the revision does not define what the value means; null if it does, or for other properties"
        ),
        "fault_by_proposal": Column(
            pl.String, "why a proposal forbids the value of a property that it defines; null if it does not"
        ),
        "value_warning": Column(
            pl.String, "why writers should not use the value, although it is not invalid; null if they may"
        ),
        "unsupported_feature": Column(
            pl.String,
            "feature that the value requires and the table does not support, if the version introduces the use; "
            "null if there is none",
        ),
        "intended_name": Column(pl.String, "property that the name is a known misspelling of; null if there is none"),
        "name_in_other_case": Column(
            pl.String,
            "for a name that begins with `delta.` in any case: defined name, or other property of the table, that "
            "differs from it only in case; null if there is none",
        ),
        "constraint_fault": Column(
            pl.String, "for a CHECK constraint: `no name`, or `no condition: ` and the reason; null if it is valid"
        ),
    },
)

domains = View(
    name="domains",
    decided_by=STATE_KINDS | {"domainMetadata"},
    grain="domainMetadata action of the validated history",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "domain": Column(pl.String, "domain name", shown=True),
        "removed": Column(pl.Boolean, "whether the action removes the domain"),
        "configuration": Column(pl.String, "domain configuration, as written"),
        "supported": Column(pl.Boolean, "whether domainMetadata is supported at that version; null if unknown"),
        "known_system_domain": Column(
            pl.Boolean,
            "for a name that begins with `delta.`: whether the protocol or a proposal defines it; null for other names",
        ),
        "repeated_key": Column(
            pl.String, "JSON pointer of the first key of the configuration of a system domain that occurs twice"
        ),
        "configuration_fault": Column(
            pl.String, "why the configuration of a live domain defined by the protocol is invalid; null if it is valid"
        ),
        "further_key": Column(
            pl.String, "first key in the configuration of a live delta.rowTracking next to the high-water mark"
        ),
        "fault_by_proposal": Column(
            pl.String, "why a proposal forbids the configuration of a live domain that it defines; null if it does not"
        ),
        "configuration_before": Column(
            pl.String, "previous configuration of the domain in the validated history; null if it was not live"
        ),
        "unsupported_feature": Column(
            pl.String,
            "for a live domain: feature that it requires and the table does not support; null if there is none",
        ),
        "confusable_with": Column(
            pl.String,
            "for a user domain: live domain or reserved prefix that differs only in case; `nothing` for an empty name; "
            "null if there is none",
        ),
    },
)

clustering = View(
    name="clustering",
    decided_by=STATE_KINDS | {"domainMetadata"},
    grain="clustering of a table that supports it, at each version in which the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "has_domain": Column(pl.Boolean, "whether the table has delta.clustering; null if it supports no domains"),
        "clustering_columns": Column(pl.List(pl.String), "columns in delta.clustering, path segments joined by dots"),
        "unknown_clustering_columns": Column(
            pl.List(pl.String),
            "clustering columns that are not in the schema by physical path; in r3 by neither path",
        ),
        "logically_named_clustering_columns": Column(
            pl.List(pl.String),
            "clustering columns named by the logical path of a field although physical paths are required",
        ),
        "partition_columns": Column(pl.List(pl.String), "partitionColumns"),
        "column_mapping_mode": Column(pl.String, "column mapping mode: id or name; null if off"),
    },
)

transactions = View(
    name="transactions",
    decided_by=STATE_KINDS,
    grain="txn action of the validated history",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "app_id": Column(pl.String, "appId"),
        "app_version": Column(pl.Int64, "version of the application's transaction"),
        "app_version_before": Column(
            pl.Int64, "previously recorded version of the application; null if there was none"
        ),
        "last_updated": Column(pl.Int64, "lastUpdated, milliseconds since the epoch"),
    },
)

constraint_columns = View(
    name="constraint_columns",
    decided_by=STATE_KINDS,
    grain="CHECK constraint in effect, or generation expression or invariant in effect of a top-level column, at each "
    "version in which the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "kind": Column(pl.String, "kind of expression: CHECK, generated or invariant"),
        "constraint": Column(pl.String, "name of the constraint, or of the column", shown=True),
        "expression": Column(pl.String, "SQL expression, as written", shown=True),
        "missing_columns": Column(
            pl.List(pl.String),
            "columns of the expression that are not in the schema, segments joined by dots; empty if a CHECK "
            "constraint is no condition, null if it cannot be parsed",
        ),
    },
)
