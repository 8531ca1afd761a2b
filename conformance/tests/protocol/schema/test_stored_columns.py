"""Matching of table columns with file nodes: by name, by id, within lists and maps, and without a match."""

from typing import Any

from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive, Struct
from deltaspec.protocol.schema.parquet_types import Annotation, Node
from deltaspec.protocol.schema.stored_columns import StoredColumn, match_columns

LONG, STRING = Primitive("long"), Primitive("string")


def field(
    name: str, kind: DataType = LONG, number: int | None = None, *, nullable: bool = True, ids: Any = None
) -> Field:
    """`ids`: further metadata."""
    metadata: dict[str, Any] = {}
    if number is not None:
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return Field(name, kind, nullable, {**metadata, **(ids or {})})


def node(name: str, number: int | None = None, physical: str | None = "INT64", *children: Node) -> Node:
    return Node(name, "optional", physical, None, number, children)


def root(*children: Node) -> Node:
    return Node("schema", "required", children=children)


def found(fields: list[Field], file: Node, mapping: str | None = None) -> dict[str, StoredColumn]:
    return {".".join(each.path): each for each in match_columns(Struct(tuple(fields)), file, mapping)}


def name_of(column: StoredColumn) -> str | None:
    return column.node.name if column.node else None


def test_by_name() -> None:
    columns = found([field("a"), field("b"), field("c")], root(node("b"), node("a"), node("extra")))
    assert {name: name_of(each) for name, each in columns.items()} == {"a": "a", "b": "b", "c": None}
    assert [each.matching_nodes for each in columns.values()] == [1, 1, 0]


def test_physical_names_apply_only_with_mapping() -> None:
    fields = [field("a", number=1)]
    file = root(node("col-1", 1), node("a"))
    assert name_of(found(fields, file, "name")["a"]) == "col-1"
    assert name_of(found(fields, file, "id")["a"]) == "col-1"
    assert name_of(found(fields, file)["a"]) == "a"
    assert found(fields, file)["a"].id is None


def test_by_name_in_another_case() -> None:
    assert name_of(found([field("a")], root(node("A")))["a"]) == "A"
    assert name_of(found([field("a")], root(node("A"), node("a")))["a"]) == "a"


def test_name_of_another_column_does_not_match_in_another_case() -> None:
    columns = found([field("a"), field("A")], root(node("A")))
    assert (name_of(columns["a"]), name_of(columns["A"])) == (None, "A")


def test_two_nodes_with_one_name_do_not_match() -> None:
    column = found([field("a")], root(node("a"), node("a")))["a"]
    assert (column.node, column.matching_nodes) == (None, 2)


def test_by_id_regardless_of_the_name() -> None:
    column = found([field("a", number=1)], root(node("other", 1)), "id")["a"]
    assert name_of(column) == "other"
    assert column.node_with_other_name is not None
    assert column.node_with_other_name.name == "other"
    assert column.node_with_other_id is None


def test_two_nodes_with_one_id_do_not_match() -> None:
    column = found([field("a", number=1)], root(node("x", 1), node("y", 1)), "id")["a"]
    assert (column.node, column.matching_nodes) == (None, 2)


def test_name_without_its_id_in_id_mode() -> None:
    columns = found([field("a", number=1), field("b", number=2)], root(node("col-1", 9), node("col-2", 2)), "id")
    assert columns["a"].node is None
    assert columns["a"].node_with_other_id == node("col-1", 9)
    assert columns["b"].node_with_other_id is None


def test_swapped_ids_leave_both_unmatched() -> None:
    columns = found([field("a", number=1), field("b", number=2)], root(node("col-1", 2), node("col-2", 1)), "id")
    assert [each.node for each in columns.values()] == [None, None]
    assert [key for key, each in columns.items() if not each.node_with_other_id] == []


def test_file_without_ids_is_read_by_names_in_id_mode() -> None:
    assert name_of(found([field("a", number=1)], root(node("col-1")), "id")["a"]) == "col-1"


def test_name_mode_ignores_ids() -> None:
    column = found([field("a", number=1)], root(node("col-1", 7)), "name")["a"]
    assert name_of(column) == "col-1"
    assert column.node_with_other_id == node("col-1", 7)


def test_name_mode_notes_the_id_under_another_name() -> None:
    column = found([field("a", number=1)], root(node("a", 1)), "name")["a"]
    assert column.node is None
    assert column.node_with_other_name == node("a", 1)


def test_required_only_if_no_parent_is_nullable() -> None:
    inner = Struct((field("x", nullable=False), field("y")))
    fields = [field("s", inner, nullable=False), field("t", inner)]
    file = root(node("s", None, None, node("y")), node("t", None, None, node("y")))
    columns = found(fields, file)
    assert {name: each.is_required for name, each in columns.items()} == {
        "s": True,
        "s.x": True,
        "s.y": False,
        "t": False,
        "t.x": False,
        "t.y": False,
    }


def test_columns_below_a_missing_or_faulty_one_are_omitted() -> None:
    inner = Struct((field("x"),))
    assert list(found([field("s", inner), field("t", inner)], root(node("t")))) == ["s", "t"]


def a_list(name: str, element: Node, number: int | None = None) -> Node:
    inner = Node("list", "repeated", children=(element,))
    return Node(name, "optional", None, Annotation("LIST"), number, (inner,))


def a_map(name: str, key: Node, value: Node) -> Node:
    inner = Node("key_value", "repeated", children=(key, value))
    return Node(name, "optional", None, Annotation("MAP"), None, (inner,))


def test_below_lists_and_maps() -> None:
    kind = Array(Map(STRING, Struct((field("x"),)), True), True)
    key = Node("key", "required", "BYTE_ARRAY", Annotation("STRING"))
    file = root(a_list("a", a_map("element", key, node("value", None, None, node("x")))))
    columns = found([field("a", kind)], file)
    assert list(columns) == ["a", "a.element", "a.element.key", "a.element.value", "a.element.value.x"]
    assert [each for each in columns.values() if not (each.node is not None and each.stored.fault is None)] == []


def test_element_with_one_field_is_found_in_both_layouts() -> None:
    kind = Array(Struct((field("x"),)), True)
    three = a_list("a", node("element", None, None, node("x")))
    two = Node("a", "optional", None, Annotation("LIST"), None, (Node("list", "repeated", children=(node("x"),)),))
    for file in (root(three), root(two)):
        assert list(found([field("a", kind)], file)) == ["a", "a.element", "a.element.x"]


def test_ids_of_elements_under_both_keys() -> None:
    kind = Array(Array(LONG, True), True)
    file = root(a_list("col-1", a_list("element", node("element", 4), 3), 1))
    for key, prefix in (("delta.columnMapping.nested.ids", "col-1"), ("parquet.field.nested.ids", "a")):
        ids = {f"{prefix}.element": 3, f"{prefix}.element.element": 4}
        columns = found([field("a", kind, 1, ids={key: ids})], file, "name")
        assert [each.id for each in columns.values()] == [1, 3, 4], f"{key=}"
        assert [each for each in columns.values() if each.node_with_other_id] == [], f"{key=}"


def test_wrong_id_of_an_element() -> None:
    ids = {"delta.columnMapping.nested.ids": {"col-1.element": 3}}
    for number, differs in ((3, False), (None, False), (8, True)):
        file = root(a_list("col-1", node("element", number), 1))
        column = found([field("a", Array(LONG, True), 1, ids=ids)], file, "name")["a.element"]
        assert (column.node_with_other_id is not None) == differs


def test_deep_nesting_is_fast() -> None:
    """Each list may be of two or three levels: trying both at every depth would never end."""
    kind: DataType = STRING
    file = node("element")
    for _ in range(60):
        kind, file = Array(kind, True), a_list("element", file)
    columns = found([field("element", kind)], root(file))
    assert len(columns) == 61
    assert list(columns.values())[-1].stored.fault is not None


def test_wide_schemas_are_fast() -> None:
    """Searching all nodes for each of twenty thousand columns would take minutes."""
    names = [f"column {each}" for each in range(20_000)]
    file = root(*(node(name.upper(), each) for each, name in enumerate(names)))
    columns = found([field(name) for name in names], file)
    assert [name_of(each) for each in columns.values()] == [name.upper() for name in names]
