"""Every view has a valid definition, rows that fill its columns, and rules that can run partitioned by its key."""

import importlib
import json
import pkgutil
import zlib
from collections import defaultdict
from itertools import product
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from helpers.hypothesis_settings import EXAMPLES_FACTOR
from helpers.recording_run import RecordingRun
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from planted_faults.caught_by import CAUGHT_BY

import deltaspec.views
from deltaspec.protocol.revisions import Revision
from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES, Rule
from deltaspec.scales import LEVELS, Level
from deltaspec.views.base import LOCATION, View
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from deltaspec_generators.tables.strategies import logs
from planted_tables.bases import log_only
from planted_tables.bases.single_file import build_required_field, build_single_file_table
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.faults.registry import PlantedFault


def _all_views() -> dict[str, View]:
    found = {}
    for module in pkgutil.walk_packages(deltaspec.views.__path__, "deltaspec.views."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, View):
                found[value.name] = value
    return found


VIEWS = _all_views()
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
LOCATION_TYPES = dict(zip(LOCATION, (pl.Int64, pl.String, pl.Int64, pl.String, pl.String), strict=True))


@each_view
def test_view_has_a_grain(view: View) -> None:
    assert view.grain == view.grain.strip() != ""
    assert not view.grain.endswith(".")
    assert view.level in LEVELS


@each_view
def test_columns_have_descriptions(view: View) -> None:
    for name, column in view.columns.items():
        assert name.isidentifier()
        assert name == name.lower()
        assert len(column.description.strip()) > 1, name
        assert column.description == column.description.strip()
        assert not column.description.endswith("."), name
        assert LEVELS.index(column.level) >= LEVELS.index("log")


@each_view
def test_key_columns_exist(view: View) -> None:
    assert set(view.key) <= view.columns.keys()
    assert len(set(view.key)) == len(view.key)


@each_view
def test_location_columns_have_their_names_and_types(view: View) -> None:
    """These columns locate a finding, so no view may use other names for them."""
    for name, dtype in LOCATION_TYPES.items():
        if name in view.columns:
            assert view.columns[name].dtype == dtype
    assert "file" in view.columns or "path" in view.columns
    aliases = {"line_number", "row", "row_number", "file_name", "filename", "log_file", "commit_version", "field_path"}
    assert not aliases & view.columns.keys()


def test_only_descriptive_views_have_no_rule() -> None:
    """Live files and transactions have views, but no rule checks them alone."""
    assert VIEWS.keys() - {rule.view.name for rule in RULES.values()} == {"snapshot_files", "transactions"}


@each_view
def test_empty_frame_has_the_schema(view: View) -> None:
    assert view.frame([]).schema == pl.Schema(view.schema)
    assert view.frame([{}]).rows() == [(None,) * len(view.columns)]


@each_view
def test_unknown_column_raises_key_error(view: View) -> None:
    with pytest.raises(KeyError, match="has no column 'made_up'"):
        view.frame([{"made_up": 1}])


# real rows, of valid logs and of every planted fault


_WITH_OWN_COLUMNS = ("deletionVectors", "changeDataFeed", "inCommitTimestamp")
"""Features of columns that are rarely filled otherwise."""


@pytest.mark.slow("conformance/deltaspec/views")
def test_real_rows_fill_every_column_and_rules_do_not_depend_on_their_partitions() -> None:
    """One test, because capturing the rows takes much longer than looking at them."""
    captured = capture_rows()
    assert captured.empty_columns == set()
    # without findings, the comparison of partitions would prove nothing
    assert captured.silent_rules == set()
    check_partitions({name: pl.concat(each).with_row_index("_row") for name, each in captured.frames.items()})


class CapturedRows:
    """Rows of every view from runs over tables, and what they do not show yet."""

    def __init__(self) -> None:
        self.frames: dict[str, list[pl.DataFrame]] = defaultdict(list)
        self.empty_columns = {(view.name, name) for view in VIEWS.values() for name in view.columns}
        self.silent_rules = {rule.code for rule in KEYED}
        """Rules that compare rows and have no finding yet."""

    def record(self, files: TableFiles, level: Level = "log", revision: Revision = Revision.CURRENT) -> None:
        for name, frames in RecordingRun(files, level=level, revision=revision).recorded.frames.items():
            if not (recorded := [frame for frame in frames if len(frame)]):
                continue
            rows = pl.concat(recorded)
            self.frames[name].append(rows)
            self.empty_columns -= {(name, each.name) for each in rows if each.null_count() < len(rows)}
            silent = [RULES[code] for code in self.silent_rules]
            self.silent_rules -= {
                each.code for each in silent if each.view.name == name and len(rows.filter(each.expression()))
            }

    def is_incomplete_for(self, rule: Rule) -> bool:
        """Return whether the rule has no finding yet, or a column of its view no value."""
        return rule.code in self.silent_rules or any(view == rule.view.name for view, _ in self.empty_columns)


def capture_rows() -> CapturedRows:
    """Capture rows of drawn logs, and of as many planted faults as it takes to complete them."""
    captured = CapturedRows()

    @settings(
        max_examples=40 * EXAMPLES_FACTOR,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files=logs() | st.sampled_from(_WITH_OWN_COLUMNS).flatmap(lambda each: logs(features=[each])))
    def draw_valid(files: TableFiles) -> None:
        captured.record(files)

    draw_valid()
    captured.record(_timestamped_with_checksum())
    captured.record(_required_after_null(), "rows")
    captured.record(_required_after_null(column="x"), "rows")
    captured.record(_required_after_null(nulls=1, vector=_VECTOR))
    captured.record(_interval_before_its_feature())
    others = []
    for name, fault in PLANTED_FAULTS.items():
        if captured.is_incomplete_for(RULES[CAUGHT_BY[name]]):
            # checksum planted faults have many variants, each of which fills other columns
            _record_fault(captured, fault, 10 if name.startswith("checksum_") else 1)
        else:
            others.append(fault)
    for fault in sorted(others, key=lambda each: -LEVELS.index(each.level)):  # columns of data are filled rarely
        if captured.empty_columns or captured.silent_rules:
            _record_fault(captured, fault, 1)
    return captured


def _record_fault(captured: CapturedRows, fault: PlantedFault, examples: int) -> None:
    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files=fault.tables())
    def draw(files: TableFiles) -> None:
        captured.record(files, fault.level, _newest(fault))

    draw()


def _newest(fault: PlantedFault) -> Revision:
    """Return the newest revision in which the table of a planted fault has the fault."""
    revisions = load_requirements()[fault.requirement].revisions
    return Revision([each for each in revisions if each in (fault.revisions or revisions)][-1])


def _timestamped_with_checksum() -> TableFiles:
    """Build a table with in-commit timestamps and a checksum that has one: they are rarely drawn together."""
    files = log_only.build_table_with_timestamps()
    stated = {kind: get_action(files, 0, kind) for kind in ("protocol", "metaData")}
    files.checksums[2] = {
        "tableSizeBytes": 1,
        "numFiles": 1,
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": stated["protocol"],
        "metadata": stated["metaData"],
        "inCommitTimestampOpt": 5,
    }
    return files


def _interval_before_its_feature() -> TableFiles:
    """Build a table with an interval whose feature a later commit adds, which changes a row of `proposals`."""
    files = log_only.build_table(fields=[("id", "long"), ("x", "interval year to month")])
    files.commits[3] = [commit_info_action(3), protocol_action(3, 7, ["intervalTypes"], ["intervalTypes"])]
    return files


_VECTOR = {"storageType": "p", "pathOrInlineDv": "file:/v.bin", "offset": 1, "sizeInBytes": 36, "cardinality": 0}


def _required_after_null(
    column: str = "id", nulls: int | None = None, vector: dict[str, Any] | None = None
) -> TableFiles:
    """Build a table whose column becomes required after a file with a null, or without the column, was written.

    `nulls` is the null count, if the file has one.
    """
    counts = {} if nulls is None else {"stats": json.dumps({"numRecords": 1, "nullCount": {"id": nulls}})}
    protocol = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"]) if vector else None
    files = build_single_file_table(
        pa.table({"id": pa.array([None], pa.int64())}),
        [("id", "long"), ("x", "long")],
        protocol=protocol,
        configuration={"delta.enableDeletionVectors": "true"} if vector else None,
        **counts,
        **({"deletionVector": vector} if vector else {}),
    )
    fields = [build_required_field(each, "long") if each == column else (each, "long") for each in ("id", "x")]
    files.commits[2] = [commit_info_action(2), metadata_action(fields)]
    return files


KEYED = [rule for rule in RULES.values() if rule.view.key]


def check_partitions(captured: dict[str, pl.DataFrame]) -> None:
    """Check that rules which compare rows find the same if only rows with the same key stay together."""
    for (name, rules), partitions in product(_by_view(KEYED).items(), (2, 7)):
        rows = captured[name]
        keys = rows.select(VIEWS[name].key).iter_rows()
        partition_numbers = pl.Series([_partition_of(key, partitions) for key in keys])
        parts = [rows.filter(partition_numbers == partition) for partition in range(partitions)]
        for rule in rules:
            expected = rows.filter(rule.expression())["_row"].to_list()
            partitioned = [row for part in parts for row in part.filter(rule.expression())["_row"]]
            assert sorted(partitioned) == expected, rule.code


def _by_view(rules: list[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        found[rule.view.name].append(rule)
    return found


def _partition_of(key: tuple[Any, ...], partitions: int) -> int:
    return zlib.crc32(repr(key).encode()) % partitions
