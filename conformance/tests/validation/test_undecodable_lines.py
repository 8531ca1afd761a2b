"""A line that cannot be decoded leaves rules undecided: the ledger names every rule that it may concern."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation.describe.table_description import describe_table
from deltaspec.validation.ledger import find_unused_rules
from deltaspec_generators.table_files import TableFiles, commit_info_action, write_table
from deltaspec_generators.values.variant_encoder import build_variant_column
from planted_tables.bases.actions import build_updated_table
from planted_tables.bases.clustering import build_clustered_table
from planted_tables.bases.column_features import build_identity_table
from planted_tables.bases.iceberg import build_compatible_table
from planted_tables.bases.log_only import build_table_with_checksum
from planted_tables.bases.row_ids import build_rewritten_table
from planted_tables.bases.variants import build_table_with_variants

TABLES: dict[str, Callable[[], TableFiles]] = {
    "change data": lambda: build_updated_table()[0],
    "clustering": build_clustered_table,
    "iceberg": lambda: build_compatible_table("V2"),
    "identity": lambda: build_identity_table((102, [102])),
    "row ids": build_rewritten_table,
    "variants": lambda: build_table_with_variants(build_variant_column([1, "x"])),
}
KINDS = ("protocol", "metaData", "add", "remove", "cdc", "txn", "domainMetadata", None)
CLOCK_MS = 1_700_000_000_000


def validate(files: TableFiles, path: Path) -> Report:
    write_table(files, path)
    return deltaspec.validate(str(path), level="rows", history="all", clock=CLOCK_MS)


def validate_with_line(name: str, line: bytes, path: Path) -> Report:
    """Validate a table whose last commit has this line."""
    files = TABLES[name]()
    version = max(files.commits) + 1
    files.commits[version] = [commit_info_action(version), line]
    return validate(files, path)


def encode_undecodable(kind: str | None) -> bytes:
    """Return a line with a malformed action of a kind; for None, a line that is not JSON."""
    return b"{" if kind is None else json.dumps({kind: 5}).encode()


@pytest.mark.parametrize("name", TABLES)
def test_every_rule_that_is_not_evaluated_any_more_is_in_the_ledger(name: str, tmp_path: Path) -> None:
    complete = validate(TABLES[name](), tmp_path / "sound")
    features = {each.name for each in describe_table(str(tmp_path / "sound")).features}
    for kind in ("protocol", "metaData", "add", None):
        report = validate_with_line(name, encode_undecodable(kind), tmp_path / str(kind))
        silent = {*complete.checked.run} - {*report.checked.run} - {each.rule for each in report.checked.not_checked}
        assert silent - find_unused_rules(silent, features) == set(), kind


LOG = "_delta_log/00000000000000000004.json"
STATE = "configuration domains features metadata proposals proposed_files protocols schema_fields"
ROW_IDS = "new_row_ids row_id_columns row_id_commits row_id_conflicts row_id_files row_id_ranges row_id_rewrites"
REPLAY = "checksums file_history idle_removes null_columns outdated_files rearrangements replay_differences"
FILES = "data_files file_columns removed_files write_settings"
ROWS = "change_commits change_files column_facts rearranged_rows row_checks variant_paths"
LOST_METADATA = (
    f"{STATE} {ROW_IDS} row_id_marks row_id_states checksums null_columns outdated_files replay_differences"
    " change_files checkpoint_contents commits listing recorded_type_changes write_settings"
)
LOST_PROTOCOL = (
    f"{STATE} {ROW_IDS} row_id_marks row_id_states checksums null_columns outdated_files replay_differences"
    " adds_without_stats change_files checkpoints clustered_files clustering commits constraint_columns iceberg"
    " iceberg_v3 listing nested_ids recorded_type_changes type_changes variant_uses"
)
"""With the protocol unknown, the table may support any feature."""
OF_FEATURES = "added_vectors constraint_checks deletion_vectors identity_values variant_columns"
"""Views of other features, which depend on replay."""
LOST_FILES = (
    f"{REPLAY} {FILES} {ROWS} new_row_ids row_id_commits row_id_conflicts row_id_files row_id_marks row_id_ranges"
    " row_id_rewrites"
)


@pytest.mark.parametrize(
    ("kind", "views"),
    [
        ("protocol", LOST_PROTOCOL),
        ("metaData", LOST_METADATA),
        ("add", LOST_FILES),
        ("remove", LOST_FILES),
        ("cdc", "change_commits change_files data_files file_columns"),
        ("txn", "replay_differences"),
        ("domainMetadata", "domains replay_differences"),
        (None, f"{LOST_FILES} {LOST_PROTOCOL} {OF_FEATURES} checkpoint_contents write_settings"),
    ],
)
def test_ledger_names_the_views_of_a_kind_of_action(kind: str | None, views: str, tmp_path: Path) -> None:
    report = validate_with_line("row ids", encode_undecodable(kind), tmp_path)
    found = {RULES[each.rule].view.name for each in report.checked.not_checked if each.file == LOG}
    assert found == set(views.split())
    assert {each.reason for each in report.checked.not_checked if each.file == LOG} == {"a line cannot be decoded"}
    assert {RULES[code].view.name for code in report.totals} == {"lines"}


@pytest.mark.parametrize(
    ("kind", "reasons"),
    [
        (
            "metaData",
            {
                "a metaData action could not be decoded": "removed_files",
                "the schema of the rows is not known": "column_facts row_checks variant_paths",
                "the schema of version 2 is not known": "data_files file_columns",
                "the schema of version 3 is not known": "data_files file_columns",
            },
        ),
        (
            "domainMetadata",
            {
                "an action that may contain the high-water mark cannot be decoded": (
                    "row_id_files row_id_marks row_id_ranges"
                )
            },
        ),
    ],
)
def test_reasons_without_a_file(kind: str, reasons: dict[str, str], tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}
    for each in validate_with_line("row ids", encode_undecodable(kind), tmp_path).checked.not_checked:
        if each.file is None:
            found.setdefault(each.reason, set()).add(RULES[each.rule].view.name)
    assert found == {reason: set(views.split()) for reason, views in reasons.items()}


def test_commit_info_with_a_lone_surrogate_leaves_the_commit_unchecked(tmp_path: Path) -> None:
    """Any other malformed commitInfo is decoded, because it is free-form."""
    line = b'{"commitInfo":{"operation":"\\ud800"}}'
    report = validate_with_line("row ids", line, tmp_path)
    assert {RULES[each.rule].view.name for each in report.checked.not_checked} == {"commits"}


def test_commit_with_an_undecodable_cdc_action_has_one_finding(tmp_path: Path) -> None:
    files = build_updated_table()[0]
    files.commits[2][-1] = encode_undecodable("cdc")
    assert validate(files, tmp_path).totals == {"LIN012": 1}


@pytest.mark.parametrize("kind", ["metaData", "add", "txn", "domainMetadata"])
def test_checksum_is_not_compared_with_an_undecodable_commit(kind: str, tmp_path: Path) -> None:
    files = build_table_with_checksum()
    files.commits[1].append(encode_undecodable(kind))
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert {RULES[code].view.name for code in report.totals} == {"lines"}
    unchecked = {RULES[each.rule].view.name for each in report.checked.not_checked}
    assert {"replay_differences"} <= unchecked
    assert ("checksums" in unchecked) == (kind in ("metaData", "add"))
