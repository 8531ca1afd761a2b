"""Looks at a checkpoint by itself: as a whole, what its files hold, and their columns."""

from collections.abc import Mapping

from deltaspec.validation.findings import Findings
from deltaspec.views.log.checkpoint_contents import checkpoint_columns, checkpoint_contents
from deltaspec.views.log.checkpoint_contents_rows import build_checkpoint_contents_rows, column_rows
from deltaspec.views.log.checkpoints import checkpoints, sidecars
from deltaspec.views.log.derived_file_rows import build_checkpoint_row, build_sidecar_rows
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.storage.interface import LOG_DIRECTORY


def check_checkpoint(
    findings: Findings, read: ParsedCheckpoint, known: Mapping[str, int] | None = None, *, is_base: bool = False
) -> None:
    """Look at a checkpoint that was read to its end.

    Args:
        findings: of the run.
        read: the checkpoint.
        is_base: the judged history begins with it, so that its protocol is judged as those of commits are.
        known: how many adds of each of its files replay has with statistics; None where it was not compared.
    """
    findings.evaluate_rows(checkpoints, [build_checkpoint_row(read)])
    findings.evaluate_rows(sidecars, build_sidecar_rows(read))
    findings.evaluate_rows(checkpoint_contents, build_checkpoint_contents_rows(read, known, is_base=is_base))
    findings.evaluate_rows(checkpoint_columns, column_rows(read))
    if any(each.schema is not None for each in read.contents):
        findings.evaluated_views.add(checkpoint_columns.name)
    for each in read.contents:
        if each.schema_unread_reason:
            findings.mark_undecided((checkpoint_columns,), each.schema_unread_reason, each.file)
    if not read.is_complete:
        file = f"{LOG_DIRECTORY}/{read.checkpoint.files[0]}"
        findings.mark_undecided(
            (checkpoint_contents, checkpoint_columns), "the checkpoint cannot be read as a whole", file
        )
