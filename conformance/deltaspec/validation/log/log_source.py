"""Where the actions of a log come from: `EmbeddedLog` reads it in this process, `SparkLog` on executors.

A source returns the table actions of a file at once. The state of the table that its file actions belong to is known
only after these have been applied, so it also returns a handle to its file actions. Calling the handle with that state
checks the file actions and puts them into the buckets: at once, or by the end of `LogSource.finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import msgspec

from deltaspec.protocol.log.file_names import CompactionName, commit_name, compaction_name
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.validation.buckets import Buckets
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.derived_file_types import DerivedFiles
from deltaspec.validation.log.facts import LogFacts, ReadContext
from deltaspec.validation.plan import Plan
from deltaspec.validation.progress import Progress
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

CheckFileActions = Callable[[FileContext, str], None]
"""Handle to the file actions of a file: checks them against a state of the table, and puts them into the buckets under
a tag."""


class JsonFile(NamedTuple):
    """A commit or log compaction."""

    summary: LogSummary
    check_file_actions: CheckFileActions


class CheckpointFiles(NamedTuple):
    """All files of a checkpoint."""

    parsed: ParsedCheckpoint
    """Complete after the file actions have been checked."""
    check_file_actions: CheckFileActions


class ReadLog(msgspec.Struct, frozen=True):
    """The log after reading. A resume state contains it."""

    facts: LogFacts
    findings: Findings
    parsed_checkpoints: dict[Checkpoint, ParsedCheckpoint]
    derived_files: DerivedFiles | None
    """None if the revision refuses the table."""


class LogSource(Protocol):
    """The log of one run, or a part of it. Its lines and file actions are checked while it is read."""

    context: ReadContext
    """The table, what to read of its log, and what to check."""
    findings: Findings
    """Receives what is found in lines and file actions, and what could not be read."""
    progress: Progress
    parsed_checkpoints: dict[Checkpoint, ParsedCheckpoint]
    """The checkpoints that were read so far."""

    @property
    def buckets(self) -> Buckets:
        """Receive file actions."""
        ...

    def open(self) -> AbstractContextManager[None]:
        """Open the log. It is read and checked within the context."""
        ...

    def open_range(self, part: Plan) -> AbstractContextManager[LogSource]:
        """Return the source of a part of the log before the validated history, with a new recorder."""
        ...

    def run_once(self, read: Callable[[], ReadLog]) -> ReadLog:
        """Read the log, or return what an earlier run saved of it."""
        ...

    def iter_commits(self, versions: Sequence[int]) -> Iterator[JsonFile | StorageError]:
        """Yield commits in the given order, or the reason why a commit cannot be read."""
        ...

    def read_checkpoint(self, checkpoint: Checkpoint) -> CheckpointFiles:
        """Read the table actions of a checkpoint."""
        ...

    def read_compaction(self, name: CompactionName) -> JsonFile:
        """Read a log compaction.

        Raises:
            StorageError: it cannot be read.
        """
        ...

    def flush(self) -> None:
        """Check the file actions of commits that are in the memory of this process."""
        ...

    def keep_new_files(self) -> None:
        """Stop keeping what only rows of files need, of the files that have no action after the earlier report.

        It is called with `--since`, after all commits were read and before the base is checked.
        """
        ...

    def finish(self) -> Collection[str]:
        """Check all remaining file actions. Return the files that have lost actions since they were first read."""
        ...

    def finish_started(self) -> None:
        """Finish checks that have begun, because the run stops."""
        ...


def commit_file(version: int) -> str:
    """Return the path of a commit, relative to the table."""
    return f"{LOG_DIRECTORY}/{commit_name(version)}"


def compaction_file(name: CompactionName) -> str:
    """Return the path of a log compaction, relative to the table."""
    return f"{LOG_DIRECTORY}/{compaction_name(name.start, name.end)}"
