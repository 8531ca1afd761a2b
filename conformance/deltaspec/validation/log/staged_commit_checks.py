"""Check the staged commits of a catalog-managed table. Only the catalog knows which of them were ratified."""

from __future__ import annotations

from deltaspec.protocol.features.catalog_managed import FEATURE, group_versions_by_uuid
from deltaspec.protocol.log.file_names import STAGED_COMMITS, StagedCommit, commit_name, parse_log_file_name
from deltaspec.validation.catalog_commits import RatifiedCommits
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.log.staged_commits import differs, find_staged_commit_fault, is_other_copy, staged_commits
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError
from deltaspec.wire.storage.prefetch import prefetch_contents
from deltaspec.wire.storage.ratified_store import RatifiedStore

_MAX_BYTES = 64 << 20
"""Size in bytes of the largest commit that is read."""


def check_staged_commits(facts: LogFacts, findings: Findings) -> None:
    """Check each staged commit, and compare it with the published commit of its version.

    If the catalog was asked, only the commits that it ratified are checked.
    """
    catalog = facts.options.ratified
    if catalog is not None:
        _check_ratified(facts, findings, catalog)
        return
    staged_names = (name for name in facts.plan.entries if name.startswith(STAGED_COMMITS))
    names = {name: parsed for name in staged_names if isinstance(parsed := parse_log_file_name(name), StagedCommit)}
    if not names or not findings.has_rules_for(staged_commits):
        return
    managed = facts.state.supports(FEATURE)
    if managed is None:
        findings.mark_undecided((staged_commits,), "the protocol is not known")
    if not managed:
        return
    versions = group_versions_by_uuid(names)
    files = [f"{LOG_DIRECTORY}/{name}" for name in sorted(names)]
    for name, content in zip(sorted(names), prefetch_contents(facts.store, iter(files), _MAX_BYTES), strict=True):
        staged, file = names[name], f"{LOG_DIRECTORY}/{name}"
        row = {"version": staged.version, "file": file, "versions_of_uuid": versions[staged.uuid]}
        if isinstance(content, StorageError):
            findings.mark_undecided((staged_commits,), str(content), file)
        else:
            log = decode_lines(content, facts.options.revision)
            fault = find_staged_commit_fault(log, is_terminated=content.endswith(b"\n"))
            line, description = fault if fault is not None else (None, None)
            differs_from_published = _differs(facts, findings, staged.version, content)
            row |= {"line": line, "fault": description, "differs_from_published": differs_from_published}
        findings.evaluate_rows(staged_commits, [row])


def _check_ratified(facts: LogFacts, findings: Findings, catalog: RatifiedCommits) -> None:
    """Check the commits that the catalog ratified, staged or inline, and compare them with their published copies."""
    if not findings.has_rules_for(staged_commits):
        return
    store = facts.store.table if isinstance(facts.store, RatifiedStore) else facts.store
    listed = {entry.name for entry in facts.plan.listed or ()}
    versions = group_versions_by_uuid(name for name in catalog.sources.values() if name is not None)
    for version, name in catalog.sources.items():
        published = f"{LOG_DIRECTORY}/{commit_name(version)}"
        if name is not None and name not in listed:
            continue  # the ledger has it
        file = published if name is None else f"{LOG_DIRECTORY}/{name}"
        parsed = None if name is None else parse_log_file_name(name)
        of_uuid = versions[parsed.uuid] if isinstance(parsed, StagedCommit) else [version]
        row = {"version": version, "file": file, "versions_of_uuid": of_uuid}
        try:
            content = catalog.contents[version] if name is None else store.read(file, _MAX_BYTES)
            fault = find_staged_commit_fault(decode_lines(content, facts.options.revision), is_terminated=True)
            row["line"], row["fault"] = (None, None) if fault is None else fault
            is_published = commit_name(version) in listed
            row["differs_from_published"] = (
                is_other_copy(store.read(published, _MAX_BYTES), content) if is_published else None
            )
        except StorageError as fault_of_file:
            findings.mark_undecided((staged_commits,), str(fault_of_file), file)
        except RecursionError:
            findings.mark_undecided((staged_commits,), "is nested too deeply to be compared", file)
        findings.evaluate_rows(staged_commits, [row])


def _differs(facts: LogFacts, findings: Findings, version: int, content: bytes) -> bool | None:
    """Compare with the published commit; None if there is none or it cannot be read."""
    if commit_name(version) not in facts.plan.entries:
        return None
    file = f"{LOG_DIRECTORY}/{commit_name(version)}"
    try:
        return differs(facts.store.read(file, _MAX_BYTES), content)
    except StorageError as fault:
        findings.mark_undecided((staged_commits,), str(fault), file)
    except RecursionError:
        findings.mark_undecided((staged_commits,), "is nested too deeply to be compared", file)
    return None
