"""Operations on the other files of the log: checkpoints, compactions, checksums, the hint, and cleanup."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, cast, get_args

from deltaspec.golden.builder.history import TableHistory
from deltaspec.model.property_names import STATS_AS_JSON, STATS_AS_STRUCT
from deltaspec_generators.checkpoint_writer import Naming
from deltaspec_generators.layouts import log_directory, parsed_columns
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import CheckpointFiles, Row, SidecarFile
from deltaspec_generators.table_state import Body, TableState, apply_actions

CheckpointForm: TypeAlias = Literal["classic", "multipart", "uuid-parquet", "uuid-json", "classic-v2"]
FORMS: tuple[CheckpointForm, ...] = get_args(CheckpointForm)
V2_FORMS: tuple[CheckpointForm, ...] = ("uuid-parquet", "uuid-json", "classic-v2")
_NOT_IN_CHECKPOINT = ("stats", "tags")
"""Fields of `remove` without a checkpoint column."""


class TableLayout(TableHistory):
    """Golden table whose log can have checkpoints, compactions and checksums."""

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
        files = _build_file_rows(state, as_struct=as_struct and (form != "uuid-json" or bool(sidecars)))
        if v2:
            table.insert(0, {"checkpointMetadata": {"version": state.version}})
        for index in range(sidecars):
            rows = files[index * len(files) // sidecars : (index + 1) * len(files) // sidecars]
            name = f"{build_uuid(self.next_number())}.parquet"
            checkpoint.sidecars.append(SidecarFile(name, rows, modification_time=state.timestamp_ms))
        checkpoint.rows = [*table, *([] if sidecars else files)]
        if change:
            change(checkpoint)
        self.files.checkpoints.append(checkpoint)
        if hint:
            self.point_to(checkpoint)
        return checkpoint

    def point_to(self, checkpoint: CheckpointFiles, **more: Any) -> None:
        """Let `_last_checkpoint` name a checkpoint."""
        size = len(checkpoint.rows) + sum(len(each.rows) + 1 for each in checkpoint.sidecars)
        found: Body = {"version": checkpoint.version, "size": size}
        if checkpoint.naming == "multipart":
            found["parts"] = checkpoint.parts
        self.files.last_checkpoint = {**found, **more}

    def compact(self, first: int, last: int) -> None:
        """Write a log compaction of the commits of a range."""
        state = TableState()
        removed: dict[str, Body] = {}
        for version in range(first, last + 1):
            state = apply_actions(state, self.commits[version], 0)
            for body in (each["domainMetadata"] for each in self.commits[version] if "domainMetadata" in each):
                removed.pop(body["domain"], None)
                if body["removed"]:
                    removed[body["domain"]] = body
        lines: list[Row] = [{"protocol": state.protocol}] if state.protocol else []
        lines += [{"metaData": state.metadata}] if state.metadata else []
        lines += [{"add": body} for body in state.live.values()]
        lines += [{"remove": body} for body in state.tombstones.values()]
        lines += [{"txn": body} for body in state.transactions.values()]
        lines += [{"domainMetadata": body} for body in (*state.domains.values(), *removed.values())]
        self.files.compactions[first, last] = [*lines]

    def checksum(self, *versions: int, optional: bool = True) -> None:
        """Write version checksums; `optional` adds the optional lists."""
        for version in versions:
            state = self.states[version]
            adds = list(state.live.values())
            body: Body = {
                "tableSizeBytes": sum(add["size"] for add in adds),
                "numFiles": len(adds),
                "numMetadata": 1,
                "numProtocol": 1,
                "metadata": state.metadata,
                "protocol": state.protocol,
            }
            info = state.commit_info or {}
            if "inCommitTimestamp" in info:
                body["inCommitTimestampOpt"] = info["inCommitTimestamp"]
            if optional:
                body["setTransactions"] = list(state.transactions.values())
                body["domainMetadata"] = list(state.domains.values())
                body["allFiles"] = adds
            self.files.checksums[version] = body

    def clean_up(self, version: int) -> None:
        """Delete all log files before a version that has a checkpoint."""
        assert any(each.version == version for each in self.files.checkpoints)
        log_directory.delete_expired_files(self.files, version)


def _build_file_rows(state: TableState, *, as_struct: bool) -> list[Row]:
    as_json = state.configuration.get(STATS_AS_JSON) != "false"
    found: list[Row] = []
    for body in state.live.values():
        add = {**body, "dataChange": False}
        if as_struct:
            add |= parsed_columns.build_values(state, body)
        if not as_json:
            add.pop("stats", None)
        found.append({"add": add})
    for body in state.tombstones.values():
        kept = {name: value for name, value in body.items() if name not in _NOT_IN_CHECKPOINT}
        found.append({"remove": {**kept, "dataChange": False}})
    return found
