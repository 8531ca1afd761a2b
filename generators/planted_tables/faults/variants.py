"""Planted faults of variants: column roles, encoding, shredding and its feature."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.protocol.property_names import GENERATION_EXPRESSION, VARIANT_SHREDDING
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.variants import (
    EMPTY,
    EMPTY_OBJECT,
    ENABLED,
    METADATA,
    NAMES,
    NO_NAMES,
    NUMBER,
    OBJECT,
    OBJECT_OF_B,
    SHREDDED,
    TEXT,
    VALUE,
    build_shredded_arrays,
    build_shredded_column,
    build_table_with_variants,
    build_unshredded_column,
    build_variant_field,
    build_variant_table,
)
from planted_tables.faults.registry import draw_one, planted_fault
from planted_tables.faults.statistics import variant_bounds_too_early as _bounds_too_early

# roles of variant columns


@planted_fault("variant.feature")
def variant_without_its_feature(draw: st.DrawFn) -> TableFiles:
    """The type as a name, or as an object as in the protocol's example."""
    kind = draw_one(draw, "variant", {"type": "variant"})
    inner = {"type": "struct", "fields": [{**build_variant_field(), "type": kind}]}
    nested = {"type": "array", "elementType": kind, "containsNull": True}
    pairs = {"type": "map", "keyType": "string", "valueType": kind, "valueContainsNull": True}
    protocol = draw_one(draw, None, protocol_action(3, 7, [], []), protocol_action(2, 5))
    return log_only.build_table(
        protocol=protocol, fields=[("id", "long"), ("v", draw_one(draw, kind, inner, nested, pairs))]
    )


@planted_fault("variant.not-partitioning")
def partitions_by_a_variant(draw: st.DrawFn) -> TableFiles:
    value = draw_one(draw, None, "1")
    return build_variant_table([("id", "long"), build_variant_field()], partition_columns=["v"], partition={"v": value})


@planted_fault("variant.not-clustering")
def clusters_by_a_variant(draw: st.DrawFn) -> TableFiles:
    inner = {"type": "struct", "fields": [build_variant_field()]}
    top, nested = [("id", "long"), build_variant_field()], [("s", inner)]
    fields, path = draw_one(draw, (top, ["v"]), (top, "v"), (top, ["V"]), (nested, ["s", "v"]), (nested, "s.v"))
    files = build_variant_table(fields, writer=["clustering", "domainMetadata"])
    counts: dict[str, Any] = {"v": 0} if fields is top else {"s": {"v": 0}}
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = json.dumps({"numRecords": 10, "nullCount": counts})
    files.commits[0].append(domain_action("delta.clustering", json.dumps({"clusteringColumns": [path]})))
    return files


@planted_fault("variant.not-generated")
def generates_a_variant(draw: st.DrawFn) -> TableFiles:
    expression = draw_one(draw, "parse_json(name)", "to_variant_object(struct(id))", "v2")
    generated = build_variant_field(**{GENERATION_EXPRESSION: expression})
    fields = [("id", "long"), ("name", "string"), ("v2", "variant"), generated]
    return build_variant_table(fields, writer=["generatedColumns"])


@planted_fault("variant.default-null")
def variant_defaults_to_a_value(draw: st.DrawFn) -> TableFiles:
    default = draw_one(
        draw, "parse_json('{\"a\": 1}')", "CAST(1 AS VARIANT)", "PARSE_JSON('3')", "cast('x' as variant)", "7"
    )
    return build_variant_table(
        [("id", "long"), build_variant_field(CURRENT_DEFAULT=default)], writer=["allowColumnDefaults"]
    )


@planted_fault("variant.bounds-need-shredding", "rows")
def variant_bounded_without_shredding(draw: st.DrawFn) -> TableFiles:
    return _bounds_too_early(draw)


# encoding in files


@planted_fault("variant.encoding", "rows")
def variant_of_other_bytes(draw: st.DrawFn) -> TableFiles:
    valid = (NAMES, OBJECT)
    metadata = (
        b"",
        b"\x02\x00\x00",
        b"\x01\x02\x00\x01",
        NAMES + b"c",
        b"\x01\x01\x00\x01\xff",
        b"\x11\x02\x00\x01\x02ba",
        None,
    )
    value = (
        *(b"", b"{}", TEXT[:2], NUMBER + b"\x00", b"\x40\x05\x00\x00\x00abc", b"\x05\xff", b"\x20\x27\x00\x00\x00\x00"),
        *(OBJECT[:5], bytes([2, 1, 2, 0, 2]) + NUMBER, bytes([2, 2, 1, 0, 0, 2, 6]) + NUMBER + TEXT, None),
        *(bytes([3, 1, 4, 2]) + NUMBER, bytes([3, 1, 0, 9]) + NUMBER, bytes([3, 2, 0, 0, 2]) + NUMBER),
        b"\x20\x00" + (10**9).to_bytes(4, "little"),
    )
    broken = draw_one(draw, *((each, OBJECT) for each in metadata), *((NAMES, each) for each in value))
    return build_table_with_variants(build_unshredded_column(valid, broken))


@planted_fault("variant.encoding", "rows")
def shredded_variant_of_other_bytes(draw: st.DrawFn) -> TableFiles:
    broken = draw_one(draw, (TEXT[:2], None), (None, {"value": b"\x05\xff"}), (bytes([2, 1, 2, 0, 2]) + NUMBER, {}))
    return build_table_with_variants(build_shredded_column((None, {"typed_value": 3}), broken), configuration=ENABLED)


@planted_fault("variant-shredding.stored-once", "rows")
def variant_part_in_both_places(draw: st.DrawFn) -> TableFiles:
    twice = draw_one(
        draw,
        (OBJECT, {"typed_value": 5}),
        (None, {"typed_value": 5, "value": NUMBER}),
        (OBJECT, {"value": NUMBER}),
        (OBJECT, {}),
        (NUMBER, {"typed_value": 5}),
    )
    return build_table_with_variants(build_shredded_column((None, {"typed_value": 3}), twice), configuration=ENABLED)


@planted_fault("variant-shredding.objects-typed", "rows")
def object_beside_its_typed_column(draw: st.DrawFn) -> TableFiles:
    """The object has the field with a column, another one, or none."""
    odd = draw_one(draw, OBJECT, OBJECT_OF_B, EMPTY_OBJECT)
    return build_table_with_variants(build_shredded_column((NUMBER, None), (odd, None)), configuration=ENABLED)


@planted_fault("variant-shredding.arrays-typed", "rows")
def array_beside_its_typed_column(draw: st.DrawFn) -> TableFiles:
    odd = draw_one(draw, bytes([3, 0, 0]), bytes([3, 1, 0, 2]) + NUMBER)
    return build_table_with_variants(build_shredded_arrays((None, []), (odd, None)), configuration=ENABLED)


@planted_fault("variant-shredding.present", "rows")
def shredded_variant_is_missing(draw: st.DrawFn) -> TableFiles:
    """A value of the column, or an element of an array."""
    values = draw_one(
        draw,
        build_shredded_column((None, {"typed_value": 3}), (None, None)),
        build_shredded_arrays((None, [{"typed_value": 3}, {}])),
    )
    return build_table_with_variants(values, configuration=ENABLED)


@planted_fault("variant-shredding.names-in-metadata", "rows")
def shredded_field_without_a_name(draw: st.DrawFn) -> TableFiles:
    field = draw_one(draw, {"typed_value": 3}, {"value": NUMBER}, {"value": b"\x00"})
    names = draw_one(draw, NO_NAMES, b"\x11\x01\x00\x01b")
    row = {"metadata": names, "value": None, "typed_value": {"a": {**EMPTY, **field}}}
    return build_table_with_variants(pa.array([row], SHREDDED), configuration=ENABLED)


@planted_fault("variant-shredding.typed-column-form", "footers")
def shredded_into_an_unlisted_type(draw: st.DrawFn) -> TableFiles:
    """At the top, in an object or in an array."""
    scalar = draw_one(
        draw,
        pa.uint8(),
        pa.uint32(),
        pa.uint64(),
        pa.float16(),
        pa.timestamp("ms", "UTC"),
        pa.time32("ms"),
        pa.binary(5),
    )
    pair = pa.struct([VALUE, ("typed_value", scalar)])
    typed = draw_one(draw, scalar, pa.struct([pa.field("a", pair, False)]), pa.list_(pa.field("element", pair, False)))
    kind = pa.struct([METADATA, VALUE, ("typed_value", typed)])
    values = pa.array([{"metadata": NAMES, "value": NUMBER, "typed_value": None}], kind)
    return build_table_with_variants(values, configuration=ENABLED)


@planted_fault("variant.unshredded-form", "footers")
def typed_value_of_no_form(draw: st.DrawFn) -> TableFiles:
    """An invalid type, or fields and elements that are not pairs of value and typed_value."""
    more = pa.struct([("value", pa.binary()), ("more", pa.int64())])
    typed = draw_one(
        draw,
        *(pa.uint32(), pa.map_(pa.string(), pa.int64()), pa.list_(pa.int64()), pa.struct([("a", pa.int64())])),
        *(pa.struct([("a", more)]), pa.struct([("a", pa.struct([("typed_value", pa.uint8())]))]), pa.list_(more)),
    )
    kind = pa.struct([METADATA, VALUE, ("typed_value", typed)])
    return build_table_with_variants(pa.array([{"metadata": NAMES, "value": TEXT, "typed_value": None}], kind))


# shredding and its feature


@planted_fault("variant.unshredded-without-feature", "footers")
def shredded_where_only_variants_are_supported(draw: st.DrawFn) -> TableFiles:
    values = draw_one(
        draw, build_shredded_column((None, {"typed_value": 3})), build_shredded_column((TEXT, None), (None, None))
    )
    return build_table_with_variants(values, features=["variantType"])


@planted_fault("variant-shredding.feature", "footers")
def shredded_with_another_feature(draw: st.DrawFn) -> TableFiles:
    others = draw_one(draw, ["deletionVectors"], ["typeWidening", "timestampNtz"])
    return build_table_with_variants(
        build_shredded_column((None, {"typed_value": 3})), features=["variantType", *others]
    )


@planted_fault("variant-shredding.older-files", "footers")
def shredded_before_the_upgrade(draw: st.DrawFn) -> TableFiles:
    """A file older than the variant column, in a table that supports variants but not shredding."""
    files = build_table_with_variants(
        build_shredded_column((None, {"typed_value": 3}), (TEXT, None)), features=["variantType"]
    )
    upgrade, later = files.commits[0][1:3]
    files.commits[0][1:3] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    files.commits[3] = [
        commit_info_action(3, operation=draw_one(draw, "UPGRADE PROTOCOL", "ADD COLUMNS")),
        upgrade,
        later,
    ]
    return files


@planted_fault("variant-shredding.property-needs-feature")
def shredding_enabled_without_its_feature(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(draw, protocol_action(3, 7, ["variantType"], ["variantType"]), protocol_action(1, 2))
    return log_only.build_table(protocol=protocol, configuration=ENABLED)


@planted_fault("variant-shredding.only-when-enabled", "footers")
def shredded_while_not_enabled(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_variants(build_shredded_column((None, {"typed_value": 3})))
    return files if draw(st.booleans()) else _enable_after_file(files)


@planted_fault("variant-shredding.enabled", "footers")
def shredded_while_the_property_is_false(draw: st.DrawFn) -> TableFiles:
    return build_table_with_variants(
        build_shredded_column((None, {"typed_value": 3}), (TEXT, None)),
        configuration={VARIANT_SHREDDING: "false"},
    )


def _enable_after_file(files: TableFiles) -> TableFiles:
    """Enable shredding one version after the file was added."""
    files.commits[3] = [commit_info_action(3), metadata_action([build_variant_field()], configuration=ENABLED)]
    return files
