"""Variant types are compared with the paths of their bounds; undecidable ones are reported as not checked."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action, write_table
from deltaspec_generators.values.variant_encoder import build_variant_column, encode_variant_bound

FEATURES = ["variantType", "variantShredding"]


def build_table(values: pa.Array, kind: Any = "variant", **statistics: Any) -> TableFiles:
    """Build a table with one column and these values in its last file."""
    rows = pa.table({"v": values})
    empty = rows.slice(0, 0)
    protocol = protocol_action(3, 7, FEATURES, FEATURES)
    files = build_table_with_data(
        fields=[("v", kind)],
        tables=(empty, empty, rows),
        protocol=protocol,
        configuration={"delta.enableVariantShredding": "true"},
    )
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = '{"numRecords":0}'
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": len(values), **statistics})
    return files


def write_and_validate(files: TableFiles, directory: Path) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="rows")


def test_finding_names_the_variant_path(tmp_path: Path) -> None:
    values = build_variant_column([{"a": 1, "b": "x"}, {"a": "text", "b": "y"}, {"a": True}])
    report = write_and_validate(
        build_table(values, minValues={"v": encode_variant_bound({"$['a']": 1, "$['b']": "x"})}), tmp_path
    )
    (finding,) = report.findings
    assert (finding.rule, finding.path, finding.column) == ("STA030", "c.parquet", "v")
    assert finding.evidence["variant_path"] == "$['a']"


@pytest.mark.parametrize(
    "values",
    [
        [{"a": 1}, {"a": None}, {"b": "x"}, None, "text"],
        [{"a": 1}, {"a": -128}],
        [None, None],
        [],
    ],
)
def test_null_and_missing_values_have_no_type(values: list[Any], tmp_path: Path) -> None:
    assert (
        write_and_validate(
            build_table(build_variant_column(values), maxValues={"v": encode_variant_bound({"$['a']": 1})}), tmp_path
        ).totals
        == {}
    )


def test_variants_of_two_types_need_no_bound(tmp_path: Path) -> None:
    values = build_variant_column([{"a": 1}, {"a": "text"}])
    assert write_and_validate(build_table(values, nullCount={"v": 0}), tmp_path).totals == {}


def test_variant_in_a_struct_is_checked(tmp_path: Path) -> None:
    inner = build_variant_column([{"a": 1}, {"a": "text"}])
    structs = pa.StructArray.from_arrays([inner], fields=[pa.field("x", inner.type)])
    fields = [{"name": "x", "type": "variant", "nullable": True, "metadata": {}}]
    kind = {"type": "struct", "fields": fields}
    files = build_table(structs, kind, minValues={"v": {"x": encode_variant_bound({"$['a']": 1})}})
    assert write_and_validate(files, tmp_path).totals == {"STA030": 1}


TYPED = [pa.field("value", pa.binary()), ("typed_value", pa.int64())]
SHREDDED = pa.struct([pa.field("metadata", pa.binary(), False), *TYPED])


def test_types_of_shredded_variants_come_from_their_columns(tmp_path: Path) -> None:
    number, text = {"typed_value": 5, "value": None}, {"typed_value": None, "value": b"\x0dabc"}
    bounds = {"minValues": {"v": encode_variant_bound({"$": 5})}}
    for values, totals in (([number, number], {}), ([number, text], {"STA030": 1})):
        rows = [{"metadata": b"\x11\x00\x00", **each} for each in values]
        directory = tmp_path / str(len(totals))
        directory.mkdir()
        assert write_and_validate(build_table(pa.array(rows, SHREDDED), **bounds), directory).totals == totals


def test_column_in_an_invalid_form_is_not_checked(tmp_path: Path) -> None:
    values = pa.array(
        [{"metadata": "x", "value": b"\x00"}], pa.struct([("metadata", pa.string()), ("value", pa.binary())])
    )
    report = write_and_validate(build_table(values, minValues={"v": encode_variant_bound({"$": 5})}), tmp_path)
    assert set(report.totals) == {"PQT013"}
    assert [each.reason for each in report.checked.not_checked if each.rule == "STA030"] == [
        "v: metadata of v is stored as string"
    ]
