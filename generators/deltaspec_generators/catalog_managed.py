"""Turn a table into one that a catalog manages, and leave its newest commits unpublished.

    manage(files)
    files, answer = withhold(files, published=1, kinds={3: "inline"})

Source: Catalog-managed Tables (current).
"""

from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from typing import Any, Literal

from msgspec.structs import replace

from deltaspec.protocol.features.catalog_managed import FEATURE, CatalogAnswer, RatifiedCommit
from deltaspec.protocol.log.file_names import STAGED_COMMITS, staged_commit_name
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec_generators.action_lines import Line, encode_lines
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import LOG, TableFiles
from deltaspec_generators.table_state import Body

CommitKind = Literal["staged", "inline"]
START_MS = 1_700_000_000_000
_UUIDS = 0x5746ED
"""Added to the numbers of UUIDs of staged commits, which must differ from other UUIDs."""


def add_feature(protocol: Body) -> Body:
    """Return a protocol with versions 3 and 7 that also lists the feature and what it requires."""
    readers = [*protocol.get("readerFeatures", ()), FEATURE]
    writers = [*protocol.get("writerFeatures", ()), "inCommitTimestamp", FEATURE]
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": readers,
        "writerFeatures": list(dict.fromkeys(writers)),
    }


def manage(files: TableFiles) -> None:
    """Let a catalog manage a table from its first version on; its commits must be JSON objects.

    In-commit timestamps are enabled, and each commit gets one and the id of a transaction.
    """
    for version, lines in files.commits.items():
        files.commits[version] = [_manage_line(version, line) for line in lines]
    for checkpoint in files.checkpoints:
        checkpoint.rows = [_manage_line(checkpoint.version, row) for row in checkpoint.rows]


def _manage_line(version: int, line: Any) -> Any:
    assert isinstance(line, dict)
    match line:
        case {"protocol": body}:
            return {"protocol": add_feature(body)}
        case {"metaData": body}:
            return {"metaData": {**body, "configuration": {**body["configuration"], IN_COMMIT_TIMESTAMPS: "true"}}}
        case {"commitInfo": body}:
            return {"commitInfo": {**body, "inCommitTimestamp": START_MS + version, "txnId": build_txn_id(version)}}
    return line


def build_txn_id(version: int) -> str:
    """Build the id of the transaction that committed a version."""
    return f"txn-{version}"


def withhold(
    files: TableFiles, published: int, *, kinds: Mapping[int, CommitKind] | None = None, first: int | None = None
) -> tuple[TableFiles, CatalogAnswer]:
    """Return a table whose newest commits are not published, and what its catalog knows.

    Args:
        files: the table with all commits published; it is not changed.
        published: the newest published version; -1 for none.
        kinds: how the catalog stores each ratified commit; staged by default.
        first: the first version that the catalog returns, `published + 1` by default. It may be a published one.
    """
    files = replace(files, commits=dict(files.commits), extra=dict(files.extra))
    found = []
    for version in sorted(files.commits):
        if version >= (published + 1 if first is None else first):
            data = encode_lines(files.commits[version])
            if (kinds or {}).get(version) == "inline":
                found.append(RatifiedCommit(version, content=data.decode()))
            else:
                found.append(RatifiedCommit(version, staged=stage(files, version, data)))
    latest = max(files.commits)
    for version in range(published + 1, latest + 1):
        del files.commits[version]
    return files, CatalogAnswer(latest, tuple(found))


def stage(files: TableFiles, version: int, lines: Iterable[Line] | bytes, *, attempt: int = 0) -> str:
    """Add a staged commit, and return its name in the directory of staged commits.

    Args:
        files: gets the file.
        version: the proposed version.
        lines: lines of the commit, or its bytes.
        attempt: distinguishes several attempts at a version.
    """
    name = staged_commit_name(version, build_uuid(_UUIDS + version * 100 + attempt))
    files.extra[LOG + name] = lines if isinstance(lines, bytes) else encode_lines(lines)
    return name.removeprefix(STAGED_COMMITS)


def keep_published(files: TableFiles, published: int, changed: Collection[int] = ()) -> None:
    """Leave out checkpoints and compactions of unpublished versions, and compactions with a change of the protocol."""
    kept = [each for each in files.checkpoints if each.version <= published]
    if len(kept) < len(files.checkpoints):
        files.last_checkpoint = None  # it may name a checkpoint that is left out
    files.checkpoints = kept
    files.compactions = {
        (start, end): lines
        for (start, end), lines in files.compactions.items()
        if end <= published and not set(changed) & {*range(start, end + 1)}
    }


def copy_table(files: TableFiles) -> TableFiles:
    """Return a copy whose commits and derived files can be changed; data files are shared."""
    return replace(
        files,
        commits=deepcopy(files.commits),
        checkpoints=deepcopy(files.checkpoints),
        compactions=deepcopy(files.compactions),
        checksums=deepcopy(files.checksums),
        extra=dict(files.extra),
        written_ms=dict(files.written_ms),
    )
