"""Multi-commit scenarios: each commit must be accepted by the model. Also short builders of actions."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from deltaspec.model.commit.validation import check_commit
from deltaspec.model.decisions import Accepted, Refused
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, Snapshot, replay_commit
from deltaspec.protocol.actions import Action, Add, Cdc, CommitInfo, DomainMetadata, Format, MetaData, Protocol, Remove
from deltaspec.protocol.revisions import Revision


class Scenario:
    """A table and its history: `scenario[version]` is a snapshot, `scenario.commits[version]` the written actions."""

    def __init__(self, *actions: Action, revision: Revision = Revision.CURRENT) -> None:
        self.revision = revision
        self.commits: dict[int, tuple[Action, ...]] = {}
        self._snapshots: list[Snapshot] = []
        self.commit(*actions)

    @property
    def version(self) -> int:
        return len(self._snapshots) - 1

    @property
    def now(self) -> Snapshot:
        """The newest snapshot, or the empty snapshot before the first commit."""
        return self._snapshots[-1] if self._snapshots else EMPTY_SNAPSHOT

    @property
    def _earlier(self) -> list[Snapshot]:
        """The snapshots before the newest one."""
        return self._snapshots[:-1]

    def __getitem__(self, version: int) -> Snapshot:
        return self._snapshots[version]

    def commit(self, *actions: Action) -> Snapshot:
        """Write the next version; fail if the model rejects it."""
        version = self.version + 1
        assert check_commit(self.now, version, actions, self.revision, self._earlier) == Accepted()
        self._snapshots.append(replay_commit(self.now, version, actions, self.revision))
        self.commits[version] = actions
        return self.now

    def expect_refusal(self, *actions: Action) -> str:
        """Return the requirement for which the model refuses the commit. Nothing is written."""
        answer = check_commit(self.now, self.version + 1, actions, self.revision, self._earlier)
        assert isinstance(answer, Refused), "the commit was accepted"
        return answer.requirement


def field(name: str, kind: Any = "long", nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    """Build a column; write dots in metadata keys as `__`: `delta__generationExpression`."""
    return {
        "name": name,
        "type": kind,
        "nullable": nullable,
        "metadata": {key.replace("__", "."): value for key, value in metadata.items()},
    }


def schema(*fields: dict[str, Any]) -> str:
    """Build a schema string."""
    return json.dumps({"type": "struct", "fields": list(fields)})


ONE_COLUMN = schema(field("id"))


def protocol(
    reader: int, writer: int, readers: Iterable[str] | None = None, writers: Iterable[str] | None = None
) -> Protocol:
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if readers is None else list(readers),
        writer_features=None if writers is None else list(writers),
    )


def metadata(
    configuration: Mapping[str, str] | None = None, schema: str = ONE_COLUMN, partitioned_by: Iterable[str] = ()
) -> MetaData:
    return MetaData(
        id="11111111-2222-4333-8444-555555555555",
        format=Format(provider="parquet", options={}),
        schema_string=schema,
        partition_columns=list(partitioned_by),
        configuration=dict(configuration or {}),
    )


def add(path: str = "a", rows: int | None = None, **more: Any) -> Add:
    """Build an add; `rows` becomes `numRecords`, `more` are fields of `Add`."""
    fields = {"partition_values": {}, "size": 1, "modification_time": 1, "data_change": True}
    if rows is not None:
        fields["stats"] = json.dumps({"numRecords": rows})
    return Add(path=path, **{**fields, **more})


def remove(path: str = "a", **more: Any) -> Remove:
    return Remove(path=path, **{"data_change": True, **more})


def cdc(path: str, **more: Any) -> Cdc:
    return Cdc(path=path, **{"partition_values": {}, "size": 1, "data_change": False, **more})


def commit_info(**fields: Any) -> CommitInfo:
    """Build a commitInfo; `fields` are fields of `CommitInfo`."""
    return CommitInfo(**fields)


def domain(name: str, configuration: Any, removed: bool = False) -> DomainMetadata:
    """Build a domain; `configuration` is any JSON value and becomes a JSON string."""
    return DomainMetadata(domain=name, configuration=json.dumps(configuration), removed=removed)
