"""Checkpoints of every form."""

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.golden.definition import Chapter
from deltaspec_generators.checkpoint_writer import encode_checkpoint
from deltaspec_generators.data_files.legacy_nesting import LegacyForm, store_as
from deltaspec_generators.table_files import LOG, CheckpointFiles, TableFiles
from deltaspec_generators.table_history.layout import FORMS, V2_FORMS, CheckpointForm
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("checkpoints")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "classic-cleaned-up",
    "A classic checkpoint, everything before it cleaned up, and one commit after it.",
    "checkpoint.equals-replay",
    "last-checkpoint.version",
)
def build_cleaned_up() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple"), (2, "pear"), (3, None)], name="part-0.parquet")
    with table.commit("append one row"):
        table.append([(4, "fig")], name="part 1.parquet")
        table.set_transaction("loader", 7)
    table.remove("part-0.parquet")
    table.append([(5, "kiwi"), (6, "lime")], name="part-2.parquet")
    table.checkpoint(3)
    table.clean_up(3)
    return table


@chapter.case(
    "v2-sidecars",
    "A checkpoint with V2 content as JSON, whose file actions are in two sidecars.",
    "checkpoint.v2-has-metadata",
    "sidecar.files-only",
)
def build_v2_with_sidecars() -> WrittenTable:
    table = WrittenTable(SALES, features=["v2Checkpoint"], properties={"delta.checkpointPolicy": "v2"})
    with table.commit("append three files"):
        for number in range(3):
            table.append([(number, f"item {number}")], name=f"part-{number}.parquet")
    table.remove("part-0.parquet")
    table.append([(3, "item 3")], name="part-3.parquet")
    table.checkpoint(2, form="uuid-json", sidecars=2, hint=False)
    return table


def build_history(*features: str, partitioned: bool = False, **options: Any) -> WrittenTable:
    """Build a table whose versions 0 to 4 have adds, removes, a transaction and a domain."""
    columns = [("id", "long"), ("item", "string"), ("part", "string")]
    table = WrittenTable(
        columns, features=["domainMetadata", *features], partition_by=["part"] if partitioned else [], **options
    )
    table.append([(1, "apple", "p"), (2, "pear", "p"), (3, None, "q")])
    with table.commit("append and record the transaction"):
        table.append([(4, "fig", None)])
        table.set_transaction("loader", 7, lastUpdated=table.timestamp_ms)
        table.set_domain("user.one", '{"a":1}')
    table.delete(lambda row: row["id"] == 2)
    table.append([(5, "kiwi", "q")])
    return table


def needs(form: CheckpointForm) -> list[str]:
    return ["v2Checkpoint"] if form in V2_FORMS else []


SIDECARS = {form: (0, 2) if form in V2_FORMS else (0,) for form in FORMS}
LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("", {}),
    "partitioned": (" of a partitioned table", {"partitioned": True}),
    "struct-statistics": (
        " with statistics as structs, too",
        {"partitioned": True, "properties": {"delta.checkpoint.writeStatsAsStruct": "true"}},
    ),
    "only-struct-statistics": (
        " with statistics only as structs",
        {
            "properties": {
                "delta.checkpoint.writeStatsAsStruct": "true",
                "delta.checkpoint.writeStatsAsJson": "false",
            }
        },
    ),
    "mapped": (" with column mapping", {"mapping": "name", "partitioned": True}),
}
for form in FORMS:
    for sidecars in SIDECARS[form]:
        for layout, (text, options) in LAYOUTS.items():
            if layout == "only-struct-statistics" and form == "uuid-json" and not sidecars:
                continue  # JSON has no struct columns

            def build_layout(
                form: CheckpointForm = form, sidecars: int = sidecars, options: dict[str, Any] = options
            ) -> WrittenTable:
                table = build_history(*needs(form), **options)
                table.checkpoint(3, form=form, sidecars=sidecars)
                table.clean_up(3)
                return table

            chapter.case(
                f"{form}{'-sidecars' if sidecars else ''}.{layout}",
                f"A checkpoint ({form}{f', {sidecars} sidecars' if sidecars else ''}){text}, earlier commits deleted.",
                "checkpoint.equals-replay", "checkpoint.newest-preferred",
                *(["checkpoint-metadata.tags-not-assumed", "reconciliation.checkpoint-actions-not-replayed"]
                  if form in V2_FORMS else []),
                bugs=("ckpt-001", "ckpt-004") if layout == "plain" else (),
            )(build_layout)  # fmt: skip

        def build_not_cleaned_up(form: CheckpointForm = form, sidecars: int = sidecars) -> WrittenTable:
            table = build_history(*needs(form))
            table.checkpoint(2, form=form, sidecars=sidecars, hint=False)
            return table

        chapter.case(
            f"{form}{'-sidecars' if sidecars else ''}.all-commits-kept",
            f"A checkpoint ({form}) of a version in the middle, with all commits and without `_last_checkpoint`.",
            "checkpoint.newest-preferred", "checkpoint.not-beyond-version", "last-checkpoint.hint-not-needed",
        )(build_not_cleaned_up)  # fmt: skip


def point(hint: Any) -> WrittenTable:
    """Build a table with checkpoints of versions 1 and 3 and this `_last_checkpoint`."""
    table = build_history()
    table.checkpoint(1, hint=False)
    table.checkpoint(3, hint=False)
    table.files.last_checkpoint = hint
    return table


HINTS: dict[str, tuple[str, Any]] = {
    "absent": ("is absent", None),
    "stale": ("names the older checkpoint", {"version": 1, "size": 3}),
    "current": ("names the newest checkpoint", {"version": 3, "size": 7}),
    "with-unknown-fields": ("has unknown fields", {"version": 3, "size": 7, "futureField": {"a": [1]}}),
}
for name, (text, hint) in HINTS.items():
    chapter.case(
        f"hint.{name}", f"`_last_checkpoint` {text}.", "checkpoint.newest-preferred", "last-checkpoint.version",
        *(["last-checkpoint.newer-found"] if name == "stale" else []),
        bugs=("ckpt-006",),
    )(lambda hint=hint: point(hint))  # fmt: skip


@chapter.broken(
    "hint.cut-off",
    "`_last_checkpoint` is cut off.",
    "last-checkpoint.form",
    twin="checkpoints.hint.current",
    defect="`_last_checkpoint` is cut off in the middle",
    bugs=("ckpt-008",),
)
def cut_hint(files: TableFiles) -> None:
    files.last_checkpoint = '{"version":3,"si'


@chapter.case(
    "two-of-one-version",
    "A classic checkpoint and one with a UUID of the same version.",
    "checkpoint.several-of-one-version",
    "checkpoint.classic-same-content",
    bugs=("ckpt-009",),
)
def build_two_of_one_version() -> WrittenTable:
    table = build_history("v2Checkpoint")
    table.checkpoint(3, form="uuid-parquet", sidecars=1)
    table.checkpoint(3, form="classic-v2", hint=False)
    table.clean_up(3)
    return table


@chapter.case(
    "three-checkpoints",
    "Checkpoints of three versions, each in another form.",
    "checkpoint.newest-preferred",
    "checkpoint.not-beyond-version",
)
def build_three_checkpoints() -> WrittenTable:
    table = build_history("v2Checkpoint")
    table.checkpoint(1, form="classic-v2", hint=False)
    table.checkpoint(2, form="uuid-json", hint=False)
    table.checkpoint(4, form="uuid-parquet", sidecars=2)
    return table


@chapter.case(
    "incomplete-multipart",
    "A part of a newer multipart checkpoint is missing; an older checkpoint is complete.",
    "checkpoint.incomplete-ignored",
    bugs=("ckpt-009",),
)
def build_incomplete() -> WrittenTable:
    table = build_history()
    table.checkpoint(1, hint=False)
    parts = table.checkpoint(3, form="multipart", parts=3, hint=False)
    table.files.missing.add(f"_delta_log/{parts.names[1]}")
    return table


@chapter.case(
    "four-parts", "A multipart checkpoint with more parts than actions of files.", "checkpoint.multipart-parts"
)
def build_four_parts() -> WrittenTable:
    table = build_history()
    table.checkpoint(3, form="multipart", parts=9)
    table.clean_up(3)
    return table


@chapter.case(
    "unknown-columns",
    "A checkpoint with an unknown action and unknown fields.",
    "action.unknown-ignored",
    "checkpoint.missing-column-is-null",
    bugs=("ckpt-015",),
)
def build_unknown_columns() -> WrittenTable:
    table = build_history()

    def add_unknown(checkpoint: CheckpointFiles) -> None:
        rows = [row for row in checkpoint.rows if isinstance(row, dict)]
        rows = [{kind: {**body, "futureField": "x"} for kind, body in row.items()} for row in rows]
        checkpoint.rows = [*rows, {"futureAction": {"a": 1}}]

    table.checkpoint(3, change=add_unknown)
    table.clean_up(3)
    return table


@chapter.case(
    "absent-columns",
    "A checkpoint without the columns of actions that it does not have.",
    "checkpoint.missing-column-is-null",
    bugs=("ckpt-015",),
)
def build_absent_columns() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])

    def drop(checkpoint: CheckpointFiles) -> None:
        checkpoint.dropped_columns = frozenset({"txn", "remove", "domainMetadata"})

    table.checkpoint(change=drop)
    table.append([(2, "pear")])
    return table


@chapter.case(
    "removed-domain",
    "A domain that was removed before the checkpoint, and one after it.",
    "domain.removed-hidden",
    "checkpoint-contents.has-domains",
    bugs=("ckpt-002",),
)
def build_removed_domains() -> WrittenTable:
    table = WrittenTable(SALES, features=["domainMetadata"])
    for name in ("first", "second", "third"):
        table.set_domain(name, f'{{"name":"{name}"}}')
    table.remove_domain("first")
    table.checkpoint()
    table.remove_domain("second")
    table.clean_up(4)
    return table


@chapter.case(
    "tombstones",
    "The checkpoint has tombstones of files whose adds it does not have.",
    "checkpoint.tombstones-kept",
    "reconciliation.queries-see-live-files",
    bugs=("ckpt-020",),
)
def build_tombstones() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")], name="a b%c.parquet")
    table.append([(2, "pear")])
    table.remove("part-00001.parquet")
    table.checkpoint()
    table.remove("c.parquet")
    return table


@chapter.case("empty-table", "A checkpoint of a table without files.", "checkpoint.equals-replay")
def build_empty() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])
    table.remove("part-00001.parquet")
    table.checkpoint()
    table.clean_up(2)
    return table


@chapter.case("of-version-0", "A checkpoint of version 0.", "checkpoint.any-version")
def build_of_version_0() -> WrittenTable:
    table = WrittenTable(SALES)
    table.checkpoint()
    table.append([(1, "apple")])
    return table


@chapter.case(
    "schema-changed-after",
    "The schema and properties change after the checkpoint.",
    "metadata.replaces-whole",
    bugs=("ckpt-012",),
)
def build_schema_changed() -> WrittenTable:
    table = build_history()
    table.checkpoint()
    table.add_column("price", "double")
    table.append([(6, "nut", None, 1.5)])
    table.checkpoint(6)
    return table


@chapter.case("protocol-changed-after", "The protocol changes after the checkpoint.", "protocol.latest-holds")
def build_protocol_changed() -> WrittenTable:
    table = build_history()
    table.checkpoint()
    table.enable("deletionVectors")
    table.delete(lambda row: row["id"] == 3, by="inline")
    table.clean_up(4)
    return table


def build_stored_otherwise(store: Callable[[bytes], bytes]) -> WrittenTable:
    """Build a table with timestamps, whose only checkpoint is stored in another form."""
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"}
    columns = [("id", "long"), ("at", "timestamp"), ("day", "timestamp")]
    table = WrittenTable(columns, partition_by=["day"], properties=properties)
    moment = 1_767_225_600_123_000
    table.append([(1, moment, moment), (2, None, moment)])
    table.append([(3, moment + 1_000, None)])
    table.remove("part-00001.parquet")
    for path, data in encode_checkpoint(table.checkpoint()).items():
        table.files.extra[LOG + path] = store(data)
    table.append([(4, moment, None)])
    table.clean_up(3)
    return table


def store_times_as_int96(data: bytes) -> bytes:
    """Return a Parquet file with the same rows, whose timestamps are INT96."""
    sink = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(data)), sink, use_deprecated_int96_timestamps=True, store_schema=False)
    return sink.getvalue()


def require_elements(data: bytes) -> bytes:
    """Return a Parquet file with the same rows, whose lists have required elements, as lists of two levels need."""

    def require(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(pa.field("element", require(kind.value_type), nullable=False))
        if pa.types.is_struct(kind):
            return pa.struct([each.with_type(require(each.type)) for each in kind])
        return kind

    table, sink = pq.read_table(io.BytesIO(data)), io.BytesIO()
    schema = pa.schema([each.with_type(require(each.type)) for each in table.schema])
    pq.write_table(table.cast(schema), sink, store_schema=False)
    return sink.getvalue()


chapter.case(
    "legacy-maps",
    "A checkpoint whose maps have the annotation MAP_KEY_VALUE.",
    "checkpoint.equals-replay",
    "parquet.nested-types",
    bugs=("cm-017",),
)(lambda: build_stored_otherwise(lambda data: store_as(data, "key-value-maps")))
for form, text in (("two-levels", "of two levels, with the name array"), ("bags", "as Hive wrote them, named bag")):

    def build_with_lists(form: LegacyForm = form) -> WrittenTable:  # type: ignore[assignment]
        return build_stored_otherwise(lambda data: store_as(require_elements(data), form))

    chapter.case(
        f"legacy-{form}", f"A checkpoint whose lists are {text}.", "checkpoint.equals-replay", "parquet.nested-types"
    )(build_with_lists)
chapter.case("int96", "A checkpoint whose timestamps are INT96.", "checkpoint.equals-replay", "parquet.column-types")(
    lambda: build_stored_otherwise(store_times_as_int96)
)


@chapter.broken(
    "hint.names-nothing",
    "`_last_checkpoint` names a checkpoint that is not there; all commits are.",
    "last-checkpoint.version",
    twin="checkpoints.hint.current",
    defect="`_last_checkpoint` names version 4, which has no checkpoint",
)
def name_missing_checkpoint(files: TableFiles) -> None:
    files.last_checkpoint = {"version": 4, "size": 5}
