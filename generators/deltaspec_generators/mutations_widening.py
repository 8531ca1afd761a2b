"""Tables whose types change as the text does not let them, or whose schemas do not tell of it."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators import bases, data_bases
from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, metadata_action, protocol_action, remove_action
from deltaspec_generators.mutations import mutation, pick
from deltaspec_generators.widening_bases import (
    ENABLED,
    FEATURES,
    array,
    change,
    column,
    pairs,
    struct,
    table,
    widening_data,
)

# what schemas record


@mutation("type-widening.feature")
def type_changes_without_the_feature(draw: st.DrawFn) -> TableFiles:
    protocol = pick(draw, protocol_action(1, 2), protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"]))
    return bases.plain(protocol=protocol, fields=[("id", "long"), column("long", [change("integer", "long")])])


@mutation("type-widening.changes-are-list")
def type_changes_of_another_form(draw: st.DrawFn) -> TableFiles:
    record = pick(draw, change("integer", "long"), 1, True, [change("integer", "long"), "long"], [[]])
    return table(column("long", record))


@mutation("type-widening.changes-are-list")
def type_changes_in_a_text(draw: st.DrawFn) -> TableFiles:
    return table(column("long", pick(draw, json.dumps([change("integer", "long")]), "[]", "long")))


@mutation("type-widening.changes-name-types")
def type_change_of_unnamed_types(draw: st.DrawFn) -> TableFiles:
    wrong = pick(draw, {"fromType": "integer"}, {"toType": "long"}, change("int", "long"), {"from": "x", "to": "y"})
    return table(column("long", [wrong]))


@mutation("type-widening.changes-name-place")
def type_change_of_an_unnamed_place(draw: st.DrawFn) -> TableFiles:
    kind, place = pick(
        draw,
        (array("long"), None),
        (array("long"), "items"),
        (pairs("string", "long"), "element"),
        (pairs("string", array("long")), "value"),
        ("long", "element"),
    )
    return table(column(kind, [change("integer", "long", place)]))


@mutation("type-widening.changes-in-metadata")
def type_change_noted_further_out(draw: st.DrawFn) -> TableFiles:
    """With the column, not with the field of the struct in it."""
    inner = struct(column("long", name="x"))
    kind, place = pick(draw, (inner, None), (inner, "x"), (array(inner), "element"), (pairs("string", inner), "value"))
    return table(column(kind, [change("integer", "long", place)]))


@mutation("type-widening.supported-changes")
def unlisted_type_change_recorded(draw: st.DrawFn) -> TableFiles:
    before, after = pick(draw, *_UNLISTED)
    return table(column(after, [change(before, after)]))


@mutation("type-widening.recorded")
def type_changes_that_lack_one(draw: st.DrawFn) -> TableFiles:
    record = pick(
        draw,
        [change("byte", "short"), change("integer", "long")],
        [change("byte", "short")],
        [change("short", "integer")],
    )
    return table(column("long", record))


# what commits do

_UNLISTED = (
    ("long", "integer"),
    ("long", "double"),
    ("double", "float"),
    ("integer", "string"),
    ("timestamp_ntz", "date"),
    ("decimal(10,2)", "decimal(10,4)"),
    ("decimal(10,2)", "decimal(12,1)"),
    ("long", "decimal(19,0)"),
    ("integer", "decimal(10,1)"),
    ("float", "decimal(38,10)"),
    ("string", "binary"),
)


@mutation("type-widening.supported-changes")
def type_changed_in_an_unlisted_way(draw: st.DrawFn) -> TableFiles:
    before, after = pick(draw, *_UNLISTED)
    form = pick(draw, lambda kind: kind, array, lambda kind: pairs("string", kind))
    return table(column(form(before)), column(form(after)))


@mutation("type-widening.supported-changes")
def nested_type_changed(draw: st.DrawFn) -> TableFiles:
    kinds = ("integer", array("integer"), struct(column("integer", name="x")), pairs("string", "integer"))
    before, after = pick(draw, *((old, new) for old in kinds for new in kinds if old != new))
    return table(column(before), column(after))


@mutation("type-widening.only-when-enabled")
def widened_while_not_enabled(draw: st.DrawFn) -> TableFiles:
    settings = pick(draw, {}, {"delta.enableTypeWidening": "false"})
    return table(column("integer"), column("long", [change("integer", "long")]), settings=settings)


@mutation("type-widening.changes-for-iceberg")
def widened_in_a_way_iceberg_does_not_know(draw: st.DrawFn) -> TableFiles:
    before, after = pick(
        draw,
        ("byte", "double"),
        ("integer", "double"),
        ("date", "timestamp_ntz"),
        ("decimal(10,2)", "decimal(12,3)"),
        ("short", "decimal(10,0)"),
        ("long", "decimal(20,0)"),
    )
    # the feature counts, whether its property is set or not
    files = table(column(before), column(after, [change(before, after)]))
    version = pick(draw, "V1", "V2")
    readers = [*FEATURES, "columnMapping"]
    files.commits[0][1] = protocol_action(3, 7, readers, [*readers, f"icebergCompat{version}"])
    return files


@mutation("type-widening.recorded")
def widened_without_a_record(draw: st.DrawFn) -> TableFiles:
    first, then = pick(
        draw,
        (column("integer"), column("long")),
        (column(array("byte")), column(array("short"))),
        (column(struct(column("float", name="x"))), column(struct(column("double", name="x")))),
        (
            column(pairs("short", "short")),
            column(pairs("integer", "integer"), [change("short", "integer", "key")]),
        ),
    )
    return table(first, then)


@mutation("type-widening.kept", "footers")
def type_changes_forgotten(draw: st.DrawFn) -> TableFiles:
    first, second = change("byte", "integer"), change("integer", "long")
    left = pick(draw, None, [], [second], [change("byte", "long")])
    rows = data_bases.rows(0).append_column("c", pa.array(range(10), pa.int8()))
    files = widening_data((rows, rows, rows), "byte")
    steps = (column("integer", [first]), column("long", [first, second]), column("long", left))
    for version, step in enumerate(steps, start=3):
        fields: list[Any] = [*data_bases.FIELDS, step]
        files.commits[version] = [commit_info(version), metadata_action(fields, configuration=ENABLED)]
    return files


@mutation("type-widening.gone-with-feature")
def traces_left_by_a_dropped_feature(draw: st.DrawFn) -> TableFiles:
    """The record, the property, or both; files of the older type are gone or not."""
    record = [change("integer", "long")]
    files = table(column("integer"), column("long", record))
    left, settings = pick(draw, (record, ENABLED), (record, {}), (None, ENABLED))
    later = metadata_action([("id", "long"), column("long", left)], configuration=settings)
    removes = [remove_action(row) for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    files.commits[4] = [commit_info(4), later, protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"]), *removes]
    return files
