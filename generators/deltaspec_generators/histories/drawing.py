"""Draw histories: the same choices and the same offer of a writer give the same operations."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.property_names import (
    APPEND_ONLY,
    CHANGE_DATA_FEED,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_POLICY,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    GENERATION_EXPRESSION,
    IN_COMMIT_TIMESTAMPS,
    LOG_RETENTION,
    ROW_TRACKING,
    TYPE_WIDENING,
)
from deltaspec_generators.choices import Choices
from deltaspec_generators.histories import conditions
from deltaspec_generators.histories.kinds import AGE_LOG, CLUSTERED_BY_OTHERS, KINDS, UNKNOWN_FEATURE
from deltaspec_generators.histories.plain_table import (
    ALLOW_DEFAULTS,
    ID,
    Column,
    Effect,
    Forbidden,
    NotApplicable,
    PlainTable,
    Row,
    perform,
)
from deltaspec_generators.histories.purposes import (
    AVOIDED_FEATURES,
    CLUSTERING_COLUMN,
    PROPERTIES_OF_PURPOSES,
    RARE_OPERATIONS,
    WIDENED_COLUMN,
    Purpose,
)

Operation: TypeAlias = dict[str, Any]

_TYPES = ("long", "string", "integer", "double", "boolean", "date", "timestamp", "decimal(10,2)")
_SETTABLE = ("long", "integer", "string", "double", "boolean")
"""Types of columns that updates set."""
_PARTITION_TYPES = ("string", "integer", "long", "date", "boolean")
FEATURE_PROPERTIES: dict[str, dict[str, str]] = {
    "deletionVectors": {DELETION_VECTORS: "true"},
    "columnMapping": {COLUMN_MAPPING_MODE: "name"},
    "changeDataFeed": {CHANGE_DATA_FEED: "true"},
    "rowTracking": {ROW_TRACKING: "true"},
    "inCommitTimestamp": {IN_COMMIT_TIMESTAMPS: "true"},
    "v2Checkpoint": {CHECKPOINT_POLICY: "v2"},
    "domainMetadata": {"delta.feature.domainMetadata": "supported"},
    "appendOnly": {APPEND_ONLY: "true"},
    "typeWidening": {TYPE_WIDENING: "true"},
    "vacuumProtocolCheck": {"delta.feature.vacuumProtocolCheck": "supported"},
    "checkpointProtection": {"delta.feature.checkpointProtection": "supported"},
    "identityColumns": {"delta.feature.identityColumns": "supported"},
    "allowColumnDefaults": {"delta.feature.allowColumnDefaults": "supported"},
    "timestampNtz": {"delta.feature.timestampNtz": "supported"},
}
"""Properties that enable a writer feature when a table is created."""
_NOT_DRAWN = (
    "typeWidening",
    "vacuumProtocolCheck",
    "checkpointProtection",
    "identityColumns",
    "allowColumnDefaults",
    "timestampNtz",
)
"""Features that only written histories use."""
_ADDABLE_FEATURES = ("deletionVectors", "changeDataFeed", "v2Checkpoint", "checkConstraints", "domainMetadata")
"""Features that a table may support without any effect until a property enables them."""
_NEUTRAL_PROPERTIES = (
    {LOG_RETENTION: "interval 60 days"},
    {CHECKPOINT_INTERVAL: "3"},
    {"delta.dataSkippingNumIndexedCols": "2"},
)
MOST_STEPS = 9


class Offer(msgspec.Struct, frozen=True):
    """Kinds of operations and features that a writer offers."""

    kinds: frozenset[str]
    features: frozenset[str]
    """Writer features."""

    @classmethod
    def of(cls, kinds: Collection[str], features: Collection[str]) -> "Offer":
        """Return the offer of a candidate's capabilities."""
        return cls(frozenset(kinds), frozenset(features))


class Step(msgspec.Struct, frozen=True):
    """One operation of a history."""

    operation: Operation
    """As in a request `apply`; rows are a list of objects, and versions are numbers of steps."""
    commit: Operation = msgspec.field(default_factory=dict)

    @property
    def kind(self) -> str:
        return str(self.operation["kind"])

    @property
    def title(self) -> str:
        """Return the operation in a few words."""
        shown = []
        for name, value in self.operation.items():
            if name == "rows" and value is not None:
                shown.append(f"{len(value)} rows")
            elif name == "where" and value is not None:
                shown.append(f"where {value['sql']}")
            elif name == "set":
                shown.append("set " + ", ".join(f"{key} = {each[2]}" for key, each in value.items()))
            elif name == "properties":
                shown.append(", ".join(f"{key}={text}" for key, text in value.items()))
            elif name == "schema":
                shown.append(_describe_schema(value))
            elif name == "new_columns":
                shown.append(f"new {_describe_schema(value)}")
            elif name not in ("kind", "tree") and value not in (None, [], ()):
                shown.append(f"{name} {_describe_path(value)}")
        shown += [f"with {name}" for name in self.commit]
        return " ".join([self.kind, "; ".join(filter(None, shown))]).strip()


def _describe_path(value: Any) -> str:
    """Return a path, a list of paths, or another argument as text."""
    return ".".join(map(_describe_path, value)) if isinstance(value, list) else str(value)


def _describe_schema(text: str) -> str:
    fields = json.loads(text)["fields"]
    texts = []
    for each in fields:
        marks = ["not null"] * (not each["nullable"])
        for key, value in each["metadata"].items():
            marks.append("generated" if key == GENERATION_EXPRESSION else f"{key.rpartition('.')[2]} {value}")
        kind = each["type"] if isinstance(each["type"], str) else each["type"]["type"]
        texts.append(" ".join([each["name"], kind, *marks]))
    return f"columns {', '.join(texts)}"


class _Author:
    """Draws operations one by one and performs them on the plain table."""

    def __init__(self, choices: Choices, offer: Offer, purposes: Collection[Purpose] = ()) -> None:
        self.choices, self.offer, self.purposes = choices, offer, purposes
        self.steps: list[Step] = []
        self.past: list[PlainTable | None] = []
        self.next_id = self.next_name = 0

    @property
    def table(self) -> PlainTable:
        table = self.past[-1]
        assert table is not None
        return table

    def add(self, operation: Operation, commit: Operation | None = None) -> Effect | Forbidden | None:
        """Add an operation to the history; None if it makes no sense."""
        step = Step(operation, commit or {})
        current = self.past[-1] if self.past else None
        try:
            found = perform(current, operation, step.commit, self.past)
        except NotApplicable:
            return None
        self.steps.append(step)
        if step.kind == "clone":  # the history continues on the clone, which has no earlier versions
            self.past = [None] * len(self.past)
        self.past.append(current if isinstance(found, Forbidden) else found.table)
        return found

    # values

    def draw_value(self, column: Column) -> Any:
        choices = self.choices
        if column.nullable and choices.chance(1, 5):
            return None
        match column.type:
            case "long" | "integer":
                return choices.integer(0, 20) - 5
            case "string":
                return choices.pick(("a", "b", "é", "", "a b", "%", "'"))
            case "double":
                return choices.integer(0, 20) / 4
            case "boolean":
                return bool(choices.choose(2))
            case "date":
                return 18_000 + choices.integer(0, 400)
            case "timestamp":
                return 1_600_000_000_000_000 + choices.integer(0, 1_000_000)
        return f"{choices.integer(0, 999)}.{choices.integer(10, 99)}"

    def draw_rows(
        self, low: int = 1, high: int = 5, ids: Sequence[int] = (), table: PlainTable | None = None
    ) -> list[Row]:
        """Draw rows with these ids, and new ones, for the table or another one."""
        rows = []
        table = table or self.table
        chosen = list(ids)
        for _ in self.choices.repeat(low, high):
            chosen.append(self.next_id)
            self.next_id += 1
        for each in chosen:
            values = {
                column.name: self._partition_value(column) if column.name in table.partition_by
                else self.draw_value(column)
                for column in table.columns
                if column.name != ID and not column.generated
            }  # fmt: skip
            rows.append({ID: each, **values})
        return rows

    def _partition_value(self, column: Column) -> Any:
        value = self.draw_value(column)
        return "x" if value == "" else value  # an empty partition value is null

    # conditions

    def draw_where(self) -> Operation | None:
        choices = self.choices
        ids = sorted(row[ID] for row in self.table.rows) or [0]
        usable = [each for each in self.table.columns if each.type in ("long", "integer", "string") and each.name != ID]
        match choices.choose(4):
            case 0:
                tree = conditions.compare(ID, "=", "long", choices.pick(ids))
            case 1:
                tree = conditions.compare(ID, choices.pick((">=", "<")), "long", choices.pick(ids))
            case 2 if usable:
                column = choices.pick(usable)
                if choices.chance(1, 3):
                    tree = ["is_null", ["col", column.name]]
                elif column.type == "string":
                    tree = conditions.compare(column.name, "=", "string", choices.pick(("a", "b", "é")))
                else:
                    sign = choices.pick(("<", ">=", "="))
                    tree = conditions.compare(column.name, sign, column.type, choices.integer(0, 12) - 2)
            case _:
                return None
        return {"sql": conditions.render_sql(tree), "tree": tree}

    def new_name(self) -> str:
        self.next_name += 1
        return f"c{self.next_name}"

    # operations

    def create(self) -> None:
        choices, features = self.choices, self.offer.features
        properties: dict[str, str] = {}
        columns, partition_by = self.draw_columns()
        avoided = {feature for purpose in self.purposes for feature in AVOIDED_FEATURES.get(purpose, ())}
        for feature, enabling in FEATURE_PROPERTIES.items():
            rare = feature in ("appendOnly",)
            is_drawn = feature in features and feature not in _NOT_DRAWN and choices.chance(1, 10 if rare else 3)
            if is_drawn and feature not in avoided:
                properties |= enabling
        for purpose in self.purposes:
            properties |= PROPERTIES_OF_PURPOSES[purpose]
        if RARE_OPERATIONS in self.purposes and ALLOW_DEFAULTS in features and choices.chance(1, 2):
            properties |= FEATURE_PROPERTIES[ALLOW_DEFAULTS]
        if "type changes" in self.purposes:
            columns = (*columns, Column(WIDENED_COLUMN, "integer"))
        if "clustering" in self.purposes:
            columns, partition_by = (*columns, Column(CLUSTERING_COLUMN, "long")), ()
        table = PlainTable(columns, partition_by, properties)
        self.add({"kind": "create", **describe_new_table(table)})

    def convert(self) -> None:
        """Make a table of Parquet files: all columns are nullable, and partition columns are the last ones."""
        columns, partition_by = self.draw_columns()
        columns = tuple(Column(each.name, each.type) for each in columns if not each.generated)
        columns = tuple(sorted(columns, key=lambda each: each.name in partition_by))
        table = PlainTable(columns, partition_by)
        arguments = describe_new_table(table)
        del arguments["properties"]
        self.past.append(None)
        rows = self.draw_rows(1, 6, table=table)
        self.past.pop()
        self.add({"kind": "convert", **arguments, "rows": rows})

    def draw_columns(self) -> tuple[tuple[Column, ...], tuple[str, ...]]:
        """Draw columns and the names of partition columns."""
        choices, features = self.choices, self.offer.features
        columns = [Column(ID, "long")]
        for _ in choices.repeat(1, 4):
            kind = choices.pick(_TYPES)
            columns.append(Column(self.new_name(), kind, nullable=not choices.chance(1, 6)))
        if "generatedColumns" in features and choices.chance(1, 6):
            columns.append(Column(self.new_name(), "long", generated=True))
        partition_by = []
        candidates = [each.name for each in columns[1:-1] if each.type in _PARTITION_TYPES and not each.generated]
        if candidates and choices.chance(1, 3):
            partition_by = [choices.pick(candidates)]
        return tuple(columns), tuple(partition_by)

    def start_purposes(self) -> None:
        """Add the operations that purposes need before others."""
        if "type changes" in self.purposes:
            self.add({"kind": "widen-column", "name": [WIDENED_COLUMN], "type": "long"})
            rows = self.draw_rows()
            self.add({"kind": "append", "rows": [{**rows[0], WIDENED_COLUMN: 2**40}, *rows[1:]]})
        if "clustering" in self.purposes:
            self.add({"kind": CLUSTERED_BY_OTHERS})
            for _ in range(2):
                self.add({"kind": "append", "rows": self.draw_rows(1, 2)})
            self.add({"kind": "optimize"})

    def end_purposes(self) -> None:
        """Add the operations that purposes need after others."""
        if "cleanup" in self.purposes:
            self.add({"kind": "checkpoint", "form": None})
            self.add({"kind": AGE_LOG, "days": self.choices.integer(4, 9), "past_midnight_ms": 0})
            self.add({"kind": "append", "rows": self.draw_rows(1, 2)})
            self.add({"kind": "cleanup-log"})

    def draw_commit(self) -> Operation:
        """Draw options of a commit; most commits have none."""
        choices, found = self.choices, {}
        if choices.chance(1, 8):
            app = choices.pick(("app", "other app"))
            version = self.table.transactions.get(app, 0) + choices.integer(1, 3)
            found["txn"] = {"app_id": app, "version": version}
        if "delta.feature.domainMetadata" in self.table.properties and choices.chance(1, 4):
            name = choices.pick(("kit.a", "kit.b"))
            removes = name in self.table.domains and choices.chance(1, 3)
            found["domains"] = {name: None if removes else f'{{"value": {choices.integer(0, 9)}}}'}
        return found

    def draw_operation(self, *, is_rare: bool) -> None:
        offered = RARE_DRAWERS if is_rare else DRAWERS
        drawers = {kind: drawer for kind, drawer in offered.items() if kind in self.offer.kinds}
        kind = self.choices.pick([kind for kind in drawers for _ in range(1 if is_rare else KINDS[kind].weight)])
        operation = drawers[kind](self)
        if operation is not None:
            self.add({"kind": kind, **operation}, self.draw_commit() if KINDS[kind].changes == "rows" else None)

    def draw_forbidden(self) -> None:
        """Draw an operation that the protocol forbids, if there is one for the table."""
        operation = self.choices.pick(_FORBIDDEN)(self)
        if operation is not None and operation["kind"] in self.offer.kinds:
            self.add(operation)


def describe_new_table(table: PlainTable) -> Operation:
    """Return the arguments of `create` and `replace` that make a table without rows."""
    return {
        "schema": table.render_schema(),
        "partition_by": list(table.partition_by),
        "properties": dict(table.properties),
    }


def _draw_replacement(author: _Author) -> Operation | None:
    """Replace schema, partitioning and rows; the features stay enabled."""
    columns, partition_by = author.draw_columns()
    table = PlainTable(columns, partition_by, author.table.properties)
    return {**describe_new_table(table), "rows": author.draw_rows(table=table)}


def _draw_added_feature(author: _Author) -> Operation | None:
    addable = [name for name in _ADDABLE_FEATURES if name in author.offer.features]
    return {"feature": author.choices.pick(addable)} if addable else None


def _draw_update(author: _Author) -> Operation | None:
    usable = [
        each
        for each in author.table.columns
        if each.name != ID
        and not each.generated
        and each.type in _SETTABLE
        and each.name not in author.table.partition_by
    ]
    if not usable:
        return None
    chosen = author.choices.sample(usable, 1, 2)
    values = {}
    for each in chosen:
        value = author.draw_value(each)
        text = None if value is None else str(value).lower() if each.type == "boolean" else str(value)
        values[each.name] = ["lit", each.type, text]
    return {"set": values, "where": author.draw_where()}


def _draw_overwrite(author: _Author) -> Operation | None:
    if author.choices.chance(2, 3):
        return {"rows": author.draw_rows()}
    low = author.next_id
    rows = author.draw_rows()
    tree = conditions.compare(ID, ">=", "long", author.choices.integer(max(0, low - 4), low))
    return {"rows": rows, "where": {"sql": conditions.render_sql(tree), "tree": tree}}


def _draw_merge(author: _Author) -> Operation | None:
    choices = author.choices
    known = [row[ID] for row in author.table.rows]
    matched = choices.pick(("update", "delete", None))
    not_matched = choices.pick(("insert", None)) if matched else "insert"
    return {
        "rows": author.draw_rows(0 if known else 1, 3, choices.sample(known, 1, 3) if known else ()),
        "on": [ID],
        "matched": matched,
        "not_matched": not_matched,
    }


def _draw_restore(author: _Author) -> Operation | None:
    return {"step": author.choices.choose(len(author.past))}


def _draw_compaction(author: _Author) -> Operation | None:
    if len(author.past) < 3:
        return None
    start = author.choices.integer(1, len(author.past) - 2)
    return {"start_step": start, "end_step": len(author.past) - 1}


def _draw_checkpoint(author: _Author) -> Operation | None:
    has_v2 = author.table.properties.get(CHECKPOINT_POLICY) == "v2"
    return {"form": author.choices.pick((None, "v2", "v2-sidecars") if has_v2 else (None, "v1", "multipart"))}


def _draw_properties(author: _Author) -> Operation | None:
    choices = author.choices
    options = [dict(each) for each in _NEUTRAL_PROPERTIES]
    for feature in ("deletionVectors", "changeDataFeed", "appendOnly"):
        for name in FEATURE_PROPERTIES[feature] if feature in author.offer.features else ():
            options.append({name: "false" if author.table.is_enabled(name) else "true"})
    return {"properties": choices.pick(options)}


def _draw_constraint(author: _Author) -> Operation | None:
    if "checkConstraints" not in author.offer.features:
        return None
    return {"name": author.new_name(), **_constraint(">=", 0)}


def _constraint(sign: str, value: int) -> Operation:
    tree = conditions.compare(ID, sign, "long", value)
    return {"sql": f"{ID} {sign} {value}", "tree": tree}


def _draw_dropped_constraint(author: _Author) -> Operation | None:
    names = sorted(author.table.constraints)
    return {"name": author.choices.pick(names)} if names else None


def _draw_added_column(author: _Author) -> Operation | None:
    return {"name": [author.new_name()], "type": author.choices.pick(_TYPES)}


def _draw_column_to_change(author: _Author) -> str | None:
    table = author.table
    names = [each.name for each in table.columns if each.name not in (ID, *table.partition_by) and not each.generated]
    return author.choices.pick(names) if len(names) > 1 else None


def _draw_dropped_column(author: _Author) -> Operation | None:
    name = _draw_column_to_change(author) if author.table.maps_columns else None
    return None if name is None else {"name": [name]}


def _draw_renamed_column(author: _Author) -> Operation | None:
    name = _draw_column_to_change(author) if author.table.maps_columns else None
    return None if name is None else {"from": [name], "to": [author.new_name()]}


def _draw_evolution(author: _Author) -> tuple[tuple[Column, ...], Operation]:
    """Draw new columns, and return them after those of the table."""
    new = [Column(author.new_name(), author.choices.pick(_TYPES)) for _ in author.choices.repeat(1, 2)]
    schema = json.dumps({"type": "struct", "fields": [each.to_json() for each in new]})
    return (*author.table.columns, *new), {"new_columns": schema}


def _draw_evolving_append(author: _Author) -> Operation | None:
    columns, arguments = _draw_evolution(author)
    return {"rows": author.draw_rows(table=replace(author.table, columns=columns)), **arguments}


def _draw_evolving_merge(author: _Author) -> Operation | None:
    choices = author.choices
    columns, arguments = _draw_evolution(author)
    known = [row[ID] for row in author.table.rows]
    ids = choices.sample(known, 1, 3) if known else ()
    matched = choices.pick(("update", "delete", None))
    return {
        "rows": author.draw_rows(0 if ids else 1, 3, ids, replace(author.table, columns=columns)),
        "on": [ID],
        "matched": matched,
        "not_matched": "insert" if matched != "update" or choices.chance(1, 2) else None,
        **arguments,
    }


def _draw_default(author: _Author) -> Operation | None:
    usable = [each for each in author.table.columns if each.type in ("long", "integer") and not each.generated
              and each.name not in (ID, *author.table.partition_by)]  # fmt: skip
    if not usable:
        return None
    column = author.choices.pick(usable)
    is_removed = column.default is not None and author.choices.chance(1, 2)
    return {"name": [column.name], "sql": None if is_removed else str(author.choices.integer(0, 99))}


def _draw_append_without(author: _Author) -> Operation | None:
    """Draw rows without values of the columns that have a default."""
    names = [each.name for each in author.table.columns if each.default is not None]
    rows = author.draw_rows()
    return {"rows": [{key: each for key, each in row.items() if key not in names} for row in rows]} if names else None


def _draw_clustering(author: _Author) -> Operation | None:
    if not {"clustering", "domainMetadata"} <= author.offer.features:
        return None
    usable = [each.name for each in author.table.columns if each.type != "boolean" and not each.generated]
    is_removed = author.table.cluster_by and author.choices.chance(1, 3)
    return {"columns": [] if is_removed else [[name] for name in author.choices.sample(usable, 1, 2)]}


Drawer: TypeAlias = Callable[[_Author], Operation | None]
DRAWERS: dict[str, Drawer] = {
    "append": lambda author: {"rows": author.draw_rows()},
    "replace": _draw_replacement,
    "add-feature": _draw_added_feature,
    "delete": lambda author: {"where": author.draw_where()},
    "update": _draw_update,
    "merge": _draw_merge,
    "overwrite": _draw_overwrite,
    "checkpoint": _draw_checkpoint,
    "optimize": lambda _: {},
    "purge": lambda _: {},
    "restore": _draw_restore,
    "vacuum": lambda _: {"retention_hours": 200},
    "checksum": lambda _: {},
    "compact-log": _draw_compaction,
    "cleanup-log": lambda _: {},
    "set-properties": _draw_properties,
    "add-column": _draw_added_column,
    "rename-column": _draw_renamed_column,
    "drop-column": _draw_dropped_column,
    "add-constraint": _draw_constraint,
    "drop-constraint": _draw_dropped_constraint,
}
"""Arguments of an operation of each kind; None if it makes no sense for the table."""
RARE_DRAWERS: dict[str, Drawer] = {
    "clone": lambda _: {},
    "append-with-evolution": _draw_evolving_append,
    "append": _draw_append_without,
    "merge-with-evolution": _draw_evolving_merge,
    "overwrite-partitions": lambda author: {"rows": author.draw_rows()} if author.table.partition_by else None,
    "set-default": _draw_default,
    "cluster-by": _draw_clustering,
}
"""The same for histories with the purpose `RARE_OPERATIONS`."""


def _forbid_null(author: _Author) -> Operation | None:
    names = [each.name for each in author.table.columns if not each.nullable]
    if not names:
        return None
    rows = author.draw_rows(1, 1)
    return {"kind": "append", "rows": [{**rows[0], names[0]: None}]}


def _forbid_by_constraint(author: _Author) -> Operation | None:
    if not author.table.constraints:
        return None
    rows = author.draw_rows(1, 2)
    return {"kind": "append", "rows": [{**rows[0], ID: -1 - author.next_id}, *rows[1:]]}


def _forbid_constraint(author: _Author) -> Operation | None:
    if not author.table.rows or "checkConstraints" not in author.offer.features:
        return None
    return {"kind": "add-constraint", "name": author.new_name(), **_constraint("<", author.table.rows[0][ID])}


def _forbid_removal(author: _Author) -> Operation | None:
    if not author.table.is_enabled(APPEND_ONLY) or not author.table.rows:
        return None
    return {"kind": "delete", "where": None}


def _forbid_generated_value(author: _Author) -> Operation | None:
    names = [each.name for each in author.table.columns if each.generated]
    if not names:
        return None
    (row,) = author.draw_rows(1, 1)
    return {"kind": "append", "rows": [{**row, names[0]: row[ID] + 7}]}


def _forbid_column_change(author: _Author) -> Operation | None:
    if author.table.maps_columns:
        return None
    name = _draw_column_to_change(author)
    if name is None:
        return None
    if "drop-column" in author.offer.kinds:
        return {"kind": "drop-column", "name": [name]}
    return {"kind": "rename-column", "from": [name], "to": [author.new_name()]}


_FORBIDDEN = (
    _forbid_null,
    _forbid_by_constraint,
    _forbid_constraint,
    _forbid_removal,
    _forbid_generated_value,
    _forbid_column_change,
)


def draw_history(choices: Choices, offer: Offer, purposes: Collection[Purpose] = ()) -> tuple[Step, ...]:
    """Draw a history that begins with the creation of a table.

    Args:
        choices: source of choices.
        offer: kinds and features of the writer; others are not used.
        purposes: what the history must test, as in `list_purposes`.
    """
    author = _Author(choices, offer, purposes)
    is_rare = RARE_OPERATIONS in purposes
    if is_rare and "convert" in offer.kinds and choices.chance(1, 4):
        author.convert()
    else:
        author.create()
        author.add({"kind": "append", "rows": author.draw_rows()})
    author.start_purposes()
    for _ in choices.repeat(4, MOST_STEPS):
        if choices.chance(1, 5):
            author.draw_forbidden()
        else:
            author.draw_operation(is_rare=is_rare and choices.chance(1, 2))
    author.end_purposes()
    if choices.chance(1, 6):
        author.add({"kind": UNKNOWN_FEATURE})
        author.add({"kind": "append", "rows": author.draw_rows(1, 1)})
    return tuple(author.steps)
