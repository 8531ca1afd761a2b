"""`row_id_ranges` equals the model on drawn logs, and a plain count for arbitrary ids."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import DecodedLog, RecordingRun
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.model.rows.row_ids import compute_default_row_ids, read_high_water_mark
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features.row_tracking import assigns_row_ids
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.rules import RULES
from deltaspec.views.files.file_replay import build_empty_replay_frame
from deltaspec.views.files.row_ids import build_row_id_ranges
from deltaspec.views.table.enablement import build_enablement_history, get_enablement_at, get_property_at
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.tables.strategies import logs
from planted_tables.bases.row_ids import build_tracked_table


@example_settings(15)
@given(files=logs(features=("rowTracking", "domainMetadata")) | st.just(build_tracked_table()))
def test_default_ids_of_live_files_are_those_of_the_model(files: TableFiles) -> None:
    run = RecordingRun(files, history="latest")
    log, base = DecodedLog.decode(files), run.plan.base
    snapshot = log.snapshots(base, run.plan.version)[run.plan.version]
    rows = run.recorded.rows("row_id_ranges")
    assert snapshot.protocol is not None
    assert snapshot.metadata is not None
    if not assigns_row_ids(snapshot.protocol, snapshot.metadata):
        assert rows == []
        return
    assert {row["high_water_mark"] for row in rows} <= {read_high_water_mark(snapshot)}
    found = ((row["path"], row["base_row_id"], row["last_row_id"]) for row in rows)
    counts = {} if base is None else _read_typed_counts(log, base)
    expected = ((add.path, add.base_row_id, _last(add, counts)) for add in snapshot.files.values())
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def _read_typed_counts(log: DecodedLog, base: Checkpoint) -> dict[str, int | None]:
    """Return `numRecords` of the struct statistics of a checkpoint, by path."""
    adds = [body for _, _, kind, body in log.checkpoint(base) if kind == "add"]
    return {add["path"]: (add.get("stats_parsed") or {}).get("numRecords") for add in adds}


def _last(add: Add, typed_counts: Mapping[str, int | None]) -> int | None:
    if add.base_row_id is None:  # the file is older than the feature and has no ids yet
        return None
    count = typed_counts.get(add.path) if add.stats is None else json.loads(add.stats)["numRecords"]
    ids = [] if count is None else compute_default_row_ids(add, count)
    return ids[-1] if ids else None


def _ranges(files: list[tuple[int, int]], mark: int = 2**62) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {"path_key": f"{number:02}", "source": "commit", "version": 1, "base_row_id": base, "num_records": count}
        for number, (base, count) in enumerate(files)
    ]
    live = pl.concat([build_empty_replay_frame(), pl.DataFrame(rows)], how="diagonal")
    return build_row_id_ranges(live, mark, has_high_water_mark=True)


@example_settings(60)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), min_size=1, max_size=6))
def test_overlap_is_found_where_two_files_share_an_id(files: list[tuple[int, int]]) -> None:
    overlaps = _ranges(files).filter(RULES["RID001"].expression())
    ids = [each for base, count in files for each in range(base, base + count)]
    assert bool(len(overlaps)) is (len(ids) > len(set(ids)))


@example_settings(60)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), min_size=1, max_size=6), st.integers(0, 12))
def test_row_id_above_the_high_water_mark_is_found(files: list[tuple[int, int]], mark: int) -> None:
    above = _ranges(files, mark).filter(RULES["RID002"].expression())
    expected = [f"{number:02}" for number, (base, count) in enumerate(files) if count and base + count - 1 > mark]
    assert sorted(above["path"]) == expected


def _protocol(version: int, writer: int, features: list[str] | None) -> dict[str, Any]:
    return {"version": version, "min_reader_version": 1, "min_writer_version": writer, "writer_features": features}


def _property(version: int, value: str | None) -> dict[str, Any]:
    return {"version": version, "property": "p", "value": value}


def test_enablement_applies_from_its_version_on() -> None:
    protocols = [_protocol(0, 2, None), _protocol(3, 7, ["changeDataFeed"]), _protocol(9, 7, [])]
    configuration = [_property(2, "true"), _property(5, "FALSE"), _property(7, "True"), _property(8, None)]
    since = build_enablement_history(protocols, configuration, "changeDataFeed", "p")
    found = {version: get_enablement_at(since, version) for version in range(10)}
    assert [version for version, (is_supported, _) in found.items() if is_supported] == [3, 4, 5, 6, 7, 8]
    assert [version for version, (_, is_true) in found.items() if is_true] == [2, 3, 4, 7]
    values = {version: get_property_at(configuration, "p", version) for version in (1, 2, 6, 8)}
    assert values == {1: None, 2: "true", 6: "FALSE", 8: None}


def test_legacy_versions_imply_features() -> None:
    since = build_enablement_history([_protocol(0, 4, None), _protocol(1, 3, None)], [], "changeDataFeed", "p")
    assert [get_enablement_at(since, version)[0] for version in (0, 1)] == [True, False]
    assert get_enablement_at([], 5) == (False, False)
