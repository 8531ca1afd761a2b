"""Schemas that the log states, compared with the columns of Parquet files."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.protocol.log.stated_schema import find_schema_difference
from deltaspec.protocol.schema.parquet_types import Node
from deltaspec.wire.log.checkpoint_summary import start_parquet_summary
from deltaspec_generators.table_files import schema_string

MAP = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}


def struct(**members: object) -> dict[str, object]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in members.items()]
    return {"type": "struct", "fields": fields}


@pytest.fixture(scope="module")
def node() -> Node:
    """Root of the schema of a sidecar with some fields of an add."""
    strings = pa.map_(pa.string(), pa.string())
    add = pa.struct([("path", pa.string()), ("size", pa.int64()), ("tags", strings)])
    sink = io.BytesIO()
    pq.write_table(pa.table({"add": pa.array([], add)}), sink)
    sink.seek(0)
    root = start_parquet_summary("sidecar", "a.parquet", sink).schema
    assert root is not None
    return root


@pytest.mark.parametrize(
    ("stated", "partial", "difference"),
    [
        (schema_string([("add", struct(path="string", size="long", tags=MAP))]), False, None),
        (schema_string([("add", struct(path="string"))]), True, None),
        (
            schema_string([("add", struct(path="string", size="long"))]),
            False,
            "add.tags is missing from the stated schema",
        ),
        (schema_string([("add", struct(path="string")), ("remove", "long")]), True, "remove is missing from the file"),
        (schema_string([("add", struct(stats="string"))]), True, "add.stats is missing from the file"),
    ],
)
def test_columns_are_compared_by_name(node: Node, stated: str, partial: bool, difference: str | None) -> None:
    assert find_schema_difference(stated, node, partial=partial) == difference


@pytest.mark.parametrize("kind", [struct(size="string"), struct(tags="string"), struct(path=struct(a="long")), "long"])
def test_types_are_compared(node: Node, kind: object) -> None:
    found = find_schema_difference(schema_string([("add", kind)]), node, partial=True)
    assert found is not None
    assert "in the file, but" in found


@pytest.mark.parametrize("stated", ["", "not json", "[]", '{"type":"struct"}'])
def test_other_text_is_not_a_schema(node: Node, stated: str) -> None:
    assert str(find_schema_difference(stated, node, partial=True)).startswith("it is not a schema")
