"""Looks at a checkpoint by itself: as a whole, what its files hold, and their columns."""

from collections.abc import Mapping

from deltaspec.validate.findings import Findings
from deltaspec.views.checkpoint_contents import checkpoint_columns, checkpoint_contents
from deltaspec.views.checkpoints import checkpoints, sidecars
from deltaspec.views.claim_facts import checkpoint_row, sidecar_rows
from deltaspec.views.contents_facts import column_rows, contents_rows
from deltaspec.wire.checkpoint_files import CheckpointRead
from deltaspec.wire.storage import LOG


def look_at_checkpoint(
    findings: Findings, read: CheckpointRead, known: Mapping[str, int] | None = None, *, is_base: bool = False
) -> None:
    """Look at a checkpoint that was read to its end.

    Args:
        findings: of the run.
        read: the checkpoint.
        is_base: the judged history begins with it, so that its protocol is judged as those of commits are.
        known: how many adds of each of its files replay has with statistics; None where it was not compared.
    """
    findings.look_at_rows(checkpoints, [checkpoint_row(read)])
    findings.look_at_rows(sidecars, sidecar_rows(read))
    findings.look_at_rows(checkpoint_contents, contents_rows(read, known, is_base=is_base))
    findings.look_at_rows(checkpoint_columns, column_rows(read))
    if any(each.schema is not None for each in read.contents):
        findings.views_seen.add(checkpoint_columns.name)
    for each in read.contents:
        if each.schema_not_read:
            findings.doubt((checkpoint_columns,), each.schema_not_read, each.file)
    if not read.is_whole:
        file = f"{LOG}/{read.checkpoint.files[0]}"
        findings.doubt((checkpoint_contents, checkpoint_columns), "the checkpoint cannot be read as a whole", file)
