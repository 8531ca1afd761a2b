"""View columns about constraints, column defaults and identity columns."""

from bisect import bisect_left
from typing import Any

import msgspec

from deltaspec.protocol.actions import CommitInfo, MetaData, WireStruct
from deltaspec.protocol.features import constraints, identity_columns
from deltaspec.protocol.features.identity_columns import Identity
from deltaspec.protocol.log.operations import creates_or_restores_table
from deltaspec.protocol.property_names import INVARIANTS
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import column_id
from deltaspec.protocol.schema.data_types import Field, Struct, iter_fields
from deltaspec.views.table.known_columns import KnownColumns, collect_columns, find_illegal_defaults, merge_columns
from deltaspec.views.table.schema_columns import find_appended_columns, select_special_columns

Row = dict[str, Any]


def build_constraint_columns(member: Field, schema: Struct, supported: set[str] | None, revision: Revision) -> Row:
    """Return the columns of `schema_fields` about field metadata; empty if the supported features are unknown."""
    if supported is None:
        return {}
    facts: Row = {}
    if INVARIANTS not in constraints.find_unsupported_keys(member.metadata, supported, revision):
        facts["invariant_fault"] = _invariant_fault(member.metadata, schema)
    if identity_columns.FEATURE in supported:
        facts["identity_fault"] = identity_columns.find_identity_fault(member.metadata)
        facts["identity_mark_is_in_sequence"] = identity_columns.is_high_water_mark_in_sequence(member.metadata)
    return facts


def has_invariants(schema: Struct) -> bool:
    """Return whether a column at any depth has an invariant, which may name other columns."""
    return any(INVARIANTS in member.metadata for _, member in iter_fields(select_special_columns(schema)))


def _invariant_fault(metadata: dict[str, Any], schema: Struct) -> str | None:
    try:
        expression = constraints.read_invariant(metadata)
    except constraints.InvariantTooDeep:
        return None
    except constraints.InvariantError as fault:
        return str(fault)
    error = None if expression is None else _find_condition_error(expression, schema)
    return None if error is None else f"expression.expression is not a condition: {error}"


def _find_condition_error(expression: str, schema: Struct | None) -> str | None:
    from deltaspec.sql.conditions import find_condition_error  # few tables have expressions

    return find_condition_error(expression, schema)


def constraint_fault(name: str, value: str, schema: Struct | None) -> str | None:
    """Return why a CHECK constraint property is invalid: `no name`, or `no condition` and the reason; None if valid."""
    for constraint, expression in constraints.read_check_constraints({name: value}).items():
        if constraints.find_constraint_fault(constraint, expression) == "check-constraints.key":
            return "no name"
        error = _find_condition_error(expression, schema)
        return None if error is None else f"no condition: {error}"
    return None


class _IdentityColumn(msgspec.Struct, frozen=True):
    path: tuple[str, ...]
    number: int | None
    """Column id; None if columns are not mapped."""
    identity: Identity

    def is_same(self, other: "_IdentityColumn") -> bool:
        """Return whether both are the same column, by id if both have one, otherwise by path."""
        if self.number is not None and other.number is not None:
            return self.number == other.number
        return self.path == other.path


class ColumnHistory(msgspec.Struct):
    """Columns with defaults and identity columns along the history, updated version by version."""

    changes: Row = msgspec.field(default_factory=dict)
    """Columns of `commits` for the last applied version."""
    _identities_since: list[tuple[int, list[_IdentityColumn] | None]] = msgspec.field(default_factory=list)
    """Versions at which the identity columns may have changed, with the columns; None if unknown."""
    _metadata: MetaData | None = None
    known_columns: KnownColumns | None = None
    """Columns of the last applied version; None if they are unknown."""
    _identities: list[_IdentityColumn] = msgspec.field(default_factory=list)
    _is_supported: bool = False
    """Whether the table supports identity columns."""
    _schema: Struct | None = None
    """The last schema, whose columns `known_columns` includes."""
    _is_complete: bool = False
    """Whether the validated history starts with the first version of the table and is fully known."""

    def forget(self) -> None:
        """Record that a version could not be read: the next version is not compared."""
        self.changes, self._metadata, self.known_columns, self._identities, self._is_complete = (
            {},
            None,
            None,
            [],
            False,
        )

    def has_applied(self, metadata: MetaData | None) -> bool:
        """Return whether the last applied version had this metadata, and was known."""
        return metadata is not None and metadata is self._metadata

    def apply(
        self,
        location: tuple[int, str],
        actions: list[tuple[int, WireStruct]],
        metadata: MetaData | None,
        schema: Struct | None,
        mapping: str | None,
        supported: set[str] | None,
    ) -> None:
        """Apply a version and update `changes`.

        Args:
            location: version and log file.
            actions: actions of the file with their line numbers.
            metadata: table metadata after the version; None if unknown.
            schema: parsed schema; None if it cannot be parsed.
            mapping: column mapping mode; None if off.
            supported: features that the table supports; None if unknown.
        """
        version, file = location
        self.changes = {}
        is_supported = supported is not None and identity_columns.FEATURE in supported
        if metadata is self._metadata and metadata is not None and is_supported == self._is_supported:
            return
        self._is_supported = is_supported
        if metadata is None or schema is None or supported is None:
            self.forget()
            self._identities_since.append((version, None))
            return
        operation = next((action.operation for _, action in actions if isinstance(action, CommitInfo)), None)
        self._is_complete = self._is_complete or (version == 0 and ".checkpoint." not in file)
        before, self._metadata = self._metadata, metadata
        identities = _identities(schema, mapping) if is_supported else []
        continues = before is not None and before.id == metadata.id and not creates_or_restores_table(operation)
        if before is not None and continues:
            self.changes = self._compare(identities)
            if not isinstance(operation, str):  # it may be a restore, which may move the mark back
                self.changes["identity_marks_moved_back"] = None
            if self.known_columns and DEFAULTS in supported and (self._is_complete or isinstance(operation, str)):
                new = find_illegal_defaults(self.known_columns, schema, mapping)
                self.changes["new_columns_with_default"] = [".".join(path) for path in new]
        appended = (
            find_appended_columns(self._schema, schema) if mapping is None and self.known_columns is not None else None
        )
        new_columns = collect_columns(schema if appended is None else appended, mapping)
        self.known_columns, self._schema = merge_columns(self.known_columns, new_columns), schema
        self._identities = identities
        self._identities_since.append((version, identities))

    def find_identity_before(self, version: int, member: Field, mapping: str | None) -> Identity | None:
        """Return the properties of a top-level identity column before a version; None if unknown."""
        column = _IdentityColumn((member.name,), column_id(member) if mapping else None, Identity())
        count = bisect_left(self._identities_since, version, key=lambda each: each[0])
        columns = self._identities_since[count - 1][1] if count else None
        return next((each.identity for each in columns or () if column.is_same(each)), None)

    def _compare(self, identities: list[_IdentityColumn]) -> Row:
        pairs = [(old, new) for new in identities for old in self._identities if new.is_same(old)]
        return {
            "changed_identity_columns": [
                f"{'.'.join(new.path)}: {key}"
                for old, new in pairs
                for key in identity_columns.find_changed_properties(old.identity, new.identity)
            ],
            "identity_marks_moved_back": [
                f"{'.'.join(new.path)}: {old.identity.high_water_mark}, then {new.identity.high_water_mark}"
                for old, new in pairs
                if identity_columns.is_illegal_high_water_mark(old.identity, new.identity)
            ],
        }


DEFAULTS = "allowColumnDefaults"


def _identities(schema: Struct, mapping: str | None) -> list[_IdentityColumn]:
    found = []
    for path, member in iter_fields(schema):
        identity = identity_columns.read_identity(member.metadata)
        if identity is not None:
            found.append(_IdentityColumn(path, column_id(member) if mapping else None, identity))
    return found
