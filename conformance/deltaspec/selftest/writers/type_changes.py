"""Faults in changing the types of columns."""

from typing import Any

import msgspec

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Action, MetaData
from deltaspec.protocol.property_names import TYPE_CHANGES
from deltaspec.selftest.mutants import Method, faulty_commit, mutant
from deltaspec.selftest.writers.commits import change

OFFERED = "type-widening.offered"


@mutant(Writer.check_type_change, OFFERED, suites=("write",))
def nested_types_not_widened(original: Method, writer: Writer, operation: Operation) -> None:
    """Widens only columns, not fields, elements, keys or values."""
    if len(operation["name"]) > 1:
        raise EngineError("unsupported", "only the types of columns change", phase="commit")


@mutant(Writer.check_type_change, OFFERED, suites=("write",))
def integers_not_widened_to_decimals(original: Method, writer: Writer, operation: Operation) -> None:
    """Widens to every type but decimals."""
    if operation["type"].startswith("decimal"):
        raise EngineError("unsupported", "no type changes to a decimal", phase="commit")


@faulty_commit("type-widening.recorded", "type-widening.changes-in-metadata")
def type_changes_not_recorded(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Changes types without recording the changes."""

    def drop(metadata: MetaData) -> MetaData:
        return msgspec.structs.replace(metadata, schema_string=_drop_changes(metadata.schema_string))

    return change(actions, MetaData, drop)


def _drop_changes(text: str) -> str:
    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(each) for key, each in value.items() if key != TYPE_CHANGES}
        return [clean(each) for each in value] if isinstance(value, list) else value

    return msgspec.json.encode(clean(msgspec.json.decode(text))).decode()
