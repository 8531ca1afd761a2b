"""Valid tables with variants, shredded and unshredded."""

from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec_generators import small_tables
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from deltaspec_generators.values.variant_encoder import build_shredded_variants, build_variant_column
from planted_tables.bases.variants import (
    ENABLED,
    METADATA,
    NAMES,
    NUMBER,
    OBJECT_OF_B,
    SHREDDING,
    TEXT,
    VALUE,
    build_shredded_column,
    build_table_with_changed_variant,
    build_table_with_variants,
    build_unshredded_column,
    build_variant_field,
    build_variant_table,
)
from planted_tables.permissions.registry import permission


@permission("variant-shredding.stored-once", "rows")
def parts_of_variants_in_one_place_each() -> TableFiles:
    """A shredded field with others in the value; fields of another type; another type; nothing."""
    in_columns: list[dict[str, Any]] = [{"value": TEXT}, {}, {"value": b"\x00"}]
    rows = [(None, each) for each in in_columns]
    return build_table_with_variants(
        build_shredded_column((OBJECT_OF_B, {"typed_value": 5}), (NUMBER, None), *rows), configuration=ENABLED
    )


@permission("variant-shredding.value", "rows")
def shredded_variants_without_a_value() -> TableFiles:
    kind = pa.struct([METADATA, ("typed_value", pa.int64())])
    values = pa.array([{"metadata": NAMES, "typed_value": each} for each in (1, 2, 3)], kind)
    return build_table_with_variants(values, configuration=ENABLED)


@permission("variant-shredding.typed-value", "rows")
def variants_shredded_as_arrays() -> TableFiles:
    """Elements are a string, a variant null and a number."""
    element = pa.struct([VALUE, ("typed_value", pa.string())])
    kind = pa.struct([METADATA, VALUE, ("typed_value", pa.list_(pa.field("element", element, False)))])
    none = {"value": None, "typed_value": None}
    items = [{**none, "typed_value": "x"}, {**none, "value": b"\x00"}, {**none, "value": NUMBER}]
    rows = [
        {"metadata": NAMES, "value": None, "typed_value": items},
        {"metadata": NAMES, "value": None, "typed_value": []},
        {"metadata": NAMES, "value": OBJECT_OF_B, "typed_value": None},
    ]
    return build_table_with_variants(pa.array([*rows, None], kind), configuration=ENABLED)


@permission("variant-shredding.typed-value", "footers")
def variants_shredded_as_any_scalar() -> TableFiles:
    kinds = (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.date32()),
        *(pa.decimal128(9, 2), pa.decimal128(38, 0), pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC")),
        *(pa.timestamp("ns"), pa.binary(), pa.string()),
    )
    fields = [(f"f{number}", pa.struct([VALUE, ("typed_value", each)])) for number, each in enumerate(kinds)]
    kind = pa.struct([METADATA, VALUE, ("typed_value", pa.struct(fields))])
    values = pa.array([{"metadata": NAMES, "value": TEXT, "typed_value": None}], kind)
    return build_table_with_variants(values, configuration=ENABLED)


@permission("variant-shredding.mixed", "rows")
def both_layouts_in_one_file() -> TableFiles:
    rows = pa.table(
        {
            "v": build_unshredded_column((NAMES, OBJECT_OF_B)),
            "w": build_shredded_column((OBJECT_OF_B, {"typed_value": 5})),
        }
    )
    empty = rows.slice(0, 0)
    files = small_tables.build_table_with_data(
        fields=[build_variant_field(), {**build_variant_field(), "name": "w"}],
        tables=(empty, empty, rows),
        protocol=protocol_action(3, 7, SHREDDING, SHREDDING),
        configuration=ENABLED,
    )
    for version, which, count in ((1, 0, 0), (1, 1, 0), (2, 0, 1)):
        get_action(files, version, "add", which)["stats"] = f'{{"numRecords":{count}}}'
    return files


@permission("variant-shredding.mixed", "rows")
def shredded_files_from_before_it_was_disabled() -> TableFiles:
    """The file is added again after shredding is disabled, but it was not written then."""
    files = build_table_with_variants(build_shredded_column((None, {"typed_value": 3})), configuration=ENABLED)
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False}}
    files.commits[3] = [commit_info_action(3), metadata_action([build_variant_field()])]
    files.commits[4] = [commit_info_action(4), again]
    return files


@permission("variant.null-counts", "rows")
def variants_within_other_types() -> TableFiles:
    """Objects, nulls and strings within a struct, an array and a map."""
    inner = build_variant_column([{"a": 1}, None, "text", {"a": None}])
    rows = pa.table(
        {
            "s": pa.StructArray.from_arrays([inner], ["v"]),
            "l": pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 4], pa.int32()), inner),
            "m": pa.MapArray.from_arrays(pa.array([0, 1, 1, 2, 4], pa.int32()), pa.array(["a", "b", "c", "d"]), inner),
        }
    )
    empty = rows.slice(0, 0)
    kinds = {
        "s": {"type": "struct", "fields": [build_variant_field()]},
        "l": {"type": "array", "elementType": "variant", "containsNull": True},
        "m": {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True},
    }
    features = ["variantType"]
    files = small_tables.build_table_with_data(
        fields=list(kinds.items()), tables=(empty, empty, rows), protocol=protocol_action(3, 7, features, features)
    )
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = '{"numRecords":0}'
    get_action(files, 2, "add")["stats"] = '{"numRecords":4,"nullCount":{"s":{"v":1}}}'
    return files


@permission("variant.other-uses")
def column_generated_from_a_variant() -> TableFiles:
    expression = {GENERATION_EXPRESSION: "variant_get(v, '$.a', 'long')"}
    computed = {"name": "a", "type": "long", "nullable": True, "metadata": expression}
    return build_variant_table(
        [build_variant_field(CURRENT_DEFAULT="CAST(null AS VARIANT)"), computed],
        writer=["generatedColumns", "allowColumnDefaults"],
    )


@permission("variant.other-uses", "rows")
def change_data_with_other_encodings_of_a_variant() -> TableFiles:
    """The change data is not shredded, and the files are shredded differently."""
    old: Any = {"a": 1, "b": ["x", None], "c": {"a": True}}
    new: Any = {"a": "text", "b": {"a": 1}, "c": []}
    return build_table_with_changed_variant(
        "struct",
        before=build_shredded_variants([old], {"a": pa.int64(), "b": [pa.string()]}),
        after=build_shredded_variants([new], {"b": {"a": pa.int64(), "c": None}}),
        changes=build_variant_column([old, new]),
    )
