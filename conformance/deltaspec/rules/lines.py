"""Rules over lines of the log as written. Source: chapters Delta Log Entries and Actions."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import lines


@rule("LIN001", requires="log.commit-lines", view=lines)
def line_is_not_json() -> pl.Expr:
    """A line of the log is not a JSON object.

    Readers fail on the whole version, or skip the line and lose what it said.
    Fix: restore the file from a backup; a commit cut short by a failed upload must not be repaired by hand.

    Conforms::
        json_error: null
    Violates::
        json_error: "expecting value at character 0"
    """
    return pl.col("json_error").is_not_null()


@rule("LIN002", requires=("log.one-action-a-line", "compaction.one-action-a-line"), view=lines)
def several_actions_in_a_line() -> pl.Expr:
    """A line of the log holds more than one action.

    Readers that take the first key they know lose the others.
    Fix: the writer must put each action on a line of its own.

    Conforms::
        actions: 1
        actions: 0
    Violates::
        actions: 2
    """
    return pl.col("actions") > 1


@rule("LIN003", requires="log.one-action-a-line", view=lines, divergence="S21")
def line_without_action() -> pl.Expr:
    """A line of the log is an object that holds no action: empty, or a null.

    The text asks for one action a line and does not name the case; some readers fail on it.
    Fix: the writer must not write the line.

    Conforms::
        actions: 1, unexpected_whitespace: null, json_error: null
        actions: 0, unexpected_whitespace: "blank line", json_error: null
    Violates::
        actions: 0, unexpected_whitespace: null, json_error: null
    """
    is_object = pl.col("unexpected_whitespace").fill_null("").ne("blank line") & pl.col("json_error").is_null()
    return (pl.col("actions") == 0) & is_object


@rule("LIN004", requires="log.commit-lines", view=lines, divergence="S19")
def repeated_key() -> pl.Expr:
    """An object in the log has the same key twice.

    JSON parsers keep the first or the last value, or refuse: engines read different tables.
    Fix: the writer must write each key once.

    Conforms::
        repeated_key: null
    Violates::
        repeated_key: "/add/size"
    """
    return pl.col("repeated_key").is_not_null()


@rule("LIN005", requires="log.commit-lines", view=lines, divergence="S21")
def unexpected_whitespace() -> pl.Expr:
    """A line of the log is blank, or has a byte order mark or a carriage return.

    The text is silent; most readers tolerate it, some fail.
    Fix: write one action a line, each ended by a line feed alone.

    Conforms::
        unexpected_whitespace: null
    Violates::
        unexpected_whitespace: "blank line"
    """
    return pl.col("unexpected_whitespace").is_not_null()


@rule("LIN006", requires="log.commit-lines", view=lines, divergence="S21")
def lone_surrogate_in_line() -> pl.Expr:
    """A line of the log escapes half of a surrogate pair.

    JSON's grammar admits it, but no UTF-8 holds what it stands for: parsers keep, replace or refuse it, so that engines
    read different values, or fail on the version. What a known action says in such a line is not checked.
    Fix: the writer must escape whole characters; text is best cut between characters.

    Conforms::
        has_lone_surrogate: false
    Violates::
        has_lone_surrogate: true
    """
    return pl.col("has_lone_surrogate")


def _malformed(kind: str) -> pl.Expr:
    return (pl.col("kind") == kind) & pl.col("schema_error").is_not_null()


@rule("LIN010", requires=("add.fields", "add.optional-fields"), view=lines)
def malformed_add() -> pl.Expr:
    """An add action lacks a required field, or a field has a value of the wrong type.

    Readers fail on the version, or take a default and read another table.
    Fix: the writer must write every required field of add with the type that the text gives.

    Conforms::
        kind: add, schema_error: null
    Violates::
        kind: add, schema_error: "size is the text '12', should be integer"
    """
    return _malformed("add")


@rule("LIN011", requires=("remove.fields", "remove.optional-fields"), view=lines)
def malformed_remove() -> pl.Expr:
    """A remove action lacks a required field, or a field has a value of the wrong type.

    Readers fail on the version, or keep a file that is gone.
    Fix: the writer must write every required field of remove with the type that the text gives.

    Conforms::
        kind: remove, schema_error: null
    Violates::
        kind: remove, schema_error: "path missing"
    """
    return _malformed("remove")


@rule("LIN012", requires=("cdc.fields", "cdc.optional-fields"), view=lines)
def malformed_cdc() -> pl.Expr:
    """A cdc action lacks a required field, or a field has a value of the wrong type.

    Readers of change data fail on the version or miss changes.
    Fix: the writer must write every required field of cdc with the type that the text gives.

    Conforms::
        kind: cdc, schema_error: null
    Violates::
        kind: cdc, schema_error: "partitionValues missing"
    """
    return _malformed("cdc")


@rule("LIN013", requires=("metadata.fields", "metadata.field-types", "metadata.optional-fields"), view=lines)
def malformed_metadata() -> pl.Expr:
    """A metaData action lacks a required field, or a field has a value of the wrong type.

    The table has no schema that all readers agree on.
    Fix: commit a metaData with every required field.

    Conforms::
        kind: metaData, schema_error: null
    Violates::
        kind: metaData, schema_error: "schemaString missing"
    """
    return _malformed("metaData")


@rule("LIN014", requires=("protocol.fields", "protocol.feature-lists", "protocol.field-names"), view=lines)
def malformed_protocol() -> pl.Expr:
    """A protocol action lacks a required field, or a field has a value of the wrong type.

    Clients cannot tell whether they may read the table. (Two examples of the text itself print `readerVersion` for
    `minReaderVersion`, E01.)
    Fix: commit a protocol with minReaderVersion and minWriterVersion.

    Conforms::
        kind: protocol, schema_error: null
    Violates::
        kind: protocol, schema_error: "minReaderVersion, minWriterVersion missing"
    """
    return _malformed("protocol")


@rule("LIN015", requires=("transaction.fields", "transaction.last-updated"), view=lines)
def malformed_txn() -> pl.Expr:
    """A txn action lacks a required field, or a field has a value of the wrong type.

    The application cannot tell what it has already written: data is repeated or lost.
    Fix: the writer must write appId and version.

    Conforms::
        kind: txn, schema_error: null
    Violates::
        kind: txn, schema_error: "version is the text 'x', should be integer"
    """
    return _malformed("txn")


@rule("LIN016", requires=("domain.fields", "domain.configuration-string", "domain.configuration-map"), view=lines)
def malformed_domain_metadata() -> pl.Expr:
    """A domainMetadata action lacks a required field, or a field has a value of the wrong type.

    Readers of the domain fail, or take it for unset.
    Fix: the writer must write domain, configuration (a string; before r3 a map of strings) and removed.

    Conforms::
        kind: domainMetadata, schema_error: null
    Violates::
        kind: domainMetadata, schema_error: "configuration is an object {}, should be string"
    """
    return _malformed("domainMetadata")


@rule("LIN017", requires="commit-info.known-fields", view=lines)
def malformed_commit_info() -> pl.Expr:
    """A field of commitInfo that the text gives a meaning has a value of the wrong type.

    Provenance is free JSON, but clients rely on inCommitTimestamp and txnId.
    Fix: the writer must write inCommitTimestamp as an integer and txnId as a string.

    Conforms::
        kind: commitInfo, schema_error: null
    Violates::
        kind: commitInfo, schema_error: "inCommitTimestamp is the number 1.5, should be of another type"
    """
    return _malformed("commitInfo")


@rule("LIN020", requires=("row-id-mark.fields", "row-id-mark.preserved"), view=lines)
def malformed_row_id_high_water_mark() -> pl.Expr:
    """A rowIdHighWaterMark action lacks a required field, or a field has a value of the wrong type.

    The next writer does not know where to go on, and gives row ids away again.
    Fix: the writer must write highWaterMark (a long), and by the oldest text preservedRowIds (a boolean).

    Conforms::
        kind: rowIdHighWaterMark, schema_error: null
    Violates::
        kind: rowIdHighWaterMark, schema_error: "highWaterMark missing"
    """
    return _malformed("rowIdHighWaterMark")


@rule("LIN018", requires=("checkpoint-metadata.fields", "checkpoint-metadata.tags"), view=lines)
def malformed_checkpoint_metadata() -> pl.Expr:
    """A checkpointMetadata action lacks its version, or a field has a value of the wrong type.

    Readers of the checkpoint fail or take it for one of another version.
    Fix: write the checkpoint anew.

    Conforms::
        kind: checkpointMetadata, schema_error: null
    Violates::
        kind: checkpointMetadata, schema_error: "version missing"
    """
    return _malformed("checkpointMetadata")


@rule("LIN019", requires=("sidecar.fields", "sidecar.tags"), view=lines)
def malformed_sidecar() -> pl.Expr:
    """A sidecar action lacks a required field, or a field has a value of the wrong type.

    Readers of the checkpoint fail, or miss the files that the sidecar lists.
    Fix: write the checkpoint anew.

    Conforms::
        kind: sidecar, schema_error: null
    Violates::
        kind: sidecar, schema_error: "sizeInBytes missing"
    """
    return _malformed("sidecar")
