"""Actions whose form differs by revision: each revision reads the same bytes in its form."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.protocol.actions import ACTION_TYPES, DomainMetadata, RowIdHighWaterMark, WireStruct, get_action_types
from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log.line_decoder import LogFile, decode_lines
from deltaspec.wire.log.line_validation import explain_action
from deltaspec.wire.log.parquet_actions import open_parquet, read_non_file_actions

OLD, NEW = (Revision.R1, Revision.R2), (Revision.R3, Revision.CURRENT)


def read(body: dict[str, Any], revision: Revision) -> LogFile:
    return decode_lines(json.dumps(body).encode() + b"\n", revision)


def domain(configuration: Any) -> dict[str, Any]:
    return {"domainMetadata": {"domain": "app.x", "configuration": configuration, "removed": False}}


def build_expected_domain(configuration: str) -> list[tuple[int, WireStruct]]:
    return [(1, DomainMetadata(domain="app.x", configuration=configuration, removed=False))]


@pytest.mark.parametrize("revision", OLD)
def test_domain_configuration_map_is_read_as_json(revision: Revision) -> None:
    log = read(domain({"b": "2", "ä": None}), revision)
    assert log.actions == build_expected_domain('{"b":"2","ä":null}')
    assert log.faults == {}


@pytest.mark.parametrize("revision", NEW)
def test_domain_configuration_map_is_invalid_since_r3(revision: Revision) -> None:
    log = read(domain({"b": "2"}), revision)
    assert log.actions == []
    assert log.faults[1].pointer == "/domainMetadata/configuration"
    assert log.undecoded_kinds == {"domainMetadata"}


@pytest.mark.parametrize("revision", list(Revision))
def test_domain_configuration_string_is_valid_in_every_revision(revision: Revision) -> None:
    assert read(domain('{"b":2}'), revision).actions == build_expected_domain('{"b":2}')


@pytest.mark.parametrize("revision", OLD)
@pytest.mark.parametrize("value", [["a"], {"a": 1}, 1, None])
def test_other_domain_configurations_are_invalid(revision: Revision, value: Any) -> None:
    assert read(domain(value), revision).faults[1].schema_error is not None


def mark(**body: Any) -> dict[str, Any]:
    return {"rowIdHighWaterMark": body}


def test_row_id_high_water_mark_is_known_before_r3() -> None:
    first = read(mark(highWaterMark=9, preservedRowIds=True), Revision.R1)
    assert first.actions == [(1, RowIdHighWaterMark(high_water_mark=9, preserved_row_ids=True))]
    second = read(mark(highWaterMark=9), Revision.R2)
    assert second.actions == [(1, RowIdHighWaterMark(high_water_mark=9))]
    assert first.kinds == second.kinds == ["rowIdHighWaterMark"]
    assert first.faults == second.faults == {}


def test_preserved_is_required_in_r1_and_ignored_in_r2() -> None:
    assert read(mark(highWaterMark=9), Revision.R1).faults[1].schema_error == "preservedRowIds missing"
    second = read(mark(highWaterMark=9, preservedRowIds="yes"), Revision.R2)
    assert second.actions == [(1, RowIdHighWaterMark(high_water_mark=9))]


@pytest.mark.parametrize("revision", NEW)
def test_row_id_high_water_mark_is_ignored_since_r3(revision: Revision) -> None:
    log = read(mark(highWaterMark="nine"), revision)
    assert log.kinds == [None]
    assert log.actions == []
    assert log.faults == {}


@pytest.mark.parametrize("revision", OLD)
def test_row_id_high_water_mark_must_be_a_number(revision: Revision) -> None:
    log = read(mark(highWaterMark="9", preservedRowIds=True), revision)
    assert log.faults[1].pointer == "/rowIdHighWaterMark/highWaterMark"


def test_action_types_differ_by_revision() -> None:
    assert get_action_types() == get_action_types(Revision.R3) == ACTION_TYPES
    for revision in OLD:
        changed = {kind for kind, form in get_action_types(revision).items() if ACTION_TYPES.get(kind) is not form}
        assert changed == {"add", "domainMetadata", "remove", "rowIdHighWaterMark"}, f"{revision=}"
        assert ACTION_TYPES.keys() - get_action_types(revision).keys() == {"checkpointMetadata", "sidecar"}


def checkpoint(column: str, kind: pa.StructType, value: Any) -> pa.BufferReader:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({column: pa.array([value], kind)}), sink)
    return pa.BufferReader(sink.getvalue())


def test_older_forms_are_read_from_parquet_checkpoints() -> None:
    maps = pa.struct({"domain": pa.string(), "configuration": pa.map_(pa.string(), pa.string()), "removed": pa.bool_()})
    value = {"domain": "app.x", "configuration": [("b", "2")], "removed": False}
    for revision in OLD:
        rows = read_non_file_actions(open_parquet(checkpoint("domainMetadata", maps, value)), revision)
        assert rows.actions == build_expected_domain('{"b":"2"}'), f"{revision=}"
    assert (
        read_non_file_actions(open_parquet(checkpoint("domainMetadata", maps, value))).faults[1].kind
        == "domainMetadata"
    )
    marks = pa.struct({"highWaterMark": pa.int64()})
    rows = read_non_file_actions(
        open_parquet(checkpoint("rowIdHighWaterMark", marks, {"highWaterMark": 9})), Revision.R2
    )
    assert rows.actions == [(1, RowIdHighWaterMark(high_water_mark=9))]
    assert (
        read_non_file_actions(open_parquet(checkpoint("rowIdHighWaterMark", marks, {"highWaterMark": 9}))).kinds == {}
    )


def test_row_is_explained_by_its_revision() -> None:
    body = {"domain": "d", "configuration": {"a": "b"}, "removed": None}
    assert explain_action("domainMetadata", body, Revision.R1).pointer == "/domainMetadata/removed"
