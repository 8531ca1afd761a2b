"""Looks at the staged commits of a catalog-managed table. What of them was ratified the catalog alone knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model.catalog_managed import FEATURE, versions_of_uuids
from deltaspec.model.file_names import STAGED_COMMITS, StagedCommit, commit_name, parse
from deltaspec.views.staged_commits import differs, staged_commits, staged_fault
from deltaspec.wire.log_lines import read_lines
from deltaspec.wire.storage import LOG, StorageError, read_in_order

if TYPE_CHECKING:
    from deltaspec.validate.base_run import Run

_MOST_BYTES = 64 << 20
"""Longest commit that is looked at."""


def look_at_staged_commits(run: Run) -> None:
    """Look at each staged commit, and at the published one of its version."""
    below = (name for name in run.plan.entries if name.startswith(STAGED_COMMITS))
    names = {name: found for name in below if isinstance(found := parse(name), StagedCommit)}
    if not names or not run.findings.wants(staged_commits):
        return
    managed = run.state.supports(FEATURE)
    if managed is None:
        run.findings.doubt((staged_commits,), "the protocol is not known")
    if not managed:
        return
    versions = versions_of_uuids(names)
    files = [f"{LOG}/{name}" for name in sorted(names)]
    for name, content in zip(sorted(names), read_in_order(run.store, iter(files), _MOST_BYTES), strict=True):
        staged, file = names[name], f"{LOG}/{name}"
        row = {"version": staged.version, "file": file, "versions_of_uuid": versions[staged.uuid]}
        if isinstance(content, StorageError):
            run.findings.doubt((staged_commits,), str(content), file)
        else:
            fault = staged_fault(read_lines(content, run.revision))
            line, what = fault if fault is not None else (None, None)
            row |= {"line": line, "fault": what, "differs_from_published": _differs(run, staged.version, content)}
        run.findings.look_at_rows(staged_commits, [row])


def _differs(run: Run, version: int, content: bytes) -> bool | None:
    if commit_name(version) not in run.plan.entries:
        return None
    file = f"{LOG}/{commit_name(version)}"
    try:
        return differs(run.store.read(file, _MOST_BYTES), content)
    except StorageError as fault:
        run.findings.doubt((staged_commits,), str(fault), file)
    except RecursionError:
        run.findings.doubt((staged_commits,), "is nested too deeply to be compared", file)
    return None
