"""The Arrow schema in a file decides nothing: neither types, nor whether the file can be read."""

import base64
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.recording_run import MemoryStore
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.wire.parquet.arrow_schema import open_by_parquet_schema, rename_arrow_schema
from deltaspec.wire.parquet.footer_reader import FooterReader
from deltaspec.wire.storage.data_access import DataAccess

VALUES = pa.table(
    {
        "number": pa.array([1, None, 3], pa.int64()),
        "text": pa.array(["a", None, "c"]),
        "moment": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
        "v": pa.array([{"metadata": b"m", "value": b"v"}, None, {"metadata": b"", "value": None}]),
    }
)
NUMBERS = [pa.duration(unit) for unit in ("s", "ms", "us", "ns")] + [pa.uint64(), pa.int32(), pa.date64()]
NUMBERS += [pa.dictionary(pa.int32(), pa.int64()), pa.time64("us"), pa.timestamp("ns"), pa.decimal256(40, 0)]
NUMBERS += [pa.run_end_encoded(pa.int32(), pa.int64()), pa.month_day_nano_interval()]
TEXTS = [pa.large_string(), pa.string_view(), pa.large_binary(), pa.dictionary(pa.int8(), pa.string()), pa.json_()]
TEXTS += [pa.binary(4), pa.decimal128(5, 2)]
MOMENTS = [pa.timestamp("s", "America/New_York"), pa.timestamp("us"), pa.timestamp("us", "no zone"), pa.duration("us")]
PARTS = [pa.binary_view(), pa.large_binary(), pa.string(), pa.fixed_shape_tensor(pa.int8(), [2])]
arrow_schemas = st.builds(
    lambda number, text, moment, part: pa.schema(
        {"number": number, "text": text, "moment": moment, "v": pa.struct([("metadata", part), ("value", part)])}
    ),
    *map(st.sampled_from, (NUMBERS, TEXTS, MOMENTS, PARTS)),
)
entries = st.one_of(
    arrow_schemas.map(lambda schema: base64.b64encode(schema.serialize().to_pybytes())),
    st.binary(max_size=50),
    st.binary(max_size=50).map(base64.b64encode),
    st.integers(0, 200).map(lambda cut: base64.b64encode(VALUES.schema.serialize().to_pybytes()[:cut])),
    st.integers(0, 20_000).map(bytes),
)


def encode(table: pa.Table, entry: bytes | None) -> bytes:
    """Encode a file, with this Arrow schema if any."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        if entry is not None:
            writer.add_key_value_metadata({b"ARROW:schema": entry, b"other": b"ARROW:schema"})
    return sink.getvalue()


@settings(max_examples=60)
@given(entries)
def test_arrow_schema_changes_nothing(entry: bytes) -> None:
    plain = pq.ParquetFile(io.BytesIO(encode(VALUES, None)))
    data = encode(VALUES, entry)
    opened = open_by_parquet_schema(io.BytesIO(data))
    assert opened.schema_arrow.remove_metadata() == plain.schema_arrow
    assert opened.read().cast(plain.schema_arrow).equals(plain.read())
    assert FooterReader(DataAccess(MemoryStore({"a": data}))).read("a").row_count == VALUES.num_rows


def test_other_metadata_and_columns_keep_their_names() -> None:
    table = pa.table({"ARROW:schema": [1, 2]})
    data = encode(table, b"x")
    opened = open_by_parquet_schema(io.BytesIO(data))
    assert opened.read().to_pydict() == {"ARROW:schema": [1, 2]}
    assert opened.metadata.metadata[b"other"] == b"ARROW:schema"


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1\x00\x00\x00\x00PAR1", b"\xff" * 20, b"\xff\xff\xff\x7fPAR1"])
def test_broken_files_are_refused_as_by_arrow(data: bytes) -> None:
    with pytest.raises((pa.ArrowInvalid, OSError)):
        open_by_parquet_schema(io.BytesIO(data))


def test_large_footer_is_read_completely() -> None:
    names = [f"column_{number:0100}" for number in range(400)]
    data = encode(pa.table({name: [1] for name in names}), b"x")
    assert open_by_parquet_schema(io.BytesIO(data)).schema_arrow.names == names


@given(st.binary(max_size=100))
def test_any_footer_keeps_its_length(footer: bytes) -> None:
    assert len(rename_arrow_schema(footer)) == len(footer)
