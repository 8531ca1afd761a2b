"""Files that are live under two spellings of their path: keep one."""

from __future__ import annotations

from deltaspec.protocol.actions import Add
from deltaspec.repair.changes import Change
from deltaspec.repair.context import Context, Proposal, count_by_partition, count_live_rows, list_rules, refuse_findings
from deltaspec.repair.kinds.history import CHOICE
from deltaspec.repair.plan_format import Repair
from deltaspec.repair.table_log import LiveFile

RULES = frozenset({"FIL035"})
_NEEDS_CHECKPOINT = (
    "the file is live under {count} spellings. A commit that removes one of them removes the file for readers that "
    "compare decoded paths, so only a checkpoint without the older commits ends it"
)


def propose(context: Context) -> Proposal:
    """Propose a checkpoint that has only one spelling of each file."""
    proposal = Proposal()
    spelled = context.group_by_file(RULES)
    live = context.log.find_live(spelled)
    spellings = _find_spellings(context, set(spelled))
    for key, findings in spelled.items():
        texts = spellings.get(key, {})
        if len(texts) < 2 or key not in live:
            reason = "only one spelling is live; engines that compare paths as written may not apply the remove action"
            proposal.not_repaired += refuse_findings(findings, reason, [CHOICE])
        elif not context.choices.sets_history_aside:
            proposal.not_repaired += refuse_findings(findings, _NEEDS_CHECKPOINT.format(count=len(texts)), [CHOICE])
        else:
            file = live[key]
            repair = Repair(
                kind="remove-duplicate",
                rules=list_rules(findings),
                summary=f"Keep one of {len(texts)} spellings of a file, so that its rows are read once.",
                files=sorted(texts),
                effect="duplicates-end",
                rows=count_by_partition([(file, count_live_rows(file.add))]),
            )
            proposal.changes.append(Change(repair=repair))
    return proposal


def _find_spellings(context: Context, keys: set[str]) -> dict[str, dict[str, LiveFile]]:
    """Return the paths as written that are live for engines that do not decode them, by key."""
    found: dict[str, dict[str, LiveFile]] = {}
    if not keys:
        return found
    for version, action in context.log.iter_file_actions():
        key = context.log.get_key(action.path)
        if key not in keys:
            continue
        if isinstance(action, Add):
            found.setdefault(key, {})[action.path] = LiveFile(action, version)
        else:
            found.setdefault(key, {}).pop(action.path, None)
    return found
