"""Valid tables of invariants, generated columns, defaults and identity columns, in their history and rows."""

from typing import Any

import pyarrow as pa

from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.column_features import (
    DEFAULTS_PROTOCOL,
    INVARIANT_JSON,
    build_column,
    build_identity_column,
    build_identity_table,
    build_table_with_column_history,
    build_table_with_column_metadata,
    get_first_add,
)
from planted_tables.permissions.registry import permission


@permission("column-invariants.key")
def invariant_that_is_brought_with_its_feature() -> TableFiles:
    """One commit adds invariant and feature, with the protocol last; the log does not show existing rows."""
    files = log_only.build_table(protocol=protocol_action(1, 7, None, []))
    fields = [
        build_column(delta__invariants=INVARIANT_JSON),
        build_column("name", "string", delta__invariants=INVARIANT_JSON),
    ]
    files.commits[3] = [commit_info_action(3), metadata_action(fields), protocol_action(1, 7, None, ["invariants"])]
    return files


@permission("generated-columns.key")
def column_generated_within_a_struct() -> TableFiles:
    inner = [build_column("a", "long"), build_column("b", "long", delta__generationExpression="s.a + 1")]
    fields = [build_column("s", {"type": "struct", "fields": inner}), ("name", "string")]
    return log_only.build_table(protocol=protocol_action(1, 7, None, ["generatedColumns"]), fields=fields)


@permission("default-columns.key")
def default_that_a_table_is_created_with() -> TableFiles:
    """Engines also store the initial default."""
    return build_table_with_column_metadata(DEFAULTS_PROTOCOL, CURRENT_DEFAULT="7", EXISTS_DEFAULT="7")


@permission("default-columns.later")
def default_that_comes_back_with_its_column() -> TableFiles:
    """The column is dropped, then an older version is restored."""
    files = log_only.build_table(protocol=DEFAULTS_PROTOCOL)
    plain, defaulted = build_column("c", "integer"), build_column("c", "integer", CURRENT_DEFAULT="42")
    schemas: tuple[list[Any], ...] = ([plain], [defaulted], [], [defaulted])
    for version, (operation, fields) in enumerate(
        zip(("ADD COLUMNS", "CHANGE COLUMN", "DROP COLUMNS", "RESTORE"), schemas, strict=True), 3
    ):
        files.commits[version] = [
            commit_info_action(version, operation=operation),
            metadata_action([*log_only.FIELDS, *fields]),
        ]
    return files


@permission("default-columns.later")
def default_that_goes_and_leaves_the_column() -> TableFiles:
    files = build_table_with_column_metadata(DEFAULTS_PROTOCOL, CURRENT_DEFAULT="7")
    files.commits[3] = [commit_info_action(3), metadata_action([build_column(), ("name", "string")])]
    return files


@permission("identity-columns.start", "rows")
def identity_column_of_sound_values() -> TableFiles:
    """Some values of the sequence, unordered, with null; the last file is removed later."""
    files = build_identity_table((106, [102, 100, 106]), (118, [110, None, 118]), (120, [120]))
    files.commits[4] = [commit_info_action(4), remove_action(get_first_add(files, 3))]
    return files


@permission("identity-columns.step", "rows")
def identity_column_of_sound_values_down_to_the_lowest() -> TableFiles:
    lowest = -(2**63)
    return build_identity_table((lowest + 1, [lowest + 7, lowest + 1]), (lowest, [lowest]), step=-1, start=lowest + 10)


@permission("identity-columns.mark")
def identity_mark_that_its_owner_moves() -> TableFiles:
    """The mark moves back to the last value in the table, in a commit without files."""
    files = build_table_with_column_history(
        build_identity_column(), build_identity_column(104), build_identity_column(110)
    )
    fields: list[Any] = [build_identity_column(104), ("name", "string")]
    files.commits[3] = [commit_info_action(3, operation="CHANGE COLUMN"), metadata_action(fields)]
    return files


@permission("identity-columns.mark")
def identity_mark_that_a_restore_brings_back() -> TableFiles:
    files = build_table_with_column_history(
        build_identity_column(), build_identity_column(104), build_identity_column(110)
    )
    files.commits[3] = [
        commit_info_action(3, operation="RESTORE"),
        metadata_action([build_identity_column(104), ("name", "string")]),
        {"add": {**get_first_add(files, 1)["add"], "path": "restored.parquet"}},
    ]
    return files


@permission("identity-columns.explicit-insert", "rows")
def identity_column_that_users_fill_as_they_like() -> TableFiles:
    """Values repeated, outside the sequence and beyond the mark."""
    return build_identity_table((104, [100, 102, 104, 7]), (104, [100, 100, 1001]), explicit=True)


@permission("identity-columns.explicit-insert", "rows")
def identity_values_that_move_to_other_files() -> TableFiles:
    """A commit rewrites a file and inserts: values before the mark belong to older rows."""
    files = build_identity_table((104, [100, 102, 104]))
    fields: list[Any] = [build_identity_column(106), ("name", "string")]
    rows = pa.table({"id": [100, 104, 106], "name": ["x", "y", "z"]})
    files.commits[2] = [
        commit_info_action(2, operation="MERGE"),
        metadata_action(fields),
        remove_action(get_first_add(files, 1)),
        add_data_file(files, "2.parquet", rows),
    ]
    return files
