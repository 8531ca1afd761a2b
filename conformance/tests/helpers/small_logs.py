"""Random small valid logs with the expected state after each version, generated without the model."""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from deltaspec.protocol.actions import (
    Action,
    Add,
    CommitInfo,
    DeletionVectorDescriptor,
    DomainMetadata,
    Format,
    MetaData,
    Protocol,
    Remove,
    Txn,
)

PATH_ENCODINGS = {"a": ("a",), "b c": ("b c", "b%20c"), "p=1/d": ("p=1/d", "p%3D1/d", "%70=1/d")}
"""Decoded file name -> encoded paths that refer to it."""
VECTORS = (None, "one", "two", "three")

Vector = str | None
small_log_settings = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def protocol(reader: int = 1, writer: int = 2, *features: str) -> Protocol:
    readers = list(features) if reader == 3 else None
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=readers,
        writer_features=list(features) if writer == 7 else None,
    )


def metadata(
    schema: str = '{"type":"struct","fields":[]}', partitioned_by: tuple[str, ...] = (), **configuration: str
) -> MetaData:
    return MetaData(
        id="t",
        format=Format(provider="parquet", options={}),
        schema_string=schema,
        partition_columns=list(partitioned_by),
        configuration={name.replace("__", "."): value for name, value in configuration.items()},
    )


def vector(name: Vector, cardinality: int = 1) -> DeletionVectorDescriptor | None:
    if name is None:
        return None
    return DeletionVectorDescriptor(
        storage_type="p", path_or_inline_dv=f"file:///{name}.bin", size_in_bytes=40, cardinality=cardinality, offset=1
    )


def vector_id(name: Vector) -> str | None:
    return None if name is None else f"pfile:///{name}.bin@1"


def add(path: str, dv: Vector = None, size: int = 1, stats: str | None = None, cardinality: int = 1) -> Add:
    return Add(
        path=path,
        partition_values={},
        size=size,
        modification_time=0,
        data_change=True,
        stats=stats,
        deletion_vector=vector(dv, cardinality),
    )


def remove(path: str, dv: Vector = None, at: int | None = None) -> Remove:
    return Remove(path=path, data_change=True, deletion_timestamp=at, deletion_vector=vector(dv))


def txn(app: str, version: int) -> Txn:
    return Txn(app_id=app, version=version)


def domain(name: str, configuration: str = "{}", *, removed: bool = False) -> DomainMetadata:
    return DomainMetadata(domain=name, configuration=configuration, removed=removed)


@dataclass
class ExpectedState:
    """The expected state at a version."""

    live: dict[str, tuple[Vector, int]] = field(default_factory=dict)
    """File name -> deletion vector and size."""
    removed_files: set[tuple[str, Vector]] = field(default_factory=set)
    transactions: dict[str, int] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)


@dataclass
class SmallLog:
    commits: dict[int, list[Action]]
    expected_state: list[ExpectedState]


@st.composite
def small_logs(draw: st.DrawFn, max_commits: int = 5) -> SmallLog:
    """Draw valid logs that start at version 0."""
    commits: dict[int, list[Action]] = {}
    states: list[ExpectedState] = []
    now = ExpectedState()
    for version in range(draw(st.integers(1, max_commits))):
        now = ExpectedState(dict(now.live), set(now.removed_files), dict(now.transactions), dict(now.domains))
        actions: list[Action] = [CommitInfo(operation=f"commit {version}")]
        if version == 0 or draw(st.integers(0, 5)) == 0:
            actions += [protocol(3, 7, "deletionVectors"), metadata(a=str(version))]
        for name in draw(st.sets(st.sampled_from(sorted(PATH_ENCODINGS)))):
            actions += _file_actions(draw, name, now)
        for app in draw(st.sets(st.sampled_from(["s", "t"]))):
            now.transactions[app] = draw(st.integers(0, 3))
            actions.append(txn(app, now.transactions[app]))
        for name in draw(st.sets(st.sampled_from(["d", "e"]))):
            actions.append(_domain_action(draw, name, now))
        commits[version] = draw(st.permutations(actions))
        states.append(now)
    return SmallLog(commits, states)


def _file_actions(draw: st.DrawFn, name: str, now: ExpectedState) -> list[Action]:
    """Add a file, add it again, remove it, or replace its deletion vector."""
    encoding = st.sampled_from(PATH_ENCODINGS[name])
    actions: list[Action] = []
    before = now.live.get(name)
    after: Vector = draw(st.sampled_from(VECTORS)) if before is None else before[0]
    if before is not None:
        operation = draw(st.sampled_from(["add again", "remove", "replace vector"]))
        if operation != "add again":
            actions.append(remove(draw(encoding), before[0], at=draw(st.integers(0, 100))))
            now.removed_files.add((name, before[0]))
            del now.live[name]
        if operation == "remove":
            return actions
        if operation == "replace vector":
            after = draw(st.sampled_from([each for each in VECTORS if each != before[0]]))
    size = draw(st.integers(0, 9))
    now.live[name] = (after, size)
    now.removed_files.discard((name, after))
    return [*actions, add(draw(encoding), after, size)]


def _domain_action(draw: st.DrawFn, name: str, now: ExpectedState) -> DomainMetadata:
    if draw(st.booleans()):
        now.domains[name] = draw(st.sampled_from(['{"x":1}', "{}"]))
        return domain(name, now.domains[name])
    now.domains.pop(name, None)
    return domain(name, removed=True)
