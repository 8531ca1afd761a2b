"""Which check asks each kind of imported question."""

from deltaspec.golden.importing.questions import (
    CannotAsk,
    LoadSnapshot,
    PerformCommits,
    PerformOperations,
    ReadChanges,
    ReadRows,
    Refuse,
)
from deltaspec.suites import imported, imported_writes

CHECK_OF_QUESTION = {
    ReadRows: imported.check_read,
    ReadChanges: imported.check_changes,
    LoadSnapshot: imported.check_snapshot,
    Refuse: imported.check_refusal,
    PerformCommits: imported_writes.check_commits,
    PerformOperations: imported_writes.check_operations,
    CannotAsk: imported.check_nothing,
}
