"""Columnar path facts equal the model for arbitrary paths."""

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaspec.protocol.files import paths
from deltaspec.views.files import path_facts

ROOT = "/a/b"
PIECES = ["a", "b c", "/", "%20", "%25", "%2e", "%2F", "%3A", ":", "..", "é", "%C3%A9", "%zz", "%", "_x", "=", "file:"]
TEXTS = st.lists(
    st.sampled_from([*PIECES, "//", "./", "%7F", "%00", ".", "?", "#", "_change_data/", ROOT]), max_size=7
).map("".join)

MODEL_FUNCTIONS = {
    "path_key": lambda text: paths.path_key(text, ROOT),
    "path_fault": paths.find_path_fault,
    "path_has_non_ascii": paths.has_non_ascii,
    "path_escapes_table": paths.escapes_table,
    "path_is_absolute": paths.is_absolute,
    "colon_in_first_segment": paths.has_colon_in_first_segment,
    "hidden_directory": paths.find_hidden_directory,
}


def list_facts(texts: list[str | None], root: str | None, *, as_many: bool) -> dict[str, list[object]]:
    """Return the columns of paths. Few paths are parsed one by one, unless they are treated as many are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_facts, "FEW_PATHS", 0 if as_many else len(texts) + 1)
        return {column.name: column.to_list() for column in path_facts.columns(pa.array(texts), root)}


@given(st.lists(TEXTS, min_size=1, max_size=50), st.booleans())
@example(["a./b"], True)
@example(["a/.b", "a%20b"], True)
def test_path_facts_equal_the_model(texts: list[str], as_many: bool) -> None:
    facts = list_facts([*texts], ROOT, as_many=as_many)
    for name, evaluate in MODEL_FUNCTIONS.items():
        assert facts[name] == [evaluate(text) for text in texts]


@pytest.mark.parametrize("as_many", [True, False])
def test_null_path_has_no_facts(as_many: bool) -> None:
    facts = list_facts([None, "a%20b"], None, as_many=as_many)
    assert facts["hidden_directory"] == [None, None]
    assert facts["path_key"] == [None, "a b"]
    assert facts["path_fault"] == [None, None]
    assert [facts[name] for name in facts if name.startswith(("path_is", "path_has", "path_escapes", "colon"))] == [
        [None, False]
    ] * 4


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("_a/b", "_a"),
        ("x/_a/_b/c", "_a"),
        ("x/%5Fa/b", "_a"),
        ("_%20/b", "_ "),
        ("_change_data/_x/a", "_x"),
        ("_change_data/a", None),
        ("_change_data/_change_data/a", "_change_data"),
        ("a/_change_data/b/_x/c", "_change_data"),
        ("_a/../b", None),
        ("_a=1/b", None),
        ("a_b/c", None),
        ("_a", None),
        ("file:/x/_a/b", None),
    ],
)
def test_hidden_directory_of_a_relative_path_is_found(path: str, hidden: str | None) -> None:
    facts = list_facts(["plain", path], None, as_many=True)
    assert facts["hidden_directory"] == [None, hidden]
    assert paths.find_hidden_directory(path) == hidden
