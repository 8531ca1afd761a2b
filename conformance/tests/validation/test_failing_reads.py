"""A read that fails is never silent: whichever access to the storage fails, the ledger names the failure."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.recording_run import MemoryStore
from validation.hostile_tables import VECTORS
from validation.test_concurrent_writes import use_store

import deltaspec
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.scales import Level
from deltaspec.wire.storage.interface import StorageError
from deltaspec.wire.storage.settings import ENVIRONMENT
from deltaspec_generators.small_tables import build_table_with_stored_vectors
from deltaspec_generators.table_files import LOG, TableFiles, encode_table
from deltaspec_generators.values.variant_encoder import build_variant_column
from planted_tables.bases.actions import build_updated_table
from planted_tables.bases.column_features import build_identity_table
from planted_tables.bases.log_only import (
    build_checkpointed_table,
    build_table_with_checksum,
    build_table_with_compaction,
    build_table_with_hint,
    build_v2_checkpointed_table,
)
from planted_tables.bases.row_ids import build_rewritten_table
from planted_tables.bases.variants import build_table_with_variants

Access = tuple[str, str, int]
"""Operation, path, and the number of the access with both, from 1."""
FAILURE = "the disk is broken"
UUID = "00000000-0000-4000-8000-000000000000"


def commit_path(version: int) -> str:
    """Return the path of a commit."""
    return f"{LOG}{commit_name(version)}"


class FailingStore(MemoryStore):
    """A table in memory that counts accesses. One access fails, or finds that the file was deleted or replaced."""

    def __init__(self, files: TableFiles, failing: Access | None = None, how: str = "error") -> None:
        super().__init__(encode_table(files), written_ms=files.written_ms)
        self.settings = ENVIRONMENT
        self.failing = failing
        self.how = how
        self.accesses: Counter[tuple[str, str]] = Counter()

    def count_access(self, operation: str, path: str) -> None:
        self.accesses[operation, path] += 1
        if self.failing == (operation, path, self.accesses[operation, path]):
            if self.how == "error":
                raise StorageError(f"{path}: {FAILURE}")
            if self.how == "gone":
                del self.files[path]
            else:
                self.files[path] = b"replaced"

    def read(self, path: str, limit: int) -> bytes:
        self.count_access("read", path)
        return super().read(path, limit)

    def chunks(self, path: str) -> Iterator[bytes]:
        self.count_access("chunks", path)
        yield from super().chunks(path)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        self.count_access("read_range", path)
        return super().read_range(path, start, length)

    def size(self, path: str) -> int:
        self.count_access("size", path)
        return super().size(path)

    def open_seekable(self, path: str) -> Any:
        self.count_access("open_seekable", path)
        return super().open_seekable(path)


TABLES: dict[str, tuple[Level, Callable[[], TableFiles]]] = {
    "change data": ("rows", lambda: build_updated_table()[0]),
    "vectors": ("rows", build_table_with_stored_vectors),
    "row ids": ("rows", build_rewritten_table),
    "variants": ("rows", lambda: build_table_with_variants(build_variant_column([1, "x"]))),
    "identity": ("rows", lambda: build_identity_table((102, [102]))),
    "checkpoint": ("log", build_checkpointed_table),
    "checkpoint in JSON": ("log", lambda: build_v2_checkpointed_table("uuid-json")),
    "compaction": ("log", build_table_with_compaction),
    "checksum": ("log", build_table_with_checksum),
    "hint": ("log", build_table_with_hint),
}
"""Level and table."""


def validate_failing(name: str, failing: Access | None = None, how: str = "error") -> tuple[Report, FailingStore]:
    """Validate a table of `TABLES`; also return its store."""
    level, build = TABLES[name]
    store = FailingStore(build(), failing, how)
    with use_store(store):
        return deltaspec.validate("memory", level=level, history="all"), store


def list_accesses(name: str) -> list[Access]:
    """Return every access to the storage in a validation of the sound table."""
    counts = validate_failing(name)[1].accesses
    return [(*access, number) for access in sorted(counts) for number in range(1, counts[access] + 1)]


FOOTER = "data_files file_columns write_settings"
ROWS = "column_facts row_checks"
CHECKPOINT = "checkpoint_columns checkpoint_contents checkpoints file_actions replay_differences sidecars"

VIEWS: dict[str, dict[str, str]] = {
    "change data": {
        "open_seekable _change_data/cdc-0.parquet 1": "change_commits change_files",
        "open_seekable a.parquet 1": "change_commits",
        "open_seekable b.parquet 1": ROWS,
        "open_seekable b.parquet 2": "change_commits",
        f"read {commit_path(2)} 2": "change_commits change_files",
        "read_range _change_data/cdc-0.parquet 1": FOOTER,
        "read_range b.parquet 1": FOOTER,
    },
    "vectors": {
        "open_seekable b.parquet 1": ROWS,
        "open_seekable c.parquet 1": ROWS,
        f"read {VECTORS} 1": ROWS,
        f"read {VECTORS} 2": "deletion_vectors",
        "read_range b.parquet 1": FOOTER,
        "read_range c.parquet 1": FOOTER,
    },
    "row ids": {
        "open_seekable a.parquet 1": "row_id_rewrites",
        "open_seekable a.parquet 2": "rearranged_rows",
        "open_seekable b.parquet 1": "row_id_rewrites",
        "open_seekable b.parquet 2": "rearranged_rows",
        "open_seekable c.parquet 1": ROWS,
        "open_seekable c.parquet 2": "row_id_rewrites",
        "open_seekable c.parquet 3": "rearranged_rows",
        "open_seekable c.parquet 4": "row_id_files",
        "open_seekable d.parquet 1": ROWS,
        "open_seekable d.parquet 2": "row_id_files",
        f"read {commit_path(2)} 2": "row_id_rewrites",
        "read_range c.parquet 1": FOOTER,
        "read_range d.parquet 1": FOOTER,
    },
    "variants": {
        "open_seekable b.parquet 1": ROWS,
        "open_seekable b.parquet 2": "variant_columns",
        "open_seekable c.parquet 1": ROWS,
        "open_seekable c.parquet 2": "variant_columns",
        "read_range b.parquet 1": FOOTER,
        "read_range c.parquet 1": FOOTER,
    },
    "identity": {
        "open_seekable 1.parquet 1": ROWS,
        "open_seekable 1.parquet 2": "identity_values",
        "read_range 1.parquet 1": FOOTER,
    },
    "checkpoint": {
        f"open_seekable {LOG}{1:020}.checkpoint.parquet 1": CHECKPOINT,
        f"open_seekable {LOG}{1:020}.checkpoint.parquet 2": CHECKPOINT,
    },
    "checkpoint in JSON": {
        f"chunks {LOG}{1:020}.checkpoint.{UUID}.json 1": CHECKPOINT,
        f"open_seekable {LOG}_sidecars/00000000-0000-4000-8000-000000000001.parquet 1": CHECKPOINT,
    },
    "compaction": {f"chunks {LOG}{1:020}.{2:020}.compacted.json 1": "lines replay_differences"},
    "checksum": {f"read {LOG}{2:020}.crc 1": "checksums", f"read {LOG}{2:020}.crc 2": "checksums replay_differences"},
    "hint": {
        f"open_seekable {LOG}{1:020}.checkpoint.parquet 1": f"{CHECKPOINT} last_checkpoint",
        f"open_seekable {LOG}{1:020}.checkpoint.parquet 2": f"{CHECKPOINT} last_checkpoint",
        f"read {LOG}_last_checkpoint 1": "last_checkpoint",
    },
}
"""By table and access: the views whose rules are not checked if the access fails."""


@pytest.mark.parametrize("name", TABLES)
def test_ledger_names_the_views_of_a_failed_read(name: str) -> None:
    """The first read of a commit is left out, because most views need it."""
    accesses = {" ".join(map(str, each)): each for each in list_accesses(name) if not is_first_commit_read(each)}
    found = {}
    for key, access in accesses.items():
        report, _ = validate_failing(name, access)
        assert (report.verdict, report.totals) == ("incomplete", {}), f"{key=}"
        found[key] = collect_views(report)
    assert found == {key: sorted(views.split()) for key, views in VIEWS[name].items()}


def is_first_commit_read(access: Access) -> bool:
    operation, path, number = access
    return operation == "read" and number == 1 and path.endswith(".json")


def collect_views(report: Report) -> list[str]:
    return sorted({RULES[each.rule].view.name for each in report.checked.not_checked})


@pytest.mark.parametrize("version", [0, 1, 2])
def test_failed_read_of_a_commit_leaves_its_actions_unchecked(version: int) -> None:
    report, _ = validate_failing("change data", ("read", commit_path(version), 1))
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert {each.reason for each in report.checked.not_checked} == {f"{commit_path(version)}: {FAILURE}"}
    assert {"commits", "file_actions", "lines", "protocols", "metadata"} <= set(collect_views(report))


# files that are deleted or replaced after they were listed


@pytest.mark.parametrize(
    ("how", "key", "views"),
    [
        ("gone", "read_range b.parquet 1", f"{FOOTER} {ROWS}"),
        ("replaced", "read_range b.parquet 1", f"{FOOTER} {ROWS} change_commits"),
        ("gone", "read_range _change_data/cdc-0.parquet 1", f"{FOOTER} change_commits change_files"),
        ("replaced", "read_range _change_data/cdc-0.parquet 1", f"{FOOTER} change_commits change_files"),
        ("gone", "open_seekable b.parquet 1", ROWS),
        ("replaced", "open_seekable b.parquet 1", f"{ROWS} change_commits"),
        ("gone", "open_seekable _change_data/cdc-0.parquet 1", "change_commits change_files"),
        ("gone", f"read {commit_path(2)} 2", "change_commits change_files"),
        ("gone", "open_seekable a.parquet 1", ""),  # a removed file may have been vacuumed
    ],
)
def test_file_that_changes_during_the_run_is_not_checked(how: str, key: str, views: str) -> None:
    operation, path, number = key.split()
    report, _ = validate_failing("change data", (operation, path, int(number)), how)
    assert (report.verdict, report.totals) == ("incomplete" if views else "conforms", {})
    assert collect_views(report) == sorted(views.split())
    assert {each.file for each in report.checked.not_checked} == ({path} if views else set())
    without_rows = {file for each in report.checked.rows_not_compared for file in each.files}
    assert without_rows == ({commit_path(2)} if path in ("a.parquet", "b.parquet") and how == "gone" else set())


def test_footer_of_a_replaced_file_is_no_finding() -> None:
    report, _ = validate_failing("change data", ("read_range", "b.parquet", 1), "replaced")
    reasons = {each.reason for each in report.checked.not_checked if RULES[each.rule].view.name == "file_columns"}
    assert reasons == {"b.parquet: changed while it was read"}
