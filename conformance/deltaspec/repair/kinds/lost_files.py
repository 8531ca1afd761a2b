"""Missing or unreadable data files: remove them from the table, after a search for copies of them."""

from __future__ import annotations

from deltaspec.repair.changes import Change
from deltaspec.repair.context import (
    Context,
    Proposal,
    count_by_partition,
    count_live_rows,
    list_rules,
    refuse_findings,
)
from deltaspec.repair.file_search import search_files
from deltaspec.repair.kinds import derived_files
from deltaspec.repair.plan_format import Repair
from deltaspec.report.text import count

RULES = frozenset({"DAT001", "PQT001", "PQT004", "ROW001"})
_APPEND_ONLY = (
    "delta.appendOnly forbids removing rows; restore the file from a backup, or set it to false and plan again"
)

_DISPUTED = (
    "the commits have this file and a checkpoint does not, so the commit may be damaged: readers of the checkpoint may "
    "have the right rows. Compare the rows; nothing is removed"
)


def propose(context: Context) -> Proposal:
    """Propose to remove files that cannot be read. The rows that they had are lost."""
    lost = context.group_by_file(RULES)
    live = context.log.find_live(lost)
    proposal = Proposal()
    inventory = context.report.inventory
    unreferenced = [] if inventory is None else inventory.unreferenced
    disputed = derived_files.find_disputed(context)
    search = search_files(context.store, {key: live[key].add.size for key in lost if key in live}, unreferenced)
    for key, findings in lost.items():
        if key not in live:
            continue
        if context.is_append_only:
            proposal.not_repaired += refuse_findings(findings, _APPEND_ONLY, found_elsewhere=search.get(key))
            continue
        if key in disputed:
            proposal.not_repaired += refuse_findings(findings, _DISPUTED, found_elsewhere=search.get(key))
            continue
        file = live[key]
        rows = count_by_partition([(file, count_live_rows(file.add))])
        is_missing = any(each.rule == "DAT001" for each in findings)
        size = "an unknown number of rows" if rows[0].rows is None else count(rows[0].rows, "row")
        repair = Repair(
            kind="remove-file",
            rules=list_rules(findings),
            summary=f"Remove a data file that {'is missing' if is_missing else 'cannot be read'}, and lose {size}.",
            files=[file.add.path],
            effect="lost",
            rows=rows,
            found_elsewhere=search.get(key),
            not_searched=list(search.not_searched),
        )
        proposal.changes.append(Change(repair=repair, removed=frozenset({key})))
    return proposal
