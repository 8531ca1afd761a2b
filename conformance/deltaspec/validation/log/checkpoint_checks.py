"""Check a checkpoint without replay: its summary, its contents and its columns."""

from collections.abc import Mapping

from deltaspec.validation.findings import Findings
from deltaspec.views.data.write_settings import RequestedSettings
from deltaspec.views.log.checkpoint_contents import checkpoint_columns, checkpoint_contents
from deltaspec.views.log.checkpoint_contents_rows import Row, build_checkpoint_contents_rows, column_rows
from deltaspec.views.log.checkpoints import checkpoints, sidecars
from deltaspec.views.log.derived_file_rows import build_checkpoint_row, build_sidecar_rows
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_CHUNK_COLUMNS = frozenset({"other_codecs", "page_version"})
"""Columns that are null if column chunks could not be read."""


def check_checkpoint(
    findings: Findings,
    read: ParsedCheckpoint,
    adds_with_stats: Mapping[str, int] | None = None,
    *,
    is_base: bool = False,
    configuration: list[Row],
) -> None:
    """Check a checkpoint after all its parts were read.

    Args:
        findings: receives what is found.
        read: the checkpoint.
        adds_with_stats: for each file of the checkpoint, the number of its adds that have statistics in replay; None
            if it was not compared with replay.
        is_base: the validated history begins with it, so its protocol is checked like the protocol of a commit.
        configuration: rows of the view `configuration`, up to the validated version.
    """
    findings.evaluate_rows(checkpoints, [build_checkpoint_row(read)])
    findings.evaluate_rows(sidecars, build_sidecar_rows(read))
    requested = RequestedSettings.from_changes(configuration)
    contents = build_checkpoint_contents_rows(read, adds_with_stats, is_base=is_base, requested=requested)
    findings.evaluate_rows(checkpoint_contents, contents)
    if requested.is_set_at(read.checkpoint.version):
        for each in read.contents:
            if each.chunks_unread_reason and each.source == "checkpoint":
                findings.mark_undecided(
                    (checkpoint_contents,), each.chunks_unread_reason, each.file, read_columns=_CHUNK_COLUMNS
                )
    findings.evaluate_rows(checkpoint_columns, column_rows(read))
    if any(each.schema is not None for each in read.contents):
        findings.evaluated_views.add(checkpoint_columns.name)
    for each in read.contents:
        if each.schema_unread_reason:
            findings.mark_undecided((checkpoint_columns,), each.schema_unread_reason, each.file)
    if read.incomplete_reason is not None:
        file = f"{LOG_DIRECTORY}/{read.checkpoint.files[0]}"
        findings.mark_undecided((checkpoint_contents, checkpoint_columns), read.incomplete_reason, file)
