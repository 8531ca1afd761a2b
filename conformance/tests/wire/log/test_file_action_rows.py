"""File actions become the columns that a plain loop over their fields gives."""

from typing import Any

import pyarrow as pa
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.actions import Add, Cdc, DeletionVectorDescriptor, Remove, get_action_types
from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log.file_action_rows import FILE_ACTION_SCHEMA, FileActions

_LONGS = st.none() | st.integers(-(2**63), 2**63 - 1)
_MAPS = st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=3), max_size=3)
_COMMON: dict[str, Any] = {"path": st.text(max_size=3), "data_change": st.booleans()}
_STORED: dict[str, Any] = {
    **_COMMON,
    "stats": st.none() | st.text(max_size=3),
    "tags": st.none() | _MAPS,
    "deletion_vector": st.none()
    | st.builds(
        DeletionVectorDescriptor,
        storage_type=st.just("u"),
        path_or_inline_dv=st.text(max_size=2),
        size_in_bytes=st.integers(0, 2**31 - 1),
        cardinality=st.integers(0, 9),
        offset=st.none() | st.integers(0, 9),
    ),
    "base_row_id": _LONGS,
    "default_row_commit_version": _LONGS,
}
_SIZES = st.integers(0, 2**63 - 1)
ACTIONS = st.one_of(
    st.tuples(
        st.just("add"),
        st.builds(
            Add,
            **_STORED,
            partition_values=_MAPS,
            size=_SIZES,
            modification_time=_SIZES,
            clustering_provider=st.none() | st.text(max_size=2),
        ),
    ),
    st.tuples(
        st.just("remove"),
        st.builds(
            Remove,
            **_STORED,
            partition_values=st.none() | _MAPS,
            size=_LONGS,
            deletion_timestamp=_LONGS,
            extended_file_metadata=st.none() | st.booleans(),
        ),
    ),
    st.tuples(st.just("cdc"), st.builds(Cdc, **_COMMON, partition_values=_MAPS, size=_SIZES, tags=_MAPS)),
)
_VECTOR_COLUMNS = {
    "dv_storage_type": "storage_type",
    "dv_path_or_inline": "path_or_inline_dv",
    "dv_offset": "offset",
    "dv_size_in_bytes": "size_in_bytes",
    "dv_cardinality": "cardinality",
}


def build_expected_row(line: int, kind: str, action: Any) -> dict[str, Any]:
    row = {"line": line, "kind": kind}
    for name in FILE_ACTION_SCHEMA.names[2:]:
        value = (
            getattr(getattr(action, "deletion_vector", None), _VECTOR_COLUMNS[name], None)
            if name in _VECTOR_COLUMNS
            else getattr(action, name, None)
        )
        if name == "tags" and (kind == "cdc" or not value):
            value = None
        row[name] = list(value.items()) if isinstance(value, dict) else value
    return row


@example_settings(200)
@given(st.lists(ACTIONS, max_size=6))
def test_actions_of_any_kinds_become_rows_in_order(every: list[tuple[str, Any]]) -> None:
    found = FileActions()
    for number, (kind, action) in enumerate(every):
        found.append(7 * number, kind, action)
    table = found.table()
    table.validate(full=True)
    assert table.schema == FILE_ACTION_SCHEMA
    expected = [build_expected_row(7 * number, *each) for number, each in enumerate(every)]
    assert table.to_pylist() == expected
    assert table.equals(pa.Table.from_pylist(expected, FILE_ACTION_SCHEMA))


def test_actions_of_an_older_revision_have_no_later_fields() -> None:
    kinds = get_action_types(Revision.R1)
    found = FileActions()
    found.append(1, "add", kinds["add"](path="a", partition_values={}, size=1, modification_time=2, data_change=True))
    found.append(2, "remove", kinds["remove"](path="b", data_change=True))
    added, removed = found.table().to_pylist()
    assert (added["path"], added["clustering_provider"], added["default_row_commit_version"]) == ("a", None, None)
    assert (removed["path"], removed["stats"]) == ("b", None)


def test_files_are_joined_in_order() -> None:
    first, second = FileActions([1], ["cdc"], ["x"]), FileActions([1, 2], ["add", "remove"], ["y", "z"])
    first.extend(second)
    assert list(first) == [(1, "cdc", "x"), (1, "add", "y"), (2, "remove", "z")]
    assert (len(first), first.select("remove")) == (3, ["z"])
