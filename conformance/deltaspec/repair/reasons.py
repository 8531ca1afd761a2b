"""Why a finding is not repaired, for everything that no kind of repair has explained."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from deltaspec.repair.context import NO_CHOICES, Choices
from deltaspec.repair.kinds.history import CHOICE, DISPUTED, DISPUTES, is_about_history
from deltaspec.repair.plan_format import NotRepaired, Repair
from deltaspec.repair.verdicts import ENDS_NOTHING
from deltaspec.report.report_types import Finding, Report

MAX_ENTRIES = 1000
"""Entries of `not_repaired`; the last one says how many more there are."""
_IN_HISTORY = (
    "the finding is in a file of the log that stays; nothing that a later commit writes ends it. With the choice, a "
    "checkpoint replaces the older files, and earlier versions cannot be read any more"
)
_REPAIRED = (
    "repaired from version {next} on; the file of the log that shows it stays until log cleanup deletes it. With the "
    "choice, a checkpoint replaces the older files now, and earlier versions cannot be read any more"
)
_IN_STATE = "the state of the latest version has the defect too, and what it should be is not known"
_BEYOND = (
    "the checkpoint is of a later version than the newest commit: either commits are lost, which only a backup or an "
    "earlier version of the object has, or they never succeeded"
)
_KEEP_CHECKPOINT = (
    f"{_BEYOND}. If its state is right, choose to keep it: a checkpoint of the next version replaces all older files"
)
_REASONS = {
    "CDF": "change data is what the commit recorded; only the writer knows the changes",
    "COM": "a commit cannot be changed after readers have seen it",
    "DAT003": "the size of a change data file is only in the commit that added it, which cannot be changed",
    "DAT004": "a change data file is not part of the table's rows; only a backup has it",
    "LIN": "the line is damaged, and only a backup or an earlier version of the object has its content",
    "LOG001": "the commit is missing, and only a backup or an earlier version of the object has it",
    "LOG004": _BEYOND,
    "LOG": "no file of the log that could be written or set aside ends it",
    "PQT": "the rows must be written again to another file, which a repair of the log does not do",
    "ROW": "the rows themselves break the rule; the owner of the data must decide what they should be",
    "RID": "row ids that files already have cannot be changed without a new version of every row",
    "IDN": "values that rows already have cannot be changed",
    "MET": "what the metadata should say is not known",
    "ICE": "the files must be written again",
    "DVX": "a remove action or an earlier version refers to the vector",
}
"""Reason by the longest prefix of the code."""
_OVER_COMMITS = ("CDF", "COM", "RID")
"""Rules that read the files of old commits."""
_DEFAULT = "no change of the log is known that ends it; `deltaspec explain {rule}` has the fix"


class Dropped(msgspec.Struct, frozen=True):
    """A repair that was dropped, and why."""

    repair: Repair
    reason: str

    @property
    def text(self) -> str:
        """What was dropped, and why."""
        return f"the repair `{self.repair.kind}` was dropped: {self.reason}"

    def concerns(self, finding: Finding) -> bool:
        """Return whether the repair would have ended a finding."""
        files = [] if self.repair.kind == "set-aside-history" else self.repair.files
        subjects = (finding.path, (finding.file or "").rpartition("_delta_log/")[2])
        return finding.rule in self.repair.rules and (not files or not set(files).isdisjoint(subjects))


def list_unrepaired(
    after: Report,
    explained: list[NotRepaired],
    dropped: list[Dropped],
    version: int,
    choices: Choices = NO_CHOICES,
    later: Report | None = None,
    repaired: Collection[str] = (),
) -> list[NotRepaired]:
    """Return an entry for every violation that is left, and for what could not be checked.

    Args:
        after: the report on the overlay, or on the table if nothing is repaired.
        explained: entries of the kinds of repair.
        dropped: repairs that were dropped.
        version: latest version of the table.
        choices: what the user has chosen; it is not offered again.
        later: report on the repaired table after log cleanup; None if it is not known.
        repaired: rules whose findings the repairs end.
    """
    in_state = None if later is None else {_get_subject(each) for each in later.findings}
    offered = [] if choices.sets_history_aside else [CHOICE]
    history = next((each for each in dropped if each.repair.kind == "set-aside-history"), None)
    reasons = {(each.rule, each.location): each for each in explained}
    found = [each for each in explained if not each.rule]
    for finding in after.findings:
        entry = reasons.get((finding.rule, finding.location))
        if entry is not None:
            found.append(entry)
        elif finding.severity == "violation":
            stays = in_state is not None and _get_subject(finding) in in_state
            if in_state is not None and not stays and finding.rule in repaired:
                reason = _REPAIRED.format(next=version + 1)
                found.append(NotRepaired(rule=finding.rule, location=finding.location, reason=reason, choices=offered))
            else:
                found.append(_explain(finding, dropped, version, [] if stays else offered))
    for unchecked in after.checked.not_checked:
        if not unchecked.accepted:
            location, reason = unchecked.file or "the table", f"not checked: {unchecked.reason}"
            forms = offered if unchecked.rule.startswith(_OVER_COMMITS) else []
            if history is not None and history.reason != ENDS_NOTHING and unchecked.rule.startswith(_OVER_COMMITS):
                reason += f"; {history.text}"
            found.append(NotRepaired(rule=unchecked.rule, location=location, reason=reason, choices=forms))
    if len(found) > MAX_ENTRIES:
        more = NotRepaired(rule="", location="the table", reason=f"{len(found) - MAX_ENTRIES} more are not listed")
        return [*found[:MAX_ENTRIES], more]
    return found


def _get_subject(finding: Finding) -> tuple[str, str | None, str | None]:
    """Return what a finding is about, apart from the file of the log that shows it."""
    return finding.rule, finding.path, finding.column


def _explain(finding: Finding, dropped: list[Dropped], version: int, offered: list[str]) -> NotRepaired:
    in_history = is_about_history(finding, version)
    choices = offered if in_history else []
    why = next((each for each in dropped if each.concerns(finding)), None)
    if why is not None and why.repair.kind == "set-aside-history" and why.reason == ENDS_NOTHING:
        why = None  # the state has the defect, too
    if why is not None:
        reason = why.text
        if " FIL038 " in f" {why.reason} ":  # the earlier size stays in the log
            choices = offered
        return NotRepaired(rule=finding.rule, location=finding.location, reason=reason, choices=choices)
    if finding.rule in DISPUTES:
        return NotRepaired(rule=finding.rule, location=finding.location, reason=DISPUTED)
    if in_history:
        reason = _KEEP_CHECKPOINT if finding.rule == "LOG004" else _IN_HISTORY if offered else _IN_STATE
        return NotRepaired(rule=finding.rule, location=finding.location, reason=reason, choices=choices)
    prefixes = [each for each in _REASONS if finding.rule.startswith(each)]
    reason = _REASONS[max(prefixes, key=len)] if prefixes else _DEFAULT.format(rule=finding.rule)
    return NotRepaired(rule=finding.rule, location=finding.location, reason=reason)
