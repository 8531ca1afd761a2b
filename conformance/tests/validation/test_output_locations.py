"""Nothing is written into a table, whatever its place is called."""

from pathlib import Path

import pytest

from deltaspec.errors import InvalidUsage
from deltaspec.validation.output_location import require_outside_table


@pytest.mark.parametrize("place", ["found.parquet", "day=1/found.parquet", "_delta_log/found", "../table/found"])
def test_places_in_a_table_are_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    for prefix in ("", "file://"):
        with pytest.raises(InvalidUsage, match="is in a table"):
            require_outside_table(f"{prefix}{tmp_path}/table/{place}", None)


def test_places_beside_a_table_are_taken(tmp_path: Path) -> None:
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    require_outside_table(str(tmp_path / "found.parquet"), str(tmp_path / "table"))
    require_outside_table("s3a://bucket/found", "s3://bucket/table")
    require_outside_table("s3a://bucket/table-found", "s3://bucket/table")


@pytest.mark.parametrize("place", ["s3a://bucket/table/found", "s3://bucket/table", "s3a://bucket/other/../table/x"])
def test_places_in_a_table_of_a_store_are_refused(place: str) -> None:
    with pytest.raises(InvalidUsage, match="is in a table"):
        require_outside_table(place, "s3://bucket/table")
