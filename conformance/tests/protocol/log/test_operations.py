"""Operation names of commits."""

import pytest

from deltaspec.protocol.log.operations import reuses_existing_files


@pytest.mark.parametrize("operation", ["RESTORE", "CLONE", "Shallow clone", "CONVERT", "COPY INTO"])
def test_operation_reuses_existing_files(operation: str) -> None:
    assert reuses_existing_files(operation)


@pytest.mark.parametrize("operation", [None, "", "WRITE", "DELETE", "REPLACE TABLE", "ROW TRACKING BACKFILL"])
def test_operation_writes_new_files(operation: str | None) -> None:
    assert not reuses_existing_files(operation)
