"""The verdicts of `catalog_verdicts.toml`: tables that a catalog manages, without and with its answer."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.catalog_tables import Action, CatalogTable, add, commit, encode, info, metadata, protocol, uuid

import deltaspec
from deltaspec.errors import TableUnreadable
from deltaspec.protocol.log.file_names import checksum_name, compaction_name, staged_commit_name
from deltaspec_generators.checkpoint_writer import CheckpointFiles, encode_checkpoint

TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("catalog_verdicts.toml").read_text("utf-8"))
Commits = dict[int, list[Action]]
CUT_BYTES = 30
LOSER = 100
"""Added to the number of a UUID for each further staged file of a version."""


def parse_staged(token: str) -> tuple[int, int, bool]:
    """Return version, number of the UUID, and whether the file is partial."""
    version, _, attempt = token.rstrip("!").partition(":")
    version, _, shared = version.partition("=")
    number = int(shared or version) + (LOSER * (int(attempt) - 1) if attempt else 0)
    return int(version), number, token.endswith("!")


def list_actions(commits: Commits, first: int, last: int) -> list[Action]:
    """List the actions of a range of versions, which add files only, without commitInfo."""
    return [each for version in range(first, last + 1) for each in commits[version] if "commitInfo" not in each]


def build(root: Path, spec: dict[str, Any]) -> tuple[CatalogTable, dict[str, Any]]:
    """Write a table, and return it with the answer of its catalog."""
    table = CatalogTable(root)
    published = [int(each) for each in spec.get("published", "").split()]
    staged = [parse_staged(each) for each in spec.get("staged", "").split()]
    newest = max([*published, *(version for version, _, _ in staged), spec.get("latest", 0)])
    commits = {version: commit(version) for version in range(newest + 1)}
    change = spec.get("change", "")
    if change in CHANGES:
        CHANGES[change](commits)
    for version in published:
        table.publish(version, commits[version])
    for version, number, is_partial in staged:
        loser = [info(version, f"loser-{number}"), add(f"f{version}.parquet")]
        table.stage(version, number, loser if number >= LOSER else commits[version])
        if is_partial:
            path = table.log / staged_commit_name(version, uuid(number))
            path.write_bytes(path.read_bytes()[:-CUT_BYTES])
    write_derived_files(table, spec, commits)
    if change in FILE_CHANGES:
        FILE_CHANGES[change](table)
    parsed = [(each, *parse_staged(each.rstrip("i"))) for each in spec.get("ratified", "").split()]
    found = [
        {"version": version, "content": encode(commits[version]).decode()}
        if token.endswith("i")
        else {"version": version, "staged": staged_commit_name(version, uuid(number)).rpartition("/")[2]}
        for token, version, number, _ in parsed
    ]
    for each in found:
        if "content" in each:
            (table.root / f"f{each['version']}.parquet").write_bytes(b"rows")
    return table, {"latest_version": spec.get("latest"), "commits": found}


def write_derived_files(table: CatalogTable, spec: dict[str, Any], commits: Commits) -> None:
    """Write checkpoints, compactions and checksums; every version adds one file."""
    for version in map(int, spec.get("checkpoints", "").split()):
        rows = list_actions(commits, 0, version)
        for name, data in encode_checkpoint(CheckpointFiles(version, rows=rows), {}).items():
            table.write(name, data)
        for each in range(version + 1):
            (table.root / f"f{each}.parquet").write_bytes(b"rows")
    for token in spec.get("compactions", "").split():
        first, last = map(int, token.split("-"))
        table.write(compaction_name(first, last), encode(list_actions(commits, first, last)))
    for version in map(int, spec.get("checksums", "").split()):
        state = {"tableSizeBytes": 4 * (version + 1), "numFiles": version + 1, "numMetadata": 1, "numProtocol": 1}
        facts = {"txnId": f"t-{version}", "inCommitTimestampOpt": info(version)["commitInfo"]["inCommitTimestamp"]}
        full = {**state, **facts, "metadata": metadata()["metaData"], "protocol": protocol()["protocol"]}
        table.write(checksum_name(version), json.dumps(full).encode())


def publish_other_content(table: CatalogTable) -> None:
    table.publish(2, [info(2, "another"), add("f2.parquet")])


def remove_first_file(commits: Commits) -> None:
    commits[2].append({"remove": {"path": "f0.parquet", "deletionTimestamp": 1, "dataChange": True}})


def list_feature_for_readers_only(commits: Commits) -> None:
    commits[0][1] = protocol(writer=["inCommitTimestamp"])


def repeat_transaction(commits: Commits) -> None:
    commits[2][0] = info(2, "t-1")


def drop_transaction(commits: Commits) -> None:
    del commits[2][0]["commitInfo"]["txnId"]


def turn_clock_back(commits: Commits) -> None:
    commits[2][0] = info(2, inCommitTimestamp=1)


def disable_timestamps(commits: Commits) -> None:
    commits[0][2] = metadata(**{"delta.enableInCommitTimestamps": "false"})


def downgrade(commits: Commits) -> None:
    commits[2].append(protocol([], ["inCommitTimestamp"]))


def upgrade(commits: Commits) -> None:
    commits[0][1] = protocol([], ["inCommitTimestamp"])
    commits[2].append(protocol())


CHANGES: dict[str, Callable[[Commits], None]] = {
    "drop_published_transaction": drop_transaction,
    **{
        each.__name__: each
        for each in (
            *(remove_first_file, list_feature_for_readers_only, repeat_transaction, drop_transaction),
            *(turn_clock_back, disable_timestamps, downgrade, upgrade),
        )
    },
}
"""Changes of commits before they are written."""
FILE_CHANGES: dict[str, Callable[[CatalogTable], None]] = {
    "publish_other_content": publish_other_content,
    "delete_newest_file": lambda table: (table.root / "f2.parquet").unlink(),
    "remove_first_file": lambda table: (table.root / "f0.parquet").unlink(),
}
"""Changes of the written table."""


def judge(table: CatalogTable, **options: Any) -> str:
    """Return the verdict, and the rules of violations."""
    try:
        report = deltaspec.validate(str(table.root), level="files", history="all", **options)
    except TableUnreadable:
        return "unreadable"
    violated = sorted({each.rule for each in report.findings if each.severity == "violation"})
    return " ".join([report.verdict, *violated])


@pytest.mark.parametrize("name", TABLES)
def test_verdict(name: str, tmp_path: Path) -> None:
    spec = TABLES[name]
    table, answer = build(tmp_path / "table", spec)
    assert judge(table) == spec["without"]
    if "latest" in spec:
        file = tmp_path / "answer.json"
        file.write_text(json.dumps(answer))
        assert judge(table, catalog_commits=str(file)) == spec["with"]


def test_every_change_is_used() -> None:
    assert {spec["change"] for spec in TABLES.values() if "change" in spec} == {*CHANGES, *FILE_CHANGES}


def test_tables_are_many_and_cite_the_text() -> None:
    assert len(TABLES) == 42
    assert [name for name, spec in TABLES.items() if not spec["text"]] == []
