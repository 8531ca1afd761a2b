"""Outputs inside a table are refused, however the location is written."""

from pathlib import Path

import pytest

from deltaspec.errors import InvalidUsage
from deltaspec.validation.output_location import require_outside_table


@pytest.mark.parametrize("location", ["found.parquet", "day=1/found.parquet", "_delta_log/found", "../table/found"])
def test_locations_in_a_table_are_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    for prefix in ("", "file://"):
        with pytest.raises(InvalidUsage, match="is in a table"):
            require_outside_table(f"{prefix}{tmp_path}/table/{location}", None)


def test_locations_next_to_a_table_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    require_outside_table(str(tmp_path / "found.parquet"), str(tmp_path / "table"))
    require_outside_table("s3a://bucket/found", "s3://bucket/table")
    require_outside_table("s3a://bucket/table-found", "s3://bucket/table")


@pytest.mark.parametrize("location", ["s3a://bucket/table/found", "s3://bucket/table", "s3a://bucket/other/../table/x"])
def test_locations_in_a_table_in_an_object_store_are_refused(location: str) -> None:
    with pytest.raises(InvalidUsage, match="is in a table"):
        require_outside_table(location, "s3://bucket/table")
