"""Files that were certainly written while Iceberg compatibility V2 was enabled."""

import polars as pl
import pytest
from helpers.scenario import metadata, protocol

from deltaspec.protocol.revisions import Revision
from deltaspec.views.table.iceberg_history import IcebergHistory, find_paths_written_under

PROTOCOL = protocol(2, 7, None, ["columnMapping", "icebergCompatV2"])
ON, OFF = ({"delta.enableIcebergCompatV2": value} for value in ("true", "false"))


def history(**versions: bool) -> IcebergHistory:
    """Build a history in which V2 is enabled or disabled from each version `v..` on."""
    found = IcebergHistory()
    for name, is_on in versions.items():
        place = {"version": int(name[1:]), "file": "", "line": 1}
        found.apply(place, PROTOCOL, metadata(ON if is_on else OFF), None, "name", Revision.CURRENT)
    return found


def intervals(*rows: tuple[str, int, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["path_key", "version", "kind", "source"], orient="row")


def find_new_paths(
    rows: pl.DataFrame, since: IcebergHistory, operation: str | None = "WRITE", later: bool = False
) -> set[str]:
    operations = dict.fromkeys(range(10), operation)
    return set(find_paths_written_under("V2", rows, since, operations, begins_with_checkpoint=later))


def test_enabled_compatibility_is_that_of_the_last_change() -> None:
    found = history(v0=False, v3=True, v5=False)
    assert [found.enabled_at(version) for version in range(7)] == [(), (), (), ("V2",), ("V2",), (), ()]
    assert found.enabled_now == ()
    found.forget()
    assert found.enabled_at(4) == ()


def test_file_is_written_under_v2_if_the_preceding_version_has_it() -> None:
    rows = intervals(*((str(version), version, "add", "commit") for version in range(7)))
    assert find_new_paths(rows, history(v0=False, v2=True, v5=False)) == {"3", "4"}
    assert find_new_paths(rows, history(v0=True)) == {"1", "2", "3", "4", "5", "6"}


def test_path_with_earlier_action_is_not_new() -> None:
    rows = intervals(
        ("a", 0, "add", "checkpoint"),
        ("a", 3, "add", "commit"),
        ("b", 2, "remove", "commit"),
        ("b", 3, "add", "commit"),
    )
    assert find_new_paths(rows, history(v0=True)) == set()


@pytest.mark.parametrize(
    ("operation", "later", "is_new"),
    [
        ("WRITE", False, True),
        ("WRITE", True, True),
        (None, False, True),
        (None, True, False),
        ("RESTORE", False, False),
        ("CLONE", True, False),
    ],
)
def test_file_reusing_operations_do_not_write_files(operation: str | None, later: bool, is_new: bool) -> None:
    rows = intervals(("a", 3, "add", "commit"))
    assert (find_new_paths(rows, history(v0=True), operation, later) == {"a"}) is is_new
