"""Missing or damaged deletion vectors: the owner of the data chooses which rows are lost or come back."""

from __future__ import annotations

from shlex import quote

from msgspec.structs import replace

from deltaspec.protocol.actions import Add
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError, build_relative_path
from deltaspec.repair.changes import Change
from deltaspec.repair.context import (
    DROP_VECTOR,
    REMOVE_FILE,
    Context,
    Proposal,
    count_by_partition,
    count_live_rows,
    list_rules,
    refuse_findings,
)
from deltaspec.repair.file_search import search_files
from deltaspec.repair.kinds import lost_files
from deltaspec.repair.plan_format import Repair
from deltaspec.repair.table_log import LiveFile
from deltaspec.report.report_types import Finding

RULES = frozenset(
    {f"DVX{number:03}" for number in (1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14, 22, 23)},
)
_REASON = (
    "the positions of the deleted rows are lost. Restore the vector's file from a backup, or choose: remove the file "
    "with all its rows, or add it again without its vector, so that its deleted rows come back"
)
_APPEND_ONLY = "the positions of the deleted rows are lost, and delta.appendOnly forbids removing the file"


def propose(context: Context) -> Proposal:
    """Propose what the user has chosen. Nothing is chosen without the user."""
    damaged = context.group_by_file(RULES)
    lost = context.group_by_file(lost_files.RULES)
    live = context.log.find_live(damaged)
    proposal = Proposal()
    vectors = {key: path for key in damaged if key in live and (path := _find_vector_file(live[key].add)) is not None}
    search = search_files(context.store, dict.fromkeys(vectors.values()))
    for key, findings in damaged.items():
        if key in lost or key not in live or live[key].add.deletion_vector is None:
            continue  # the file is removed with its vector
        path = live[key].add.path
        choices = context.choices.vectors
        chosen = choices.get(path, choices.get(key, choices.get(None)))
        copies = search.get(vectors.get(key, ""))
        if context.is_append_only:
            proposal.not_repaired += refuse_findings(findings, _APPEND_ONLY, found_elsewhere=copies)
        elif chosen is None:
            forms = [f"vector={each}:{path}" for each in (REMOVE_FILE, DROP_VECTOR)]
            proposal.not_repaired += refuse_findings(findings, _REASON, forms, copies)
        else:
            change = _build_change(context, key, live[key], findings, chosen)
            found = replace(change.repair, found_elsewhere=copies, not_searched=list(search.not_searched))
            proposal.changes.append(replace(change, repair=found))
    return proposal


def _find_vector_file(add: Add) -> str | None:
    """Return the file of the table that stores a deletion vector; None if it is inline, outside, or not known."""
    vector = add.deletion_vector
    if vector is None or vector.storage_type != "u":
        return None
    try:
        return build_relative_path(vector)
    except DeletionVectorError:
        return None


def _build_change(context: Context, key: str, file: LiveFile, findings: list[Finding], chosen: str) -> Change:
    vector = file.add.deletion_vector
    assert vector is not None
    location = f"{(context.store.root or '').rstrip('/')}/{key}" if not context.store.is_remote else key
    code = f"import pyarrow.parquet as pq; print(pq.ParquetFile({location!r}).read().to_pylist())"
    command = f"python -c {quote(code)}"
    if chosen == REMOVE_FILE:
        repair = Repair(
            kind="remove-file",
            rules=list_rules(findings),
            summary="Remove a data file whose deletion vector is damaged, with the rows that were not deleted.",
            files=[file.add.path],
            effect="lost",
            rows=count_by_partition([(file, count_live_rows(file.add))]),
            list_rows=command,
        )
        return Change(repair=repair, removed=frozenset({key}))
    repair = Repair(
        kind="remove-vector",
        rules=list_rules(findings),
        summary="Add a data file again without its damaged deletion vector; its deleted rows come back.",
        files=[file.add.path],
        effect="returned",
        rows=count_by_partition([(file, vector.cardinality)]),
        list_rows=command,
    )
    return Change(repair=repair, edits={key: _drop_vector})


def _drop_vector(add: Add) -> Add:
    return replace(add, deletion_vector=None)
