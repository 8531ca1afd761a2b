"""Looks at the staged commits of a catalog-managed table. What of them was ratified the catalog alone knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model.commit.catalog_managed import FEATURE, group_versions_by_uuid
from deltaspec.model.log.file_names import STAGED_COMMITS, StagedCommit, commit_name, parse_log_file_name
from deltaspec.views.log.staged_commits import differs, find_staged_commit_fault, staged_commits
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError
from deltaspec.wire.storage.prefetch import prefetch_contents

if TYPE_CHECKING:
    from deltaspec.validation.base_run import Run

_MOST_BYTES = 64 << 20
"""Longest commit that is looked at."""


def check_staged_commits(run: Run) -> None:
    """Look at each staged commit, and at the published one of its version."""
    below = (name for name in run.plan.entries if name.startswith(STAGED_COMMITS))
    names = {name: found for name in below if isinstance(found := parse_log_file_name(name), StagedCommit)}
    if not names or not run.findings.has_rules_for(staged_commits):
        return
    managed = run.state.supports(FEATURE)
    if managed is None:
        run.findings.mark_undecided((staged_commits,), "the protocol is not known")
    if not managed:
        return
    versions = group_versions_by_uuid(names)
    files = [f"{LOG_DIRECTORY}/{name}" for name in sorted(names)]
    for name, content in zip(sorted(names), prefetch_contents(run.store, iter(files), _MOST_BYTES), strict=True):
        staged, file = names[name], f"{LOG_DIRECTORY}/{name}"
        row = {"version": staged.version, "file": file, "versions_of_uuid": versions[staged.uuid]}
        if isinstance(content, StorageError):
            run.findings.mark_undecided((staged_commits,), str(content), file)
        else:
            fault = find_staged_commit_fault(decode_lines(content, run.revision))
            line, what = fault if fault is not None else (None, None)
            row |= {"line": line, "fault": what, "differs_from_published": _differs(run, staged.version, content)}
        run.findings.evaluate_rows(staged_commits, [row])


def _differs(run: Run, version: int, content: bytes) -> bool | None:
    if commit_name(version) not in run.plan.entries:
        return None
    file = f"{LOG_DIRECTORY}/{commit_name(version)}"
    try:
        return differs(run.store.read(file, _MOST_BYTES), content)
    except StorageError as fault:
        run.findings.mark_undecided((staged_commits,), str(fault), file)
    except RecursionError:
        run.findings.mark_undecided((staged_commits,), "is nested too deeply to be compared", file)
    return None
