"""Live files are judged by the state of every version, not only by the state of the version that adds them."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    Row,
    TableFiles,
    add_action,
    commit_info_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.row_ids import COLUMNS, ENABLED, row_id_mark_domain

FIELDS = (("id", "long"), ("p", "string"))
MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
ICEBERG = {**MAPPED, "delta.enableIcebergCompatV1": "true"}
PLAIN = [protocol_action(1, 2), metadata_action(FIELDS)]
RENAMED_FIELDS = [build_mapped_field("id", 1, physical="id"), build_mapped_field("p", 2, "string")]
MAPPED_FIELDS = [build_mapped_field("id", 1, physical="id"), build_mapped_field("p", 2, "string", physical="p")]

_VALUES = st.sampled_from(["a", "x y", "2024-13-01", "9" * 20, "100.5.1"])
"""Partition values that are only strings."""


@dataclass(frozen=True)
class Fact:
    """A fact of a file that a state permits, and a later state that it contradicts."""

    legal: list[Row]
    fact: dict[str, Any]
    illegal: list[Row]
    rules: frozenset[str]
    later: dict[str, Any] = field(default_factory=dict)
    """Values with which the file is legal in the later state."""


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    """Draw a fact of any kind."""
    tracked = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])
    match draw(st.sampled_from(["vector", "partition", "type", "key", "mapped", "unmapped", "count", "ids"])):
        case "vector":
            protocol = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors", "rowTracking", "domainMetadata"])
            rows = sorted(draw(st.sets(st.integers(0, 9), min_size=1, max_size=4)))
            without = draw(st.sampled_from([protocol_action(1, 2), protocol_action(3, 7, [], []), tracked]))
            return Fact(
                [protocol, metadata_action(FIELDS, configuration={"delta.enableDeletionVectors": "true"})],
                {"deletionVector": inline_vector_descriptor(rows)},
                [without, metadata_action(FIELDS)],
                frozenset({"FIL070"}),
                {"deletionVector": None},
            )
        case "partition":
            partition = {"partitionValues": {"p": draw(_VALUES)}}
            return Fact(PLAIN, {}, [metadata_action(FIELDS, ["p"])], frozenset({"FIL071"}), partition)
        case "type":
            kind = draw(st.sampled_from(["integer", "date", "boolean", "decimal(3,1)"]))
            return Fact(
                [PLAIN[0], metadata_action(FIELDS, ["p"])],
                {"partitionValues": {"p": draw(_VALUES)}},
                [metadata_action([("id", "long"), ("p", kind)], ["p"])],
                frozenset({"FIL072"}),
                {"partitionValues": {"p": None}},
            )
        case "key":
            value = draw(_VALUES)
            return Fact(
                [protocol_action(2, 5), metadata_action(FIELDS, ["p"])],
                {"partitionValues": {"p": value}},
                [metadata_action(RENAMED_FIELDS, ["p"], MAPPED)],
                frozenset({"CMP031"}),
                {"partitionValues": {"col-2": value}},
            )
        case "mapped":
            legal = [protocol_action(2, 5), metadata_action(FIELDS)]
            return Fact(legal, {}, [metadata_action(RENAMED_FIELDS, [], MAPPED)], frozenset({"CMP032"}))
        case "unmapped":
            legal = [protocol_action(2, 5), metadata_action(RENAMED_FIELDS, [], MAPPED)]
            return Fact(legal, {}, [metadata_action(RENAMED_FIELDS)], frozenset({"CMP032"}))
        case "count":
            protocol = protocol_action(3, 7, ["columnMapping"], ["columnMapping", "icebergCompatV1"])
            return Fact(
                [protocol, metadata_action(MAPPED_FIELDS, configuration=MAPPED)],
                {"stats": draw(st.sampled_from([None, "{}", '{"nullCount":{"id":0}}']))},
                [metadata_action(MAPPED_FIELDS, configuration=ICEBERG)],
                frozenset({"ICE008"}),
                {"stats": '{"numRecords":10}'},
            )
        case _:
            return Fact(
                [PLAIN[0], metadata_action(FIELDS, configuration=COLUMNS)],
                {},
                [tracked, metadata_action(FIELDS, configuration=ENABLED)],
                frozenset({"RID004", "RID005"}),
                {"baseRowId": 100},
            )


@st.composite
def changed_tables(draw: st.DrawFn) -> tuple[TableFiles, TableFiles, Fact, int]:
    """Draw a table that becomes illegal, its legal twin, the fact, and the version of the change.

    In the twin, the commit that changes the state also removes the file, or adds it again with legal values.
    """
    fact = draw(facts())
    add = add_action("a.parquet", **{"stats": '{"numRecords":10}', **fact.fact})
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), *fact.legal]
    files.commits[1] = [commit_info_action(1), add]
    for version in range(2, 2 + draw(st.integers(0, 2))):
        files.commits[version] = [commit_info_action(version)]
    change = len(files.commits)
    if draw(st.booleans()):
        files.checkpoints.append(CheckpointFiles(change - 1, rows=[*fact.legal, add]))
    twin = TableFiles(dict(files.commits), list(files.checkpoints))
    files.commits[change] = [commit_info_action(change), *fact.illegal]
    twin.commits[change] = [*files.commits[change], remove_action(add)]
    if fact.later and draw(st.booleans()):
        body = {**add["add"], **fact.later}
        again = {name: value for name, value in body.items() if value is not None}
        marks: list[Row] = []
        if "baseRowId" in again:
            again["defaultRowCommitVersion"], marks = change, [row_id_mark_domain(200)]
        moved = {"add": {**again, "path": "b.parquet"}}
        twin.commits[change] += [moved, *marks]
    elif "RID004" in fact.rules:
        twin.commits[change].append(row_id_mark_domain(0))
    if draw(st.booleans()):  # the file leaves later, which does not make the earlier version legal
        files.commits[change + 1] = [commit_info_action(change + 1), remove_action(add)]
    return files, twin, fact, change


def _validate(files: TableFiles) -> dict[str, Report]:
    """Return the report of each history."""
    with tempfile.TemporaryDirectory() as directory:
        table = Path(directory) / "table"
        write_table(files, table)
        return {each: deltaspec.validate(str(table), level="log", history=each) for each in ("all", "latest")}


@example_settings(15)
@given(drawn=changed_tables())
def test_state_that_contradicts_a_live_file_is_reported_once(drawn: Any) -> None:
    files, twin, fact, change = drawn
    state_rules = {*fact.rules, "FIL007", "FIL009", "FIL014"}
    for history, report in _validate(files).items():
        found = {code: total for code, total in report.totals.items() if code in fact.rules}
        assert found == dict.fromkeys(fact.rules, 1), f"{history=}"
        if "RID004" not in fact.rules:
            versions = [each.version for each in report.findings if each.rule in fact.rules]
            assert versions == [change], f"{history=}"
    found_in_twin = {history: set(report.totals) & state_rules for history, report in _validate(twin).items()}
    assert found_in_twin == {"all": set(), "latest": set()}
