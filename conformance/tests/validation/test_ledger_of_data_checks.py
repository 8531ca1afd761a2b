"""What checks of data files leave undecided is in the ledger, with the rules and the file concerned."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest
from msgspec.structs import replace
from validation.hostile_tables import VECTORS
from validation.test_concurrent_writes import use_store
from validation.test_failing_reads import FAILURE, FailingStore, commit_path

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation.data import data_stages, row_value_checks
from deltaspec.validation.data.data_stages import check_data
from deltaspec.wire.data import row_reader
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import Entry, StorageError
from deltaspec_generators.small_tables import (
    FIELDS,
    add_data_file,
    build_rows,
    build_table_with_data,
    build_table_with_stored_vectors,
    encode_data_file,
)
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
    write_table,
)
from deltaspec_generators.values.variant_encoder import build_variant_column
from planted_tables.bases.actions import build_updated_table, build_updated_table_with_changes
from planted_tables.bases.clustering import build_clustered_table
from planted_tables.bases.expressions import build_constrained_table, build_fields
from planted_tables.bases.log_only import build_table
from planted_tables.bases.retention import REMOVED_MS, build_table_cleaned_up_at_2
from planted_tables.bases.variants import build_table_with_variants

Entries = set[tuple[str, str, str | None]]


def validate(files: TableFiles, path: Path, **options: Any) -> Report:
    write_table(files, path)
    return deltaspec.validate(str(path), **{"level": "rows", "clock": files.clock_ms, **options})


def collect_entries(report: Report, *prefixes: str) -> Entries:
    """Return rule, reason and file of the ledger entries of some rules; of all rules without a prefix."""
    entries = ((each.rule, each.reason, each.file) for each in report.checked.not_checked)
    return {each for each in entries if each[0].startswith(prefixes or "")}


# rows


def build_table_with_old_date(footer: dict[str, str]) -> TableFiles:
    """Build a table whose last file has a date that may be in the calendar of Spark 2."""
    files = build_table_with_data(fields=[("day", "date")], tables=[pa.table({"day": [date(2020, 1, 1)]})] * 3)
    old = pa.table({"day": [date(1500, 1, 1)]}).replace_schema_metadata(footer)
    files.commits[2][1] = add_data_file(files, "c.parquet", old, parquet_options={"store_schema": True})
    return files


OF_SPARK_2 = {"org.apache.spark.version": "2.4.8"}


@pytest.mark.parametrize("footer", [OF_SPARK_2, {"org.apache.spark.sql.parquet.row.metadata": "{}"}])
def test_ambiguous_dates_are_not_compared_with_statistics(tmp_path: Path, footer: dict[str, str]) -> None:
    files = build_table_with_old_date(footer)
    report = validate(files, tmp_path)
    reason = "day: has values before 1582-10-15, which its file may store in the calendar of Spark 2"
    assert (report.verdict, report.totals) == ("incomplete", {})
    entries = collect_entries(report)
    assert {each[1:] for each in entries} == {(reason, "c.parquet")}
    assert {each[0][:3] for each in entries} == {"STA"}


def test_ambiguous_dates_without_statistics_have_no_entry(tmp_path: Path) -> None:
    files = build_table_with_old_date(OF_SPARK_2)
    del get_action(files, 2, "add")["stats"]
    assert validate(files, tmp_path).verdict == "conforms"


def test_columns_that_cannot_be_decoded_are_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Iterator[Any]:
        raise NotImplementedError("Codec lzo")

    monkeypatch.setattr(row_reader.GroupReader, "iter_batches", fail)
    report = validate(build_table_with_data(), tmp_path)
    assert (report.verdict, report.totals) == ("incomplete", {})
    entries = collect_entries(report)
    assert {each[0][:3] for each in entries} == {"ROW", "STA"}
    columns = [name for name, _ in FIELDS]
    files = ("b.parquet", "c.parquet")
    assert {each[1:] for each in entries} == {(f"{name}: Codec lzo", file) for name in columns for file in files}


def test_many_unread_files_are_recorded_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise UnreadableRows("a page")

    monkeypatch.setattr(row_value_checks, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr(row_value_checks, "read_rows", refuse)
    files = build_table_with_data()
    entries = collect_entries(validate(files, tmp_path), "STA")
    assert {each[2] for each in entries} == {"b.parquet", "c.parquet"}


# change data


def test_change_data_of_an_unknown_schema_is_not_compared(tmp_path: Path) -> None:
    files, _ = build_updated_table()
    metadata = {"metaData": get_action(files, 0, "metaData")}
    files.commits[2].append(b'{"metaData":5}')
    files.commits[3] = [commit_info_action(3), metadata]
    report = validate(files, tmp_path, history="all")
    assert report.totals == {"LIN013": 1}
    assert ("CDF007", "the table's schema is not known", commit_path(2)) in collect_entries(report)


def test_change_data_of_another_type_is_not_compared(tmp_path: Path) -> None:
    _, changes = build_updated_table()
    prices = pa.array(["1", "2", "3"])
    files = build_updated_table_with_changes(changes.set_column(2, "price", prices))
    report = validate(files, tmp_path, history="all", select=["CDF"])
    entries = collect_entries(report)
    assert {(rule, file) for rule, _, file in entries} == {("CDF007", "_change_data/cdc-0.parquet")}
    assert report.totals == {}


class HidingStore(FailingStore):
    """A table with a file that its listing leaves out and that every read refuses."""

    def __init__(self, files: TableFiles, hidden: str) -> None:
        super().__init__(files)
        self.hidden = hidden

    def list_files(self) -> Iterator[Entry | StorageError]:
        yield from (each for each in super().list_files() if isinstance(each, StorageError) or each.name != self.hidden)

    def count_access(self, operation: str, path: str) -> None:
        if path == self.hidden:
            raise StorageError(f"{path}: {FAILURE}")
        super().count_access(operation, path)


def test_unlisted_change_data_file_that_cannot_be_read_is_undecided() -> None:
    files, _ = build_updated_table()
    path = "_change_data/cdc-0.parquet"
    with use_store(HidingStore(files, path)):
        report = deltaspec.validate("table", level="footers", history="all", clock=files.clock_ms)
    footers = {code for code, rule in RULES.items() if rule.level == "footers"}
    undecided = {rule for rule, reason, file in collect_entries(report) if file == path and FAILURE in reason}
    assert undecided & footers


# files


def test_clustering_columns_that_may_be_newer_than_a_file_are_not_checked(tmp_path: Path) -> None:
    files = build_clustered_table()
    files.commits[1][0] = commit_info_action(1, operation="RESTORE")
    files.commits[3] = [commit_info_action(3), domain_action("delta.clustering", '{"clusteringColumns":["name"]}')]
    reason = "files without statistics of a clustering column may be older than the column"
    assert ("CLU003", reason, None) in collect_entries(validate(files, tmp_path / "name"), "CLU")
    domain = domain_action("delta.clustering", '{"clusteringColumns":["name","id"]}')
    files.commits[4] = [commit_info_action(4), domain]  # of `id`, which all files have
    assert ("CLU003", reason, None) in collect_entries(validate(files, tmp_path / "both"), "CLU")
    assert collect_entries(validate(build_clustered_table(), tmp_path / "sound"), "CLU003") == set()


def test_files_of_tombstones_are_not_checked_without_a_complete_listing() -> None:
    class UnlistableStore(FailingStore):
        def list_files(self) -> Iterator[Entry | StorageError]:
            yield StorageError(FAILURE)

    files = build_table_with_data()
    with use_store(UnlistableStore(files)):
        report = deltaspec.validate("memory", level="files", clock=REMOVED_MS)
    assert (report.verdict, report.totals) == ("incomplete", {})
    reason = f"the table cannot be listed completely: {FAILURE}"
    assert collect_entries(report, "VAC") == {("VAC001", reason, None), ("VAC002", reason, None)}
    assert {each[2] for each in collect_entries(report, "DAT")} == {"b.parquet", "c.parquet"}


def test_incomplete_listing_without_tombstones_leaves_nothing_undecided() -> None:
    class UnlistableStore(FailingStore):
        def list_files(self) -> Iterator[Entry | StorageError]:
            yield StorageError(FAILURE)

    files = build_table(last_remove=False)
    with use_store(UnlistableStore(files)):
        report = deltaspec.validate("memory", level="files", clock=REMOVED_MS)
    assert collect_entries(report, "DAT")
    assert collect_entries(report, "VAC001", "VAC002") == set()


def test_file_of_a_tombstone_that_cannot_be_looked_up_again_is_undecided() -> None:
    files = build_table()
    removed = get_action(files, 2, "remove")["path"]
    store = HidingStore(files, removed)
    store.is_remote = True
    with use_store(store):
        report = deltaspec.validate("memory", level="files", clock=REMOVED_MS, select=["VAC"])
    assert report.totals == {}
    reason = f"{removed}: {FAILURE}"
    assert collect_entries(report, "VAC001") == {("VAC001", reason, removed)}
    store.is_remote = False  # a disk would give the same error again
    with use_store(store):
        report = deltaspec.validate("memory", level="files", clock=REMOVED_MS, select=["VAC"])
    assert report.totals == {"VAC001": 1}


@pytest.mark.parametrize(
    ("rules", "level", "reason"),
    [
        (("VAC001", "VAC002"), "files", "a metaData action could not be decoded"),
        (("PQT050", "PQT051", "PQT052", "PQT053"), "footers", "a line cannot be decoded"),
    ],
)
def test_rules_about_properties_are_undecided_without_them(
    rules: tuple[str, ...], level: str, reason: str, tmp_path: Path
) -> None:
    files = build_table_with_data()
    files.commits[2].append(b'{"metaData":5}')
    report = validate(files, tmp_path, level=level, clock=REMOVED_MS)
    assert {each[:2] for each in collect_entries(report, *rules)} == {(each, reason) for each in rules}


def test_start_of_the_log_is_not_checked_without_its_first_commit() -> None:
    files = build_table_cleaned_up_at_2(
        build_table(last_remove=False, configuration={"delta.logRetentionDuration": "interval 30 days"})
    )
    with use_store(store := FailingStore(files)):
        deltaspec.validate("memory", level="log", clock=REMOVED_MS, select=["VAC003"])
    last = store.accesses["read", commit_path(2)]
    with use_store(FailingStore(files, ("read", commit_path(2), last))):
        report = deltaspec.validate("memory", level="log", clock=REMOVED_MS, select=["VAC003"])
    reason = f"{commit_path(2)}: {FAILURE}"
    assert collect_entries(report) == {("VAC003", reason, commit_path(2))}


def test_page_format_that_cannot_be_read_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data(configuration={"delta.parquet.format.version": "2.0.0"})
    data = bytearray(encode_data_file(build_rows(20), compression="none", use_dictionary=False))
    data[4:24] = bytes(20)
    files.data["c.parquet"] = bytes(data)
    get_action(files, 2, "add")["size"] = len(data)
    entries = collect_entries(validate(files, tmp_path, level="footers"))
    assert {file for _, _, file in entries} == {"c.parquet"}
    assert {rule[:5] for rule, _, _ in entries} == {"PQT05"}


@pytest.mark.parametrize("how", ["error", "gone", "replaced"])
def test_codec_of_a_file_that_changes_is_not_checked(how: str) -> None:
    files = build_table_with_data(
        configuration={"delta.parquet.compression.codec": "zstd"}, parquet_options={"compression": "zstd"}
    )
    with use_store(store := FailingStore(files)):
        deltaspec.validate("memory", level="footers", select=["PQT050"])
    accesses = store.accesses["read_range", "c.parquet"]
    assert accesses > 1
    for number in range(1, accesses + 1):
        with use_store(FailingStore(files, ("read_range", "c.parquet", number), how)):
            report = deltaspec.validate("memory", level="footers")
        assert {file for _, _, file in collect_entries(report, "PQT050")} == {"c.parquet"}, f"{number=}"


@pytest.mark.parametrize("fault", ["missing", "damaged", "undecodable"])
def test_entries_of_a_rule_do_not_depend_on_the_selection(fault: str, tmp_path: Path) -> None:
    """Another rule, which may not run, reports the fault; that does not make the file checked."""
    files = build_table_with_data(configuration={"delta.parquet.compression.codec": "snappy"})
    if fault == "missing":
        files.missing.add("c.parquet")
    elif fault == "damaged":
        files.data["c.parquet"] = files.data["c.parquet"][:-1] + b"X"
    else:
        files.commits[2].append(b'{"add":5}')
    entries = collect_entries(validate(files, tmp_path))
    by_view = {RULES[rule].view.name: rule for rule, _, _ in sorted(entries, key=lambda each: each[0])}
    assert {"column_facts", "write_settings"} <= by_view.keys()
    for rule in by_view.values():
        found = collect_entries(deltaspec.validate(str(tmp_path), level="rows", select=[rule]))
        assert found == {each for each in entries if each[0] == rule}, rule


# variants and constraints


def test_constraints_on_rows_that_cannot_be_read_are_not_checked(tmp_path: Path) -> None:
    files = build_constrained_table(protocol_action(1, 3), build_fields(), {"delta.constraints.positive": "id > 0"})
    path = get_action(files, 1, "add")["path"]
    files.data[path] = files.data[path][:-1] + b"X"
    entries = collect_entries(validate(files, tmp_path), "ROW040")
    assert {file for _, _, file in entries} == {path}


def test_variant_columns_are_not_checked_if_replay_is_blocked(tmp_path: Path) -> None:
    files = build_table_with_variants(build_variant_column([1]))
    files.commits[3] = [commit_info_action(3), b'{"add":5}']
    entries = collect_entries(validate(files, tmp_path, level="log"), "VAR")
    assert {each[1:] for each in entries} == {("a line cannot be decoded", commit_path(3))}
    assert {"VAR001", "VAR004"} <= {each[0] for each in entries}


def test_missing_files_are_recorded_if_spark_evaluates_constraints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_for_spark(facts: Any, *others: Any) -> Any:
        return check_data(replace(facts, constraints_on_spark=True), *others)

    monkeypatch.setattr(data_stages, "check_data", check_for_spark)
    configuration = {"delta.constraints.positive": "i > 0"}
    files = build_constrained_table(protocol_action(1, 3), build_fields(), configuration)
    files.missing.add("a.parquet")
    entries = collect_entries(validate(files, tmp_path), "ROW040")
    assert {each[1:] for each in entries} == {("a.parquet: does not exist", "a.parquet")}


def test_metadata_after_an_undecodable_one_is_used(tmp_path: Path) -> None:
    """Only the versions between are undecided; STA019 judges those as well."""
    files = build_table_with_data()
    files.commits[3] = [commit_info_action(3), b'{"metaData":5}']
    files.commits[4] = [commit_info_action(4), metadata_action(FIELDS)]
    assert {each[0] for each in collect_entries(validate(files, tmp_path), "ROW", "STA")} == {"STA019"}


def test_missing_vector_is_undecided_if_a_later_commit_is_unreadable() -> None:
    files = build_table_with_stored_vectors()

    class LaterCommit(FailingStore):
        """A vector file was deleted, and a commit that may have removed its data files appears in the next listing."""

        def list_log(self) -> list[Entry]:
            entries = super().list_log()
            self.files[commit_path(4)] = b"no JSON\n"
            return entries

    store = LaterCommit(files)
    del store.files[VECTORS]
    with use_store(store):
        report = deltaspec.validate("memory", level="files")
    assert (report.verdict, report.totals) == ("incomplete", {})
    reason = f"{VECTORS}: the file it belongs to is missing; a later commit may have removed it"
    assert {each[1:] for each in collect_entries(report, "DVX010")} == {(reason, "b.parquet"), (reason, "c.parquet")}
