"""A table as a list of plain rows: the expected result of every operation, and the forbidden operations.

Values are JSON values: dates are days and timestamps microseconds since the epoch, decimals are text. The column `id`
is unique and never null, so that it identifies a row.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.model.rows.predicate_trees import InvalidPredicate, Tree, parse_literal, parse_predicate
from deltaspec.model.rows.predicates import evaluate
from deltaspec.protocol.features.constraints import DEFAULT
from deltaspec.protocol.features.identity_columns import Identity
from deltaspec.protocol.features.table_features import get_feature
from deltaspec.protocol.property_names import (
    APPEND_ONLY,
    COLUMN_MAPPING_MODE,
    GENERATION_EXPRESSION,
    IDENTITY_EXPLICIT_INSERT,
    IDENTITY_START,
    IDENTITY_STEP,
    IN_COMMIT_TIMESTAMPS,
    MAX_COLUMN_ID,
    PARQUET_CODEC,
    TYPE_WIDENING,
)
from deltaspec.protocol.schema.data_types import Primitive, Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.protocol.time_units import DAY_US
from deltaspec_generators.histories.kinds import (
    CLUSTERED_BY_OTHERS,
    DROP_UNKNOWN_FEATURE,
    FAST_CLOCK,
    KINDS,
    STEPS_OF_THE_KIT,
    UNKNOWN_FEATURE,
)
from deltaspec_generators.values.arrow_values import arrow_type

Row: TypeAlias = dict[str, Any]
Json: TypeAlias = Mapping[str, Any]
ID = "id"
_VACUUM_CHECK = "delta.feature.vacuumProtocolCheck"
CHECK_CONSTRAINTS = "checkConstraints"
ALLOW_DEFAULTS = "allowColumnDefaults"
EVOLUTION = "-with-evolution"
"""End of the kinds of operations that may add columns."""


class Generated:
    """Marker for a value of an identity column, which the writer chooses."""


GENERATED = Generated()


class Column(msgspec.Struct, frozen=True):
    """A column of the table."""

    name: str
    type: str
    """Name of a type, or the JSON text of a nested one, as `render_type` returns it."""
    nullable: bool = True
    generated: bool = False
    """Whether the value is `id + 1`."""
    identity: Identity | None = None
    """Start, step, and whether explicit values are allowed."""
    default: int | None = None
    """Value of rows without one."""

    def to_json(self) -> Json:
        """Return the field of a schema string."""
        metadata: dict[str, Any] = {GENERATION_EXPRESSION: f"{ID} + 1"} if self.generated else {}
        if self.identity is not None:
            metadata |= {
                IDENTITY_START: self.identity.start,
                IDENTITY_STEP: self.identity.step,
                IDENTITY_EXPLICIT_INSERT: self.identity.explicit,
            }
        if self.default is not None:
            metadata[DEFAULT] = str(self.default)
        kind = json.loads(self.type) if self.type.startswith("{") else self.type
        return {"name": self.name, "type": kind, "nullable": self.nullable, "metadata": metadata}


def render_type(kind: Any) -> str:
    """Return the JSON of a type as text: without the metadata of nested fields, and with sorted keys."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: {} if key == "metadata" else clean(each) for key, each in value.items()}
        return [clean(each) for each in value] if isinstance(value, list) else value

    return kind if isinstance(kind, str) else json.dumps(clean(kind), sort_keys=True)


REFUSAL_CATEGORIES = ("constraint", "unsupported")
"""Accepted categories of the refusal of a forbidden operation."""


class Forbidden(msgspec.Struct, frozen=True):
    """The protocol forbids the operation."""

    reason: str
    requirement: str
    categories: tuple[str, ...] = REFUSAL_CATEGORIES
    """Accepted categories of the refusal."""


class NotApplicable(ValueError):
    """The operation makes no sense for the table, because operations before it are missing."""


class PlainTable(msgspec.Struct, frozen=True):
    """Content of a table."""

    columns: tuple[Column, ...] = ()
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = msgspec.field(default_factory=dict)
    constraints: Mapping[str, Tree] = msgspec.field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    transactions: Mapping[str, int] = msgspec.field(default_factory=dict)
    domains: Mapping[str, str] = msgspec.field(default_factory=dict)
    features: frozenset[str] = frozenset()
    """Features that an operation has added to the protocol."""
    dropped_features: frozenset[str] = frozenset()
    unset_properties: frozenset[str] = frozenset()
    """Properties that the table had, and no longer has."""
    has_unknown_feature: bool = False
    is_clustered_by_others: bool = False
    cluster_by: tuple[str, ...] = ()
    """Columns by which new files are clustered."""
    identity_values: int = 0
    """Number of generated values of each identity column, which rows may no longer have."""

    def is_enabled(self, name: str) -> bool:
        """Return whether a property is true."""
        return self.properties.get(name) == "true"

    @property
    def maps_columns(self) -> bool:
        return self.properties.get(COLUMN_MAPPING_MODE, "none") != "none"

    def get_column(self, name: str) -> Column:
        """Return a column. Raises `NotApplicable`."""
        for each in self.columns:
            if each.name == name:
                return each
        raise NotApplicable(f"unknown column {name}")

    def render_schema(self) -> str:
        """Return the schema as the text of `create`."""
        return json.dumps({"type": "struct", "fields": [each.to_json() for each in self.columns]})

    def parse_schema(self) -> Struct:
        """Return the schema."""
        return parse_schema(self.render_schema())

    def evaluate(self, tree: Tree, rows: Sequence[Row]) -> list[bool | None]:
        """Return the value of a condition for each row in three-valued logic: true, false, or None for unknown.

        Conditions do not compare decimals, which are text here.

        Raises:
            NotApplicable: the table does not have a column of the condition.
        """
        try:
            predicate = parse_predicate(tree, self.parse_schema())
        except InvalidPredicate as error:
            raise NotApplicable(str(error)) from None
        return [evaluate(predicate, row) for row in rows]

    def build_arrow(self, rows: Sequence[Row], names: Sequence[str] | None = None) -> pa.Table:
        """Return rows as an Arrow table, with these columns or all."""
        schema = {each.name: each for each in self.parse_schema().fields}
        chosen = [each.name for each in self.columns] if names is None else list(names)
        arrays = []
        for name in chosen:
            kind = arrow_type(schema[name].type)
            values = [row.get(name) for row in rows]
            if pa.types.is_decimal(kind):
                values = [None if each is None else Decimal(each) for each in values]
            arrays.append(pa.array(values, kind))
        return pa.Table.from_arrays(arrays, names=chosen)


class Effect(msgspec.Struct, frozen=True):
    """Effect of an operation on the plain table."""

    table: PlainTable
    """The table after it."""
    removed: tuple[Row, ...] = ()
    """Rows that are deleted, or rewritten with other values."""
    added: tuple[Row, ...] = ()
    is_update: bool = False
    """Whether added rows with the id of a removed row are the same row with other values."""
    is_restore: bool = False
    may_be_refused: bool = False
    """Whether the writer may also refuse the operation."""


def perform(
    table: PlainTable | None, operation: Json, commit: Json | None = None, past: Sequence[PlainTable | None] = ()
) -> Effect | Forbidden:
    """Return the effect of an operation.

    Args:
        table: the table; None if it does not exist yet.
        operation: as in a request `apply`, with rows as a list of objects, and numbers of steps instead of versions.
        commit: options of the commit.
        past: the table after each earlier step.

    Raises:
        NotApplicable: the operation makes no sense for the table.
    """
    found = _create(operation) if table is None else _perform(table, operation, past)
    if isinstance(found, Forbidden):
        return found
    if table is not None and table.has_unknown_feature and operation["kind"] not in STEPS_OF_THE_KIT:
        if operation["kind"] == "vacuum" and _VACUUM_CHECK not in table.properties:
            raise NotApplicable("only the feature vacuumProtocolCheck obliges a vacuum to check the protocol")
        return Forbidden(
            "the table has an unknown writer feature", "table-features.writer-supports-all", ("unsupported",)
        )
    return replace(found, table=_apply_commit_options(found.table, commit or {}))


def _apply_commit_options(table: PlainTable, commit: Json) -> PlainTable:
    if txn := commit.get("txn"):
        table = replace(table, transactions={**table.transactions, txn["app_id"]: txn["version"]})
    domains = {**table.domains, **(commit.get("domains") or {})}
    return replace(table, domains={name: text for name, text in domains.items() if text is not None})


def _create(operation: Json) -> Effect | Forbidden:
    if operation["kind"] not in ("create", "convert"):
        raise NotApplicable("there is no table")
    return _add(build_empty_table(operation), (), operation.get("rows") or ())


def build_empty_table(operation: Json) -> PlainTable:
    """Return the table that `create` or `replace` makes, without its rows."""
    columns = tuple(_parse_column(each) for each in json.loads(operation["schema"])["fields"])
    return PlainTable(columns, tuple(operation.get("partition_by") or ()), dict(operation.get("properties") or {}))


def _replace(table: PlainTable, operation: Json) -> Effect | Forbidden:
    """Replace everything but the transactions and the features of the protocol."""
    if (
        table.domains
        or table.is_clustered_by_others
        or table.cluster_by
        or any(each.identity for each in table.columns)
    ):
        raise NotApplicable("which domains and identity values remain after a replacement is not modelled")
    if table.is_enabled(APPEND_ONLY):
        if not table.rows:
            raise NotApplicable("the table accepts only appended rows; a writer may refuse even to remove none")
        return Forbidden("the table accepts only appended rows", "append-only.no-removal")
    empty = replace(build_empty_table(operation), transactions=table.transactions, features=table.features)
    known = {name for name in table.properties if not name.startswith("delta.feature.")} | table.unset_properties
    empty = replace(empty, unset_properties=frozenset(known - empty.properties.keys()))
    if {row[ID] for row in table.rows} & {row[ID] for row in operation.get("rows") or ()}:
        raise NotApplicable("whether a replaced row keeps its row id is not defined")
    found = _add(empty, (), operation.get("rows") or ())
    return found if isinstance(found, Forbidden) else replace(found, removed=table.rows)


def _add_feature(table: PlainTable, operation: Json) -> Effect | Forbidden:
    name = operation["feature"]
    if get_feature(name) is None:
        reason = f"no protocol and no proposal defines the feature {name}"
        return Forbidden(reason, "table-features.writer-supports-all", (*REFUSAL_CATEGORIES, "invalid-request"))
    return Effect(_support(table, name))


def _support(table: PlainTable, feature: str) -> PlainTable:
    return replace(table, features=table.features | {feature}, dropped_features=table.dropped_features - {feature})


def _drop_feature(table: PlainTable, operation: Json) -> Effect:
    """Drop the feature of CHECK constraints; no protocol obliges a writer to drop any."""
    name = operation["feature"]
    if name != CHECK_CONSTRAINTS or table.constraints:
        raise NotApplicable(f"what remains of the feature {name} is not modelled")
    left = replace(table, features=table.features - {name}, dropped_features=table.dropped_features | {name})
    return Effect(left, may_be_refused=True)


def _parse_column(field: Json) -> Column:
    metadata = field["metadata"]
    identity = (
        Identity(metadata[IDENTITY_START], metadata[IDENTITY_STEP], None, metadata[IDENTITY_EXPLICIT_INSERT])
        if IDENTITY_START in metadata
        else None
    )
    default = int(metadata[DEFAULT]) if DEFAULT in metadata else None
    return Column(
        field["name"],
        render_type(field["type"]),
        field["nullable"],
        GENERATION_EXPRESSION in metadata,
        identity,
        default,
    )


def _perform(table: PlainTable, operation: Json, past: Sequence[PlainTable | None]) -> Effect | Forbidden:
    kind = operation["kind"]
    match kind:
        case "append":
            found = _add(table, table.rows, operation["rows"])
            return (
                replace(found, may_be_refused=PARQUET_CODEC in table.properties) if isinstance(found, Effect) else found
            )
        case "overwrite" | "overwrite-partitions" | "delete" | "update" | "merge":
            return _change_rows(table, operation)
        case "append-with-evolution" | "merge-with-evolution":
            wider = add_columns_of_rows(table, operation)
            return _perform(wider, {**operation, "kind": kind.removesuffix(EVOLUTION)}, past)
        case "clone":
            return _clone(table)
        case "set-default":
            return _set_default(table, operation)
        case "cluster-by":
            return _cluster(table, operation)
        case "restore":
            return _restore(table, operation, past)
        case "replace":
            return _replace(table, operation)
        case "add-feature":
            return _add_feature(table, operation)
        case "drop-feature":
            return _drop_feature(table, operation)
        case "set-properties":
            if MAX_COLUMN_ID in operation["properties"]:
                reason = f"{MAX_COLUMN_ID} is not set by users"
                return Forbidden(reason, "column-mapping.max-id-internal", (*REFUSAL_CATEGORIES, "invalid-request"))
            properties = {**table.properties, **operation["properties"]}
            unset = {key for key, text in properties.items() if text is None}
            return Effect(
                replace(
                    table,
                    properties={key: text for key, text in properties.items() if text is not None},
                    unset_properties=(table.unset_properties | unset) - (operation["properties"].keys() - unset),
                ),
                may_be_refused=PARQUET_CODEC in operation["properties"],
            )
        case "add-constraint" | "drop-constraint":
            return _change_constraints(table, operation)
        case "add-column" | "rename-column" | "drop-column":
            return _change_columns(table, operation)
        case "widen-column":
            return _widen_column(table, operation)
    if kind == UNKNOWN_FEATURE:
        return Effect(replace(table, has_unknown_feature=True))
    if kind == DROP_UNKNOWN_FEATURE:
        if not table.has_unknown_feature:
            raise NotApplicable("there is no unknown feature")
        return Effect(replace(table, has_unknown_feature=False))
    if kind == CLUSTERED_BY_OTHERS:
        return Effect(replace(table, is_clustered_by_others=True))
    if kind == FAST_CLOCK and not table.is_enabled(IN_COMMIT_TIMESTAMPS):
        raise NotApplicable("in-commit timestamps are not enabled")
    if kind not in KINDS or KINDS[kind].changes != "nothing":
        raise NotApplicable(f"the kind {kind} is not modelled, or the table exists")
    if kind == "compact-log" and (len(past) <= operation["end_step"] or past[operation["start_step"]] is None):
        raise NotApplicable("the steps are missing")
    return Effect(table)


def add_columns_of_rows(table: PlainTable, operation: Json) -> PlainTable:
    """Return a table with the columns `new_columns`, which are null in its rows. Raises `NotApplicable`."""
    new = tuple(_parse_column(each) for each in json.loads(operation["new_columns"])["fields"])
    known = {each.name for each in table.columns}
    if known & {each.name for each in new}:
        raise NotApplicable("there is a column of that name already")
    rows = tuple({**row, **{each.name: None for each in new}} for row in table.rows)
    return replace(table, columns=(*table.columns, *new), rows=rows)


def _clone(table: PlainTable) -> Effect:
    """Return the clone; the protocol does not say what it keeps of the history of the other table."""
    if (
        table.transactions
        or table.domains
        or table.is_clustered_by_others
        or any(each.identity for each in table.columns)
    ):
        raise NotApplicable("which transactions, domains and identity values a clone has is not modelled")
    return Effect(table)


def _set_default(table: PlainTable, operation: Json) -> Effect:
    (name,) = operation["name"]
    column = table.get_column(name)
    supported = ALLOW_DEFAULTS in table.features or f"delta.feature.{ALLOW_DEFAULTS}" in table.properties
    if not supported or column.type not in ("long", "integer") or name in (ID, *table.partition_by):
        raise NotApplicable("only an integer of a table with the feature gets a default")
    if column.generated or column.identity or (operation.get("sql") is None and column.default is None):
        raise NotApplicable(f"the column {name} has other values, or no default")
    default = None if operation.get("sql") is None else int(operation["sql"])
    columns = tuple(replace(each, default=default) if each.name == name else each for each in table.columns)
    return Effect(replace(table, columns=columns))


def _cluster(table: PlainTable, operation: Json) -> Effect:
    names = tuple(name for (name,) in operation["columns"])
    if table.partition_by or table.is_clustered_by_others or any(table.get_column(name) is None for name in names):
        raise NotApplicable("a table is either partitioned or clustered")
    return Effect(replace(table, cluster_by=names))


def _change_rows(table: PlainTable, operation: Json) -> Effect | Forbidden:
    """Overwrite, delete, update or merge."""
    if operation["kind"] in ("update", "merge") and any(each.identity for each in table.columns):
        raise NotApplicable("which identity values changed rows get is not modelled")
    tree = (operation.get("where") or {}).get("tree")
    matched = list(table.rows)
    if tree is not None:
        truths = table.evaluate(tree, table.rows)
        matched = [row for row, truth in zip(table.rows, truths, strict=True) if truth is True]
    added: list[Row] = []
    match operation["kind"]:
        case "overwrite":
            added = list(operation["rows"])
        case "overwrite-partitions":
            added = list(operation["rows"])
            if not table.partition_by:
                raise NotApplicable("the table has no partitions")
            parts = [[row.get(name) for name in table.partition_by] for row in added]
            matched = [row for row in table.rows if [row.get(name) for name in table.partition_by] in parts]
        case "update":
            for name in operation["set"]:
                table.get_column(name)
            values = {name: parse_literal(text, Primitive(kind)) for name, (_, kind, text) in operation["set"].items()}
            added = [{**row, **values} for row in matched]
        case "merge":
            source = {row[ID]: row for row in operation["rows"]}
            matched = [row for row in table.rows if row[ID] in source] if operation.get("matched") else []
            added = [source[row[ID]] for row in matched] if operation.get("matched") == "update" else []
            known = {row[ID] for row in table.rows}
            added += [row for row in source.values() if row[ID] not in known and operation.get("not_matched")]
    may_remove = operation["kind"] != "merge" or operation.get("matched") is not None
    if table.is_enabled(APPEND_ONLY) and may_remove:
        if not matched:
            raise NotApplicable("the table accepts only appended rows; a writer may refuse even to remove none")
        return Forbidden("the table accepts only appended rows", "append-only.no-removal")
    gone = {row[ID] for row in matched}
    left = tuple(row for row in table.rows if row[ID] not in gone)
    found = _add(table, left, added)
    if isinstance(found, Forbidden):
        return found
    return replace(found, removed=tuple(matched), is_update=operation["kind"] in ("update", "merge"))


def _add(table: PlainTable, left: tuple[Row, ...], rows: Sequence[Row]) -> Effect | Forbidden:
    """Add rows to those that are left; a forbidden row forbids the operation."""
    names = {each.name for each in table.columns}
    _check_range(table, rows)
    added = []
    identity_values = table.identity_values
    for row in rows:
        if not set(row) <= names:
            raise NotApplicable(f"the rows have columns that the table does not have: {sorted(set(row) - names)}")
        complete: Row = {}
        for column in table.columns:
            value = row.get(column.name)
            if column.generated:
                if column.name in row and value != row[ID] + 1:
                    return Forbidden(f"the value {value} of {column.name} is not {ID} + 1", "generated-columns.values")
                value = row[ID] + 1
            elif column.identity is not None and column.name in row and not column.identity.explicit:
                reason = f"{column.name} does not allow explicit values"
                return Forbidden(reason, "identity-columns.explicit-values", (*REFUSAL_CATEGORIES, "invalid-request"))
            elif column.identity is not None and column.name not in row:
                least = (column.identity.start or 0) + identity_values * (column.identity.step or 1)
                if not -(2**63) <= least < 2**63:
                    return Forbidden(f"the value {least} of {column.name} is not a long", "identity-columns.overflow")
                value = GENERATED
            elif column.name not in row:
                value = column.default
            if column.type == "integer" and value is not None and not -(2**31) <= value < 2**31:
                raise NotApplicable(f"the value {value} of {column.name} needs a wider type")
            if value is None and not column.nullable:
                return Forbidden(f"{column.name} is null, but not nullable", "column-invariants.rows-refused")
            complete[column.name] = value
        for name, tree in table.constraints.items():
            if table.evaluate(tree, [complete]) != [True]:
                return Forbidden(f"the row with {ID} {row[ID]} violates {name}", "check-constraints.rows-checked")
        identity_values += GENERATED in complete.values()
        added.append(complete)
    return Effect(replace(table, rows=(*left, *added), identity_values=identity_values), added=tuple(added))


def _check_range(table: PlainTable, rows: Sequence[Row]) -> None:
    """Raise `NotApplicable` if a value needs a wider type, because the writer did not offer to change it."""
    names = [each.name for each in table.columns if any(each.name in row for row in rows)]
    if table.is_enabled(TYPE_WIDENING):
        try:
            table.build_arrow(rows, names)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise NotApplicable(f"a value needs a wider type: {error}") from None


def fill_generated(table: PlainTable, found: Sequence[Row]) -> PlainTable:
    """Return a table with the values of identity columns that a writer chose; they are null in rows not found.

    Args:
        table: the expected table.
        found: rows that were read.
    """
    chosen = {row[ID]: row for row in found}
    rows = tuple(
        {name: chosen.get(row[ID], {}).get(name) if value is GENERATED else value for name, value in row.items()}
        for row in table.rows
    )
    return replace(table, rows=rows)


def _restore(table: PlainTable, operation: Json, past: Sequence[PlainTable | None]) -> Effect | Forbidden:
    target = past[operation["step"]] if operation["step"] < len(past) else None
    if target is None or describe_metadata(target) != describe_metadata(table):
        raise NotApplicable("the restored version does not exist, or has other metadata")
    if table.is_enabled(APPEND_ONLY):
        raise NotApplicable("a restored version may have fewer rows than a table that accepts only appended rows")
    return Effect(replace(table, rows=target.rows), table.rows, target.rows, is_restore=True)


def describe_metadata(table: PlainTable) -> object:
    """Return the parts of a table that its metadata contains."""
    return table.columns, table.partition_by, dict(table.properties), dict(table.constraints), table.cluster_by


def _change_constraints(table: PlainTable, operation: Json) -> Effect | Forbidden:
    name = operation["name"]
    if (operation["kind"] == "add-constraint") == (name in table.constraints):
        raise NotApplicable(f"the constraint {name} exists already or does not exist")
    if operation["kind"] == "drop-constraint":
        return Effect(replace(table, constraints={key: tree for key, tree in table.constraints.items() if key != name}))
    tree = operation["tree"]
    if any(truth is not True for truth in table.evaluate(tree, table.rows)):
        return Forbidden(f"a row violates the new constraint {name}", "check-constraints.rows")
    constrained = replace(table, constraints={**table.constraints, name: tree})
    return Effect(replace(constrained, dropped_features=table.dropped_features - {CHECK_CONSTRAINTS}))


def _widen_column(table: PlainTable, operation: Json) -> Effect:
    name, *path = operation["name"]
    if not table.is_enabled(TYPE_WIDENING):
        raise NotApplicable("type widening is not enabled")
    old = table.get_column(name)
    widened = replace(old, type=render_type(_widen(old.to_json()["type"], path, operation["type"])))
    rows = table.rows
    if (old.type, widened.type) == ("date", "timestamp_ntz"):
        rows = tuple({**row, name: None if row[name] is None else row[name] * DAY_US} for row in rows)
    columns = tuple(widened if each.name == name else each for each in table.columns)
    return Effect(replace(table, columns=columns, rows=rows))


def _widen(kind: Any, path: Sequence[str], wider: str) -> Any:
    """Return the JSON of a type with another one at a path of field names, `element`, `key` and `value`."""
    if not path:
        return wider
    step, *rest = path
    if kind["type"] == "struct":
        fields = [{**each, "type": _widen(each["type"], rest, wider)} if each["name"] == step else each
                  for each in kind["fields"]]  # fmt: skip
        return {**kind, "fields": fields}
    member = f"{step}Type"
    return {**kind, member: _widen(kind[member], rest, wider)}


def _change_columns(table: PlainTable, operation: Json) -> Effect | Forbidden:
    if operation["kind"] == "add-column":
        (name,) = operation["name"]
        if any(each.name == name for each in table.columns):
            raise NotApplicable(f"there is a column {name} already")
        column = Column(name, operation["type"])
        rows = tuple({**row, name: None} for row in table.rows)
        return Effect(replace(table, columns=(*table.columns, column), rows=rows))
    (name,) = operation["from" if operation["kind"] == "rename-column" else "name"]
    if table.get_column(name).generated or name in (ID, *table.partition_by, *table.cluster_by):
        raise NotApplicable(f"the column {name} is needed")
    if not table.maps_columns:
        return Forbidden(f"{operation['kind']} needs column mapping", "column-mapping.read-by-physical-name")
    if operation["kind"] == "drop-column":
        columns = tuple(each for each in table.columns if each.name != name)
        rows = tuple({key: value for key, value in row.items() if key != name} for row in table.rows)
        return Effect(replace(table, columns=columns, rows=rows))
    (new,) = operation["to"]
    if any(each.name == new for each in table.columns):
        raise NotApplicable(f"there is a column {new} already")
    columns = tuple(replace(each, name=new) if each.name == name else each for each in table.columns)
    rows = tuple({(new if key == name else key): value for key, value in row.items()} for row in table.rows)
    return Effect(replace(table, columns=columns, rows=rows))
