"""The columns of deletion vectors are the same whether small vectors are summarized together or decoded one by one."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from deltaspec.protocol.files.deletion_vectors import build_inline_descriptor
from deltaspec.views.files.vector_facts import vector_facts
from deltaspec.wire.data import small_bitmaps

_SCHEMA = {
    "dv_storage_type": pl.String,
    "dv_path_or_inline": pl.String,
    "dv_offset": pl.Int64,
    "dv_size_in_bytes": pl.Int64,
    "dv_cardinality": pl.Int64,
}


def build_rows() -> pl.DataFrame:
    vector = build_inline_descriptor([1, 300])
    text, size = vector.path_or_inline_dv, vector.size_in_bytes
    long = build_inline_descriptor(range(500))
    rows: list[tuple[Any, ...]] = [
        ("i", text, None, size, 2),
        ("i", text, None, size, None),
        ("i", text, None, None, 2),
        ("i", None, None, size, 2),
        ("i", text, None, size, 7),
        ("i", text[:-1], None, size, 2),
        ("i", text, 5, size, 2),
        (None, text, None, size, 2),
        ("x", text, None, size, 2),
        ("u", "ab^-aqEH.-t@S}K{vb[*k^", 1, size, 2),
        ("u", text[:10], 1, size, 2),
        ("p", "file:///tmp/a%20b", 1, size, 2),
        ("p", "relative", 1, size, 2),
        ("i", long.path_or_inline_dv, None, long.size_in_bytes, 500),
        ("i", text, None, size, 2),
    ]
    return pl.DataFrame(rows, _SCHEMA, orient="row")


@pytest.mark.parametrize("repeated", [1, 3])
def test_summaries_change_nothing(repeated: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.concat([build_rows()] * repeated)
    one_by_one = vector_facts(rows)
    assert (
        one_by_one["decoded_last_row"].to_list()
        == [
            *[300, None, None, None, 300, None, 300],
            *[None] * 6,
            *[499, 300],
        ]
        * repeated
    )
    monkeypatch.setattr(small_bitmaps, "FEWEST_VECTORS", 1)
    assert_frame_equal(vector_facts(rows), one_by_one)
    assert_frame_equal(vector_facts(rows.clear()), one_by_one.clear())
