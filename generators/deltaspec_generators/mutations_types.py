"""Tables whose data files break what the text says of types, of codecs and pages, and of variants in statistics."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators import data_bases
from deltaspec_generators.bases import action
from deltaspec_generators.builder import TableFiles, protocol_action
from deltaspec_generators.data_bases import parquet, with_data
from deltaspec_generators.mutations import mutation, pick
from deltaspec_generators.variants import column


def _stored(kind: Any, stored: pa.DataType) -> TableFiles:
    """A table with a column `c` of a Delta type, which file c stores as another Arrow type, all null."""
    files = with_data(fields=[*data_bases.FIELDS, ("c", kind)])
    data = parquet(data_bases.rows(20).append_column("c", pa.nulls(10, stored)))
    files.data["c.parquet"] = data
    action(files, 2, "add").update(size=len(data), stats='{"numRecords":10}')
    return files


@mutation("consistency.file-columns", "footers")
def column_of_no_column(draw: st.DrawFn) -> TableFiles:
    choices = (("string", pa.int64()), ("boolean", pa.string()), ("date", pa.string()), ("binary", pa.int32()))
    return _stored(*pick(draw, *choices))


@mutation("schema.number-widths", "footers")
def number_of_another_width(draw: st.DrawFn) -> TableFiles:
    choices = (("integer", pa.int64()), ("long", pa.uint64()), ("float", pa.float64()), ("double", pa.int64()))
    return _stored(*pick(draw, *choices))


# variants


def _variants(values: list[Any], **statistics: Any) -> TableFiles:
    """A table of one variant column, whose last file holds these values and tells this of them."""
    features = ["variantType", "variantShredding"]
    table = pa.table({"v": column(values)})
    empty = table.slice(0, 0)
    protocol = protocol_action(3, 7, features, features)
    files = with_data(fields=[("v", "variant")], tables=(empty, empty, table), protocol=protocol)
    action(files, 2, "add")["stats"] = json.dumps({"numRecords": len(values), **statistics})
    return files


@mutation("statistics.variant-null-count", "rows")
def variant_nulls_miscounted(draw: st.DrawFn) -> TableFiles:
    """A null of the encoding is none of the column."""
    values = [{"a": 1}, None, {"a": None}, "text"]
    return _variants(values, nullCount={"v": pick(draw, 0, 2, 3)})
