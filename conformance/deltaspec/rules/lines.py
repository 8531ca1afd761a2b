"""Rules over lines of the log. Source: chapters Delta Log Entries and Actions."""

import polars as pl

from deltaspec.rules.fixes import RESTORE_LOADABLE_TABLE, REWRITE_CHECKPOINT, WRITE_PROTOCOL
from deltaspec.rules.registry import rule
from deltaspec.views.log.log_files import lines


@rule("LIN001", requires="log.commit-lines", view=lines)
def line_is_not_json() -> pl.Expr:
    """A line of the log is not a JSON object.

    Readers fail on the version, or skip the line and lose its action.
    Fix (restore): Restore the commit file from backup. Do not repair an incomplete commit by hand: actions after
    the damaged line may be lost too.

    Conforms::
        json_error: null
    Violates::
        json_error: "expecting value at character 0"
    """
    return pl.col("json_error").is_not_null()


@rule("LIN002", requires=("log.one-action-a-line", "compaction.one-action-a-line"), view=lines)
def several_actions_in_a_line() -> pl.Expr:
    """A line of the log contains more than one action.

    Readers that take the first key they know lose the other actions.
    Fix (restore): If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last
    version before the defect, then repeat later changes with a corrected writer. Otherwise restore the log from
    backup. Do not edit or delete commit files. The writer must write each action on its own line.

    Conforms::
        known_actions: 1
        known_actions: 0
    Violates::
        known_actions: 2
    """
    return pl.col("known_actions") > 1


@rule("LIN009", requires=("log.one-action-a-line", "compaction.one-action-a-line"), view=lines, warning=True)
def unrecognized_key_in_line() -> pl.Expr:
    """A line of the log has a key that names no action, next to another key.

    A line wraps exactly one action, but clients must ignore fields that they do not recognize and should not fail on
    them. Engines ignore the key; the known action of the line is checked as usual.
    Fix (none): No repair is needed. Do not edit the commit file. The writer must put additional information into
    fields of the action or into `commitInfo`.

    Conforms::
        unrecognized_key: null
    Violates::
        unrecognized_key: "checksum"
    """
    return pl.col("unrecognized_key").is_not_null()


@rule("LIN003", requires="log.one-action-a-line", view=lines, divergence="S21")
def line_without_action() -> pl.Expr:
    """A line of the log is an object without an action.

    The protocol requires one action for each line and does not mention empty objects or null. Some readers fail on
    them.
    Fix (none): No repair is needed if your readers accept the line. Fix the writer; do not edit the commit file.

    Conforms::
        actions: 1, unexpected_whitespace: null, json_error: null
        actions: 0, unexpected_whitespace: "blank line", json_error: null
        actions: 0, unexpected_whitespace: null, json_error: "unexpected end of data"
    Violates::
        actions: 0, unexpected_whitespace: null, json_error: null
    """
    is_object = pl.col("unexpected_whitespace").fill_null("").ne("blank line") & pl.col("json_error").is_null()
    return (pl.col("actions") == 0) & is_object


@rule("LIN004", requires="log.commit-lines", view=lines, divergence="S19")
def repeated_key() -> pl.Expr:
    """A JSON object in the log has the same key twice.

    JSON parsers keep the first value or the last one, or fail. Engines read different tables.
    Fix (restore): If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last
    version before the defect, then repeat later changes with a corrected writer. Otherwise restore the log from
    backup. Do not edit or delete commit files. The writer must write each key once.

    Conforms::
        repeated_key: null
    Violates::
        repeated_key: "/add/size"
    """
    return pl.col("repeated_key").is_not_null()


@rule("LIN005", requires="log.commit-lines", view=lines, divergence="S21")
def unexpected_whitespace() -> pl.Expr:
    """A line of the log is blank, or has a byte order mark or a carriage return.

    The protocol does not mention these characters. Most readers accept them, some fail.
    Fix (none): No repair is needed if your readers accept the file. The writer must end each action with a line
    feed and write nothing else.

    Conforms::
        unexpected_whitespace: null
    Violates::
        unexpected_whitespace: "blank line"
    """
    return pl.col("unexpected_whitespace").is_not_null()


@rule("LIN006", requires="log.commit-lines", view=lines, divergence="S21")
def lone_surrogate_in_line() -> pl.Expr:
    """A line of the log has a lone surrogate.

    The grammar of JSON permits it, but no UTF-8 text can contain it. Parsers keep, replace or refuse it, so engines
    read different values or fail. Known actions in such a line are not checked.
    Fix (restore): If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last
    version before the defect, then repeat later changes with a corrected writer. Otherwise restore the log from
    backup. Do not edit or delete commit files. The writer must not cut strings within a character.

    Conforms::
        has_lone_surrogate: false
    Violates::
        has_lone_surrogate: true
    """
    return pl.col("has_lone_surrogate")


def _malformed(kind: str) -> pl.Expr:
    return (pl.col("kind") == kind) & pl.col("schema_error").is_not_null()


@rule("LIN010", requires=("add.fields", "add.optional-fields"), view=lines, fix=RESTORE_LOADABLE_TABLE)
def malformed_add() -> pl.Expr:
    """An add action has a missing required field or a field of the wrong type.

    Readers fail on the version, or use a default and read another table.

    Conforms::
        kind: add, schema_error: null
    Violates::
        kind: add, schema_error: "size is the text '12', should be integer"
    """
    return _malformed("add")


@rule("LIN011", requires=("remove.fields", "remove.optional-fields"), view=lines, fix=RESTORE_LOADABLE_TABLE)
def malformed_remove() -> pl.Expr:
    """A remove action has a missing required field or a field of the wrong type.

    Readers fail on the version, or keep a file that was removed.

    Conforms::
        kind: remove, schema_error: null
    Violates::
        kind: remove, schema_error: "path missing"
    """
    return _malformed("remove")


@rule("LIN012", requires=("cdc.fields", "cdc.optional-fields"), view=lines)
def malformed_cdc() -> pl.Expr:
    """A cdc action has a missing required field or a field of the wrong type.

    Readers of the change data feed fail on the version, or miss changes.
    Fix (rewrite): Fix the writer. Reload downstream consumers from a snapshot and read the feed from a later
    version; the table's rows are not affected.

    Conforms::
        kind: cdc, schema_error: null
    Violates::
        kind: cdc, schema_error: "partitionValues missing"
    """
    return _malformed("cdc")


@rule(
    "LIN013",
    requires=("metadata.fields", "metadata.field-types", "metadata.optional-fields"),
    view=lines,
    fix=RESTORE_LOADABLE_TABLE,
)
def malformed_metadata() -> pl.Expr:
    """A metaData action has a missing required field or a field of the wrong type.

    Readers fail, or disagree on the schema of the table.

    Conforms::
        kind: metaData, schema_error: null
    Violates::
        kind: metaData, schema_error: "schemaString missing"
    """
    return _malformed("metaData")


@rule(
    "LIN014",
    requires=("protocol.fields", "protocol.feature-lists", "protocol.field-names"),
    view=lines,
    fix=WRITE_PROTOCOL,
)
def malformed_protocol() -> pl.Expr:
    """A protocol action has a missing required field or a field of the wrong type.

    Clients cannot determine whether they may read the table. (Two examples of the protocol print `readerVersion` for
    `minReaderVersion`, E01.)

    Conforms::
        kind: protocol, schema_error: null
    Violates::
        kind: protocol, schema_error: "minReaderVersion, minWriterVersion missing"
    """
    return _malformed("protocol")


@rule("LIN015", requires=("transaction.fields", "transaction.last-updated"), view=lines)
def malformed_txn() -> pl.Expr:
    """A txn action has a missing required field or a field of the wrong type.

    The application cannot determine what it has already written, so it repeats or loses data.
    Fix (decide): Fix the writer: txn needs appId (string) and version (long). Check which data the stream already
    wrote before it resumes.

    Conforms::
        kind: txn, schema_error: null
    Violates::
        kind: txn, schema_error: "version is the text 'x', should be integer"
    """
    return _malformed("txn")


@rule(
    "LIN016",
    requires=("domain.fields", "domain.configuration-string", "domain.configuration-map"),
    view=lines,
    without_feature=True,
)
def malformed_domain_metadata() -> pl.Expr:
    """A domainMetadata action has a missing required field or a field of the wrong type.

    Readers of the domain fail, or treat it as missing.
    Fix (restore): If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last
    version before the defect, then repeat later changes with a corrected writer. Otherwise restore the log from
    backup. Do not edit or delete commit files. The action needs domain, configuration (a string; before r3 a map of
    strings) and removed.

    Conforms::
        kind: domainMetadata, schema_error: null
    Violates::
        kind: domainMetadata, schema_error: "configuration is an object {}, should be string"
    """
    return _malformed("domainMetadata")


@rule("LIN020", requires=("row-id-mark.fields", "row-id-mark.preserved"), view=lines, without_feature=True)
def malformed_row_id_high_water_mark() -> pl.Expr:
    """A rowIdHighWaterMark action has a missing required field or a field of the wrong type.

    The next writer does not know which row ids are used, and assigns them twice.
    Fix (restore): If an engine can still load the table, run `RESTORE TABLE t TO VERSION AS OF n` with the last
    version before the defect, then repeat later changes with a corrected writer. Otherwise restore the log from
    backup. Do not edit or delete commit files. The action needs highWaterMark (a long) and, in the oldest revision,
    preservedRowIds (a boolean).

    Conforms::
        kind: rowIdHighWaterMark, schema_error: null
    Violates::
        kind: rowIdHighWaterMark, schema_error: "highWaterMark missing"
    """
    return _malformed("rowIdHighWaterMark")


@rule("LIN018", requires=("checkpoint-metadata.fields", "checkpoint-metadata.tags"), view=lines, fix=REWRITE_CHECKPOINT)
def malformed_checkpoint_metadata() -> pl.Expr:
    """A checkpointMetadata action has no version or a field of the wrong type.

    Readers of the checkpoint fail, or take it for one of another version.

    Conforms::
        kind: checkpointMetadata, schema_error: null
    Violates::
        kind: checkpointMetadata, schema_error: "version missing"
    """
    return _malformed("checkpointMetadata")


@rule("LIN019", requires=("sidecar.fields", "sidecar.tags"), view=lines, fix=REWRITE_CHECKPOINT)
def malformed_sidecar() -> pl.Expr:
    """A sidecar action has a missing required field or a field of the wrong type.

    Readers of the checkpoint fail, or miss the files that the sidecar lists.

    Conforms::
        kind: sidecar, schema_error: null
    Violates::
        kind: sidecar, schema_error: "sizeInBytes missing"
    """
    return _malformed("sidecar")
