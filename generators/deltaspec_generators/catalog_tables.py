"""Small tables that a catalog manages or managed, with what the catalog knows."""

from collections.abc import Callable

import pyarrow as pa
from msgspec.structs import replace

from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec_generators.catalog_managed import manage, stage, withhold
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.small_tables import add_data_file, build_rows, build_table_with_data
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.written import describe_table

NEWEST = 4
"""Newest version of the tables."""
_FEATURES = ["inCommitTimestamp"]


def build_commits() -> TableFiles:
    """Build the commits of `build_table_with_data`, and two more, which add the files d and e."""
    files = build_table_with_data()
    for version, name in ((3, "d"), (4, "e")):
        files.commits[version] = [commit_info_action(version), _add(files, name, version * 10)]
    return files


def _add(files: TableFiles, name: str, first: int) -> dict[str, object]:
    added: dict[str, object] = add_data_file(files, f"{name}.parquet", build_rows(first))
    return added


def build_managed() -> TableFiles:
    """Build the commits of a table that a catalog manages from its first version on."""
    files = build_commits()
    manage(files)
    return files


def describe_versions(files: TableFiles, known: CatalogAnswer | None, shown: TableFiles | None = None) -> ReadableTable:
    """Describe every version from 1 on, up to the latest of the catalog.

    Args:
        files: the table with all commits published.
        known: what the catalog knows.
        shown: the table on disk; the first one by default.
    """
    latest = NEWEST if known is None else known.latest_version
    versions = []
    for version in range(1, latest + 1):
        until = replace(files, commits={each: lines for each, lines in files.commits.items() if each <= version})
        info = get_action(files, version, "commitInfo")
        (expected,) = describe_table(until, _build_rows(version)).versions
        versions.append(replace(expected, timestamp_ms=info["inCommitTimestamp"]))
    return ReadableTable(shown or files, tuple(versions), (f"versions 0 to {latest}",), catalog=known)


def _build_rows(version: int) -> pa.Table:
    """Rows of a version: the files a and b at first, then b and c, then one more in each version."""
    first = 0 if version == 1 else 10
    return pa.concat_tables([build_rows(each) for each in range(first, 10 * version + 10, 10)])


def build_published_and_staged() -> ReadableTable:
    """Build a table whose versions 3 and 4 are staged."""
    files = build_managed()
    shown, known = withhold(files, 2)
    return describe_versions(files, known, shown)


def build_nothing_published() -> ReadableTable:
    """Build a table of which no version is published."""
    files = build_managed()
    shown, known = withhold(files, -1)
    return describe_versions(files, known, shown)


def build_all_published() -> ReadableTable:
    """Build a table whose versions are all published; the catalog stores none of them."""
    files = build_managed()
    return describe_versions(files, CatalogAnswer(NEWEST))


def build_published_and_inline() -> ReadableTable:
    """Build a table whose versions 3 and 4 are stored by the catalog."""
    files = build_managed()
    shown, known = withhold(files, 2, kinds={3: "inline", 4: "inline"})
    return describe_versions(files, known, shown)


def build_example_of_the_protocol() -> ReadableTable:
    """Build the mixture of the protocol's example: a published and returned version, losers, an inline version.

    Source: Reading Catalog-managed Tables (current).
    """
    files = build_managed()
    shown, known = withhold(files, 2, kinds={4: "inline"}, first=2)
    _stage_loser(shown, 3)
    _stage_loser(shown, 5)
    stage(shown, 5, b'{"commitInfo":{"inComm', attempt=2)
    return describe_versions(files, known, shown)


def _stage_loser(files: TableFiles, version: int) -> None:
    """Stage a complete commit that the catalog did not ratify; it adds a file that exists."""
    info = commit_info_action(version, inCommitTimestamp=1_700_000_000_500 + version, txnId=f"loser-{version}")
    stage(files, version, [info, _add(files, f"loser-{version}", 900)], attempt=1)


def build_losers_of_every_version() -> ReadableTable:
    """Build a table with two staged commits of every unpublished version; the catalog names one of each."""
    files = build_managed()
    shown, known = withhold(files, 1)
    for version in range(2, NEWEST + 2):
        _stage_loser(shown, version)
    return describe_versions(files, known, shown)


def build_staged_after_latest() -> ReadableTable:
    """Build a table with all versions published and a complete staged commit of the next, which is not ratified."""
    files = build_managed()
    shown, _ = withhold(files, NEWEST)
    _stage_loser(shown, NEWEST + 1)
    return describe_versions(files, CatalogAnswer(NEWEST), shown)


def build_published_copy_differs() -> ReadableTable:
    """Build a table with a published file of version 3 that is not what the catalog ratified."""
    files = build_managed()
    shown, known = withhold(files, 3, first=3)
    info = commit_info_action(3, inCommitTimestamp=1_700_000_000_003, txnId="txn-wrong")
    shown.commits[3] = [info, _add(shown, "wrong", 900)]
    return describe_versions(files, known, shown)


def build_published_after_latest() -> ReadableTable:
    """Build a table with a published version 4 and its checkpoint; the catalog says that 3 is the latest version."""
    files = build_managed()
    shown, known = withhold(files, NEWEST, first=3)
    shown.checkpoints = [_build_checkpoint(files, NEWEST)]
    answer = CatalogAnswer(NEWEST - 1, tuple(each for each in known.commits if each.version < NEWEST))
    return describe_versions(files, answer, shown)


def _build_checkpoint(files: TableFiles, version: int) -> CheckpointFiles:
    commits = {each: lines for each, lines in files.commits.items() if each <= version}
    (expected,) = describe_table(replace(files, commits=commits), _build_rows(version)).versions
    state = expected.state
    rows = [{"protocol": state.protocol}, {"metaData": state.metadata}]
    rows += [{"add": {**body, "dataChange": False}} for body in state.live.values()]
    rows += [{"remove": {**body, "dataChange": False}} for body in state.tombstones.values()]
    return CheckpointFiles(version, rows=list(rows))


def build_checkpoint_before_tail() -> ReadableTable:
    """Build a table with a checkpoint of version 2, without the commits before it, and a staged tail."""
    files = build_managed()
    shown, known = withhold(files, 2)
    shown.checkpoints = [_build_checkpoint(files, 2)]
    shown.last_checkpoint = {"version": 2, "size": 5}
    described = describe_versions(files, known, shown)
    del shown.commits[0], shown.commits[1]
    return replace(described, versions=tuple(each for each in described.versions if each.version >= 2))


def build_checkpoint_and_inline_tail() -> ReadableTable:
    """Build a table that consists of a checkpoint of version 3, its commit and an inline version 4."""
    files = build_managed()
    shown, known = withhold(files, 3, kinds={4: "inline"})
    shown.checkpoints = [_build_checkpoint(files, 3)]
    described = describe_versions(files, known, shown)
    for version in range(3):
        del shown.commits[version]
    return replace(described, versions=tuple(each for each in described.versions if each.version >= 3))


def build_upgraded() -> ReadableTable:
    """Build a table that a catalog manages since version 2; versions 3 and 4 are staged."""
    files = build_managed()
    enabled = {IN_COMMIT_TIMESTAMPS: "true"}
    files.commits[0][1:3] = [
        protocol_action(1, 7, None, _FEATURES),
        metadata_action([("id", "long"), ("name", "string"), ("price", "double")], configuration=enabled),
    ]
    managed = ["inCommitTimestamp", "catalogManaged"]
    files.commits[2].append(protocol_action(3, 7, ["catalogManaged"], managed))
    shown, known = withhold(files, 2)
    return describe_versions(files, known, shown)


def build_downgraded() -> ReadableTable:
    """Build a table that a catalog managed up to version 2; a staged commit of that time remains."""
    files = build_managed()
    files.commits[3].append(protocol_action(1, 7, None, _FEATURES))
    shown, _ = withhold(files, NEWEST)
    _stage_loser(shown, 2)
    described = describe_versions(files, None, shown)
    return replace(described, versions=tuple(each for each in described.versions if each.version >= 3))


CATALOG_TABLES: dict[str, Callable[[], ReadableTable]] = {
    "published-and-staged": build_published_and_staged,
    "nothing-published": build_nothing_published,
    "all-published": build_all_published,
    "published-and-inline": build_published_and_inline,
    "example-of-the-protocol": build_example_of_the_protocol,
    "losers-of-every-version": build_losers_of_every_version,
    "staged-after-latest": build_staged_after_latest,
    "published-copy-differs": build_published_copy_differs,
    "published-after-latest": build_published_after_latest,
    "checkpoint-before-tail": build_checkpoint_before_tail,
    "checkpoint-and-inline-tail": build_checkpoint_and_inline_tail,
    "upgraded": build_upgraded,
    "downgraded": build_downgraded,
}
"""All tables by name."""
