"""Strategies for valid logs in every form that the protocol allows.

`logs()` draws tables; `logs_with_states()` also returns the state at every version. No data files are written: tables
consist of the log and the deletion-vector files that relative descriptors name.
"""

from collections.abc import Collection
from dataclasses import dataclass

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.layouts import log_directory
from deltaspec_generators.layouts.decorations import decorate_lines
from deltaspec_generators.logs import revision_features, staged_commits
from deltaspec_generators.logs.commits import draw_commits
from deltaspec_generators.logs.feature_operations import PROTECTED
from deltaspec_generators.logs.table_specs import FEATURES, table_specs
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import TableState


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
    protected = int(builder.configuration.get(PROTECTED, "0"))
    log_directory.draw_log_files(builder, files, first_deletable=protected)
    if decorated and draw(st.booleans()):
        for lines in files.commits.values():
            decorate_lines(builder.choices, lines, blank_lines=blank_lines)
        files.extra.update(
            log_directory.draw_unknown_files(builder.choices, catalog_managed="catalogManaged" in builder.features)
        )
    if "catalogManaged" in builder.features and draw(st.booleans()):
        files.extra.update(staged_commits.draw_staged_commits(builder, files))
    return GeneratedLog(files, builder.states)
