"""Strategies for valid logs in every form that the protocol allows.

`logs()` draws tables; `logs_with_states()` also returns the state at every version. No data files are written: tables
consist of the log and the deletion-vector files that relative descriptors name.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.logs import log_directory, revision_features
from deltaspec_generators.logs.builder import LogBuilder
from deltaspec_generators.logs.commits import draw_commits
from deltaspec_generators.logs.feature_operations import PROTECTED
from deltaspec_generators.logs.state import Body, TableState
from deltaspec_generators.logs.table_specs import FEATURES, table_specs
from deltaspec_generators.table_files import Line, TableFiles

OPTIONAL_FIELDS = {
    "add": ("stats", "tags", "deletionVector", "baseRowId", "clusteringProvider"),
    "remove": ("deletionTimestamp", "extendedFileMetadata", "partitionValues", "size", "tags", "deletionVector"),
    "metaData": ("name", "description", "createdTime"),
    "txn": ("lastUpdated",),
    "cdc": ("tags",),
    "protocol": ("readerFeatures", "writerFeatures"),
}
"""Optional fields that may be an explicit null instead of being absent."""


@dataclass(frozen=True)
class GeneratedLog:
    """A valid table and its state at each version."""

    files: TableFiles
    states: list[TableState]
    """State at each version from 0 on, including versions that cleanup made unreadable."""


def logs(
    *,
    max_commits: int = 6,
    features: Collection[str] | None = None,
    decorated: bool = True,
    blank_lines: bool = True,
    revision: Revision = Revision.CURRENT,
) -> st.SearchStrategy[TableFiles]:
    """Draw valid tables.

    Args:
        max_commits: maximum number of commits before cleanup.
        features: table features that may be used; legacy versions are used only if they imply no others. None allows
            every feature of the revision and, with the current one, proposals and preview names.
        decorated: whether unknown fields, actions and files, explicit nulls and blank lines may occur.
        blank_lines: whether decorations include blank lines, which the protocol does not mention (S21).
        revision: protocol revision that the tables follow.
    """
    drawn = logs_with_states(
        max_commits=max_commits, features=features, decorated=decorated, blank_lines=blank_lines, revision=revision
    )
    return drawn.map(lambda log: log.files)


@st.composite
def logs_with_states(
    draw: st.DrawFn,
    *,
    max_commits: int = 6,
    features: Collection[str] | None = None,
    decorated: bool = True,
    blank_lines: bool = True,
    revision: Revision = Revision.CURRENT,
) -> GeneratedLog:
    """Draw valid tables with their state at each version; arguments as in `logs`."""
    allowed = revision_features.list_allowed(revision, FEATURES) if features is None else features
    spec = draw(table_specs(features=allowed, revision=revision))
    builder = draw_commits(draw, spec, max_commits, allowed)
    files = TableFiles(commits={version: list(actions) for version, actions in enumerate(builder.commits)})
    files.extra.update(builder.vector_files)
    _add_log_files(builder, files)
    if decorated and draw(st.booleans()):
        for lines in files.commits.values():
            _decorate(draw, lines, blank_lines)
        files.extra.update(log_directory.draw_unknown_files(builder))
    if "catalogManaged" in builder.features and draw(st.booleans()):
        files.extra.update(log_directory.draw_staged_commits(builder, files))
    return GeneratedLog(files, builder.states)


def _add_log_files(builder: LogBuilder, files: TableFiles) -> None:
    """Draw checkpoints, compactions, checksums, cleanup and the hint."""
    draw, last = builder.draw, len(builder.commits) - 1
    versions = st.integers(0, last).map(lambda back: last - back)
    for version in sorted(draw(st.lists(versions, max_size=3))):
        checkpoint = log_directory.draw_checkpoint(builder, builder.states[version])
        # Two checkpoints of one version need different file names.
        if not {name for each in files.checkpoints for name in each.names} & set(checkpoint.names):
            files.checkpoints.append(checkpoint)
    if builder.revision.since(Revision.R3):
        shortest = int(builder.revision is Revision.CURRENT)
        starts = draw(st.lists(st.integers(0, last - shortest), max_size=2, unique=True)) if last >= shortest else []
        for start in starts:
            end = draw(st.integers(start + shortest, last))
            files.compactions[start, end] = log_directory.build_compaction(builder, start, end)
    if builder.revision is Revision.CURRENT and draw(st.booleans()):
        first, final = sorted((draw(versions), draw(versions)))  # checksums have no gaps
        for version in range(first, final + 1):
            files.checksums[version] = log_directory.draw_checksum(builder, builder.states[version])
    if bool(files.checkpoints) and draw(st.booleans()):
        cutoff = draw(st.sampled_from(files.checkpoints)).version
        if cutoff >= int(builder.configuration.get(PROTECTED, "0")):
            log_directory.delete_expired_files(files, cutoff)
    if bool(files.checkpoints) and draw(st.booleans()):
        target = draw(st.sampled_from(files.checkpoints))
        overwritten = any(each.version < target.version for each in files.checkpoints)
        files.last_checkpoint = log_directory.draw_hint(builder, target, overwritten=overwritten)


def _decorate(draw: st.DrawFn, lines: list[Line], blank_lines: bool) -> None:
    """Add what readers must ignore: nulls, unknown fields, unknown actions, a blank line at the end."""
    for index, line in enumerate(lines):
        if isinstance(line, dict) and draw(st.booleans()):
            lines[index] = {kind: _decorate_body(draw, kind, body) for kind, body in line.items()}
    if draw(st.booleans()):
        lines.append({"futureAction": {"path": "x", "nested": [1, None]}})
    if blank_lines and draw(st.booleans()):
        lines.append("")


def _decorate_body(draw: st.DrawFn, kind: str, body: Body) -> Body:
    found: dict[str, Any] = dict(body)
    for name in OPTIONAL_FIELDS.get(kind, ()):
        if name not in body and draw(st.booleans()):
            found[name] = None
    if kind != "commitInfo" and draw(st.booleans()):
        found["futureField"] = draw(st.sampled_from((None, 1, "text", {"deep": [True]})))
    return found
