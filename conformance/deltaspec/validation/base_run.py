"""What one run knows of a table's log: the judged history but for its file actions, which are dealt to shares.

It is small beside the table and can be sent to where a share is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltaspec.model.actions import WireStruct
from deltaspec.model.revisions import Revision
from deltaspec.validation.findings import Findings
from deltaspec.validation.plan import Plan
from deltaspec.views.base import Level, View
from deltaspec.views.files.added_vectors import added_vectors
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.views.files.file_actions import deletion_vectors, file_actions, file_history
from deltaspec.views.files.row_id_history import StatedRowIds
from deltaspec.views.files.snapshot import snapshot_files
from deltaspec.views.log.checkpoints import checksums, replay_differences
from deltaspec.views.log.derived_file_rows import CommitFacts
from deltaspec.views.log.replay_differences import TableActions
from deltaspec.views.table.state import TableSchema, TableState
from deltaspec.wire.storage.interface import Store

if TYPE_CHECKING:
    from deltaspec.validation.log.derived_file_comparison import DerivedFileActions

Progress = Callable[[str, int, int | None], None]

ACTION_VIEWS: tuple[View, ...] = (file_actions, deletion_vectors)
"""Views of single file actions."""
FILE_VIEWS: tuple[View, ...] = (
    file_history,
    added_vectors,
    adds_without_stats,
    replay_differences,
    checksums,
    snapshot_files,
)
"""Views whose rules depend on the replay of file actions."""


def silent(phase: str, done: int, total: int | None) -> None:
    """No progress is shown."""


class Run:
    """One run over one table: what is asked, what the log says, what was found."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        findings: Findings,
        progress: Progress = silent,
        *,
        level: Level = "log",
        revision: Revision = Revision.CURRENT,
        clock_ms: int | None = None,
        allow_outside: bool = False,
    ) -> None:
        self.store = store
        self.plan = plan
        self.findings = findings
        self.progress = progress
        self.level: Level = level
        self.revision = revision
        self.clock_ms = clock_ms
        """A moment after the last file of the table was written, by which retention is judged; None: it is not."""
        self.allow_outside = allow_outside
        self.compared = bool(plan.compared_checkpoints or plan.compactions)
        """Something claims to equal replay, file by file."""
        self.state = TableState(revision)
        self.operations: dict[int, str | None] = {}
        """What each commit says it does."""
        self.stated_row_ids: dict[int, StatedRowIds] = {}
        """What each commit says of row ids."""
        self.base_actions: list[WireStruct] = []
        """Actions of the checkpoint that the judged history begins with, its file actions left out."""
        self.table_actions: list[tuple[int, WireStruct]] = []
        """The same of every commit, with its version."""
        self.compared_states: dict[int, tuple[TableActions, FileContext]] = {}
        """The table at versions that something is compared at."""
        self.commit_facts: dict[int, CommitFacts] = {}
        self.replay_blocked_reason: str | None = None
        """Why the replay of file actions is not to be trusted."""
        self.schemas: dict[int, TableSchema | None] = {}
        """What data files of a version are judged against, at versions with change data."""
        self.derived_files: list[DerivedFileActions] = []
        """What claims to equal replay."""
        self.multipart: dict[str, tuple[str, ...]] = {}
        """The files of each checkpoint of several parts, by the tag of its rows."""
        self.listing_error: str | None = None
        """Why the table's directories could not be listed as a whole."""
        self.engine_checks_constraints = False
        """The engine itself evaluates what the table's metadata says of its rows in SQL."""
        self.bucket_count = 1
        """Over how many shares the table's files are spread."""

    def block_replay(self, reason: str, file: str | None) -> None:
        """Replay of file actions is not to be trusted."""
        self.replay_blocked_reason = self.replay_blocked_reason or reason
        self.findings.mark_undecided(FILE_VIEWS, reason, file)

    def apart(self) -> Run:
        """The same knowledge with nothing found, to look at a share elsewhere and to be merged later."""
        other = Run(self.store, self.plan, self.findings.copy_without_findings())
        for name in vars(other):
            if name not in ("findings", "progress"):
                setattr(other, name, getattr(self, name))
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "progress": silent}
