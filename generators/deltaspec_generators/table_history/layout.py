"""Operations on the other files of the log: checkpoints, compactions, checksums, the hint, and cleanup."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, cast, get_args

from deltaspec.protocol.property_names import STATS_AS_JSON, STATS_AS_STRUCT
from deltaspec_generators.checkpoint_writer import Naming
from deltaspec_generators.layouts import log_directory, parsed_columns
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import CheckpointFiles
from deltaspec_generators.table_history.written_history import WrittenHistory

CheckpointForm: TypeAlias = Literal["classic", "multipart", "uuid-parquet", "uuid-json", "classic-v2"]
FORMS: tuple[CheckpointForm, ...] = get_args(CheckpointForm)
V2_FORMS: tuple[CheckpointForm, ...] = ("uuid-parquet", "uuid-json", "classic-v2")


class WrittenLayout(WrittenHistory):
    """Written table whose log can have checkpoints, compactions and checksums."""

    def checkpoint(
        self,
        version: int | None = None,
        *,
        form: CheckpointForm = "classic",
        parts: int = 2,
        sidecars: int = 0,
        hint: bool = True,
        change: Callable[[CheckpointFiles], None] | None = None,
    ) -> CheckpointFiles:
        """Write a checkpoint of a version, by default the newest.

        Args:
            version: version of the checkpoint.
            form: naming and content.
            parts: number of parts of a multipart checkpoint.
            sidecars: number of sidecars of V2 content; 0 to keep file actions in the checkpoint.
            hint: whether `_last_checkpoint` names it.
            change: last change before it is encoded.
        """
        state = self.states[self.state.version if version is None else version]
        v2 = form in V2_FORMS
        checkpoint = CheckpointFiles(
            state.version,
            cast(Naming, form.removesuffix("-v2")),
            v2,
            parts=parts,
            uuid=build_uuid(self.next_number()),
        )
        as_struct = state.is_enabled(STATS_AS_STRUCT)
        checkpoint.parsed = parsed_columns.build_types(state) if as_struct else {}
        table = log_directory.build_table_rows(state)
        typed = as_struct and (form != "uuid-json" or bool(sidecars))
        as_json = state.configuration.get(STATS_AS_JSON) != "false"
        bodies = [("add", body) for body in state.live.values()]
        bodies += [("remove", body) for body in state.tombstones.values()]
        rows = [log_directory.build_file_row(kind, {**body, "dataChange": False}) for kind, body in bodies]
        files = [log_directory.build_statistics_columns(state, row, as_json=as_json, as_struct=typed) for row in rows]
        if v2:
            table.insert(0, {"checkpointMetadata": {"version": state.version}})
        log_directory.add_sidecars(checkpoint, files, sidecars, state, self.next_number)
        checkpoint.rows = [*table, *([] if sidecars else files)]
        if change:
            change(checkpoint)
        self.files.checkpoints.append(checkpoint)
        if hint:
            self.point_to(checkpoint)
        return checkpoint

    def point_to(self, checkpoint: CheckpointFiles, **more: Any) -> None:
        """Let `_last_checkpoint` name a checkpoint."""
        self.files.last_checkpoint = {**log_directory.build_hint(checkpoint), **more}

    def compact(self, first: int, last: int) -> None:
        """Write a log compaction of the commits of a range."""
        table, others = log_directory.compact_commits(self.commits[first : last + 1])
        self.files.compactions[first, last] = [*table, *others]

    def checksum(self, *versions: int, optional: bool = True) -> None:
        """Write version checksums; `optional` adds the optional lists."""
        for version in versions:
            state = self.states[version]
            body = log_directory.build_checksum(state)
            if optional:
                lists = log_directory.build_optional_checksum_fields(state)
                body |= {name: lists[name] for name in ("setTransactions", "domainMetadata", "allFiles")}
            self.files.checksums[version] = body

    def clean_up(self, version: int) -> None:
        """Delete all log files before a version that has a checkpoint."""
        assert any(each.version == version for each in self.files.checkpoints)
        log_directory.delete_expired_files(self.files, version)
