"""Faults in metadata: schema, column mapping, properties and protocol."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.candidates.reference.written_files import FileWriter
from deltaspec.protocol.actions import Action, MetaData, Protocol
from deltaspec.protocol.schema.data_types import Field
from deltaspec.selftest.mutants import Method, faulty_commit, mutant
from deltaspec.selftest.writers.commits import change

_NAME, _ID, _MAX_ID = (f"delta.columnMapping.{name}" for name in ("physicalName", "id", "maxColumnId"))
Fields = list[dict[str, Any]]


def _edit_fields(actions: list[Action], edit: Callable[[Fields], object]) -> list[Action]:
    """Return actions with the columns of the schema changed."""

    def edit_metadata(metadata: MetaData) -> MetaData:
        schema = json.loads(metadata.schema_string)
        edit(schema["fields"])
        return msgspec.structs.replace(metadata, schema_string=json.dumps(schema))

    return change(actions, MetaData, edit_metadata)


@mutant(Writer.check_properties, "column-mapping.max-id-internal", suites=("write",))
def column_id_set_by_users(original: Method, writer: Writer, changes: Any, metadata: MetaData) -> None:
    """Lets users set the largest column id."""


@faulty_commit("metadata.id-is-guid", origin="wr-007")
def table_ids_changed(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Gives the table another id when its schema or a property changes."""
    if transaction.before is None:
        return actions
    return change(actions, MetaData, lambda each: msgspec.structs.replace(each, id=str(uuid4())))


@faulty_commit("configuration.names", origin="wr-007")
def property_names_lowered(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes the names of properties in lower case."""
    return change(actions, MetaData, lambda each: msgspec.structs.replace(
        each, configuration={key.lower(): text for key, text in each.configuration.items()}))  # fmt: skip


@faulty_commit("generated-columns.values", origin="cm-009")
def field_metadata_lost(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Drops the metadata of all columns when a column is added."""
    if transaction.kind != "add-column":
        return actions
    return _edit_fields(actions, lambda fields: [each.update(metadata={}) for each in fields])


@faulty_commit("column-mapping.physical-name-stays")
def physical_names_renamed(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Gives a renamed column another physical name."""
    old = {} if transaction.before is None else {each.name for each in transaction.before.schema.fields}

    def edit(fields: Fields) -> None:
        for each in fields:
            if each["name"] not in old and _NAME in each["metadata"]:
                each["metadata"][_NAME] = f"col-{uuid4()}"

    return _edit_fields(actions, edit) if transaction.kind == "rename-column" else actions


@faulty_commit("column-mapping.max-column-id", "column-mapping.max-id-never-falls")
def highest_id_not_raised(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Does not raise the highest column id when a column is added."""
    if transaction.kind != "add-column" or transaction.before is None:
        return actions
    old = transaction.before.metadata.configuration.get(_MAX_ID)
    return change(actions, MetaData, lambda each: each if old is None
                  else msgspec.structs.replace(each, configuration={**each.configuration, _MAX_ID: old}))  # fmt: skip


@faulty_commit("column-mapping.new-columns-have-ids")
def ids_repeated(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Gives an added column the id of the first one."""

    def edit(fields: Fields) -> None:
        if _ID in fields[-1]["metadata"]:
            fields[-1]["metadata"][_ID] = fields[0]["metadata"][_ID]

    return _edit_fields(actions, edit) if transaction.kind == "add-column" else actions


@faulty_commit("column-mapping.new-columns-named-anew")
def added_columns_not_mapped(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Adds columns without id and physical name."""

    def edit(fields: Fields) -> None:
        fields[-1]["metadata"] = {}

    return _edit_fields(actions, edit) if transaction.kind == "add-column" else actions


@mutant(Writer.drop_column, "column-mapping.enabled-by-property", suites=("write",))
def columns_dropped_without_mapping(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Drops columns of tables without column mapping, whose files still have them under the same name."""
    _change_without_mapping(original, writer, transaction, operation)


@mutant(Writer.rename_column, "column-mapping.enabled-by-property", suites=("write",))
def columns_renamed_without_mapping(
    original: Method, writer: Writer, transaction: Transaction, operation: Operation
) -> None:
    """Renames columns of tables without column mapping, whose files still have the old name."""
    _change_without_mapping(original, writer, transaction, operation)


def _change_without_mapping(original: Method, writer: Writer, transaction: Transaction, operation: Operation) -> None:
    transaction.state = replace(transaction.state, mapping=transaction.state.mapping or "name")
    original(writer, transaction, operation)


@mutant(FileWriter.build_field, "column-mapping.field-ids-in-files", suites=("write",))
def field_ids_missing(original: Method, files: FileWriter, field: Field, kind: pa.DataType) -> pa.Field:
    """Writes mapped columns without field ids."""
    return original(files, field, kind).remove_metadata()


@mutant(FileWriter.build_field, "column-mapping.field-ids-in-files", suites=("write",))
def field_ids_by_position(original: Method, files: FileWriter, field: Field, kind: pa.DataType) -> pa.Field:
    """Numbers the columns of a file from 0 instead of using the ids of the table."""
    position = [each.name for each in files.state.schema.fields].index(field.name)
    found = original(files, field, kind)
    return found.with_metadata({"PARQUET:field_id": str(position)}) if files.state.mapping else found


@mutant(FileWriter.build_field, "column-mapping.physical-names-in-files", suites=("write",))
def display_names_in_files(original: Method, files: FileWriter, field: Field, kind: pa.DataType) -> pa.Field:
    """Writes columns under their display names."""
    return original(files, field, kind).with_name(field.name)


@faulty_commit("protocol.reader-features-only-at-3", origin="proto-001")
def empty_lists_of_features(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes empty lists of features for protocols without features."""
    return change(actions, Protocol, lambda each: msgspec.structs.replace(
        each, reader_features=each.reader_features or [], writer_features=each.writer_features or []))  # fmt: skip


@faulty_commit("protocol.reader-features-at-3")
def reader_features_missing(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Lists features of readers only for writers."""
    return change(actions, Protocol, lambda each: msgspec.structs.replace(
        each, min_reader_version=1, reader_features=None))  # fmt: skip


@faulty_commit("row-tracking.enabled-with-feature")
def row_tracking_not_listed(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Enables row tracking without listing the feature."""
    return _drop_feature(actions, "rowTracking")


@faulty_commit("check-constraints.needs-support", "configuration.properties-need-features")
def constraints_not_listed(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Adds constraints without listing the feature."""
    return _drop_feature(actions, "checkConstraints")


def _drop_feature(actions: list[Action], feature: str) -> list[Action]:
    return change(actions, Protocol, lambda each: msgspec.structs.replace(
        each, writer_features=each.writer_features and [name for name in each.writer_features if name != feature]
    ))  # fmt: skip


@faulty_commit("protocol.features-stay", origin="proto-012")
def features_replaced(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Lists only the new features when a table gets one more, so that earlier ones are lost."""
    old = transaction.before
    if old is None:
        return actions
    gone = {*(old.protocol.reader_features or ()), *(old.protocol.writer_features or ())}
    return change(actions, Protocol, lambda each: msgspec.structs.replace(
        each,
        reader_features=each.reader_features and [name for name in each.reader_features if name not in gone],
        writer_features=each.writer_features and [name for name in each.writer_features if name not in gone],
    ))  # fmt: skip
