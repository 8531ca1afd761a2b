"""Every adapter whose library is installed translates requests and errors as the candidate protocol says.

Whether an engine keeps the protocol is the question of the suites. These tests read tables on which engines agree.
"""

import importlib
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pyarrow as pa
import pytest
from helpers.every_type_table import LITERALS, ROWS, write_every_type_table

from deltaspec.candidates.messages import Capabilities, Operation
from deltaspec.candidates.registry import find_adapter
from deltaspec.candidates.serve import EngineError, answer, call_engine, open_rows

NAMES = ("deltalake", "polars", "duckdb", "chdb", "daft", "sail")
"""Adapters in Python. Delta Spark is missing because its session takes most of a minute; the suites test it."""
GOLDEN = Path(__file__).parents[4] / "golden-tables"


@pytest.fixture(scope="module", params=NAMES)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    name, directory = request.param, Path.cwd()
    adapter = find_adapter(name)
    missing = [module for module in adapter.modules if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed; to get it: {adapter.install}")
    yield importlib.import_module(f"deltaspec.candidates.adapters.{name}").Engine()
    os.chdir(directory)  # chdb reads only below the current directory


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_every_type_table(tmp_path_factory.mktemp("every_type"))


def scan(engine: Any, table: str, **request: Any) -> pa.Table:
    reader, fields = open_rows(call_engine(engine, {"op": "scan", "table": table, **request}))
    return pa.table({"row": pa.nulls(fields["num_rows"])}).select([]) if reader is None else reader.read_all()


def say_hello(engine: Any) -> Capabilities:

    return msgspec.convert(answer(engine, {"op": "hello"})["ok"], Capabilities)


def test_capabilities_are_complete(engine: Any) -> None:
    hello = say_hello(engine)
    assert hello.name
    assert hello.version[0].isdigit()
    assert "scan" in hello.ops


def test_all_columns_are_returned(engine: Any, table: str) -> None:
    assert sorted(scan(engine, table).column_names) == sorted(ROWS.column_names)


def test_columns_are_selected_in_order(engine: Any, table: str) -> None:
    rows = scan(engine, table, columns=[["long"], ["byte"]])
    assert rows.to_pydict() == {"long": [-(2**63), 1, None], "byte": [-128, 1, None]}


def test_nested_fields_are_named_by_their_path(engine: Any, table: str) -> None:
    assert scan(engine, table, columns=[["struct", "a b", "c"]]).to_pydict() == {"struct.a b.c": [7, None, None]}


def test_no_columns_is_a_count(engine: Any, table: str) -> None:
    rows = scan(engine, table, columns=[])
    assert (rows.num_rows, rows.num_columns) == (3, 0)


@pytest.mark.parametrize("kind", LITERALS)
def test_literals_of_every_type_are_compared(engine: Any, table: str, kind: str) -> None:
    if say_hello(engine).predicate == "none":
        pytest.skip("the engine has no predicates")
    tree = ["=", ["col", kind], ["lit", kind, LITERALS[kind]]]
    assert scan(engine, table, columns=[["long"]], predicate_tree=tree)["long"].to_pylist() == [-(2**63)]
    tree = ["and", ["is_not_null", ["col", kind]], ["not", tree]]
    assert scan(engine, table, columns=[["long"]], predicate_tree=tree)["long"].to_pylist() == [1]


def test_null_is_compared(engine: Any, table: str) -> None:
    for tree in (["<=>", ["col", "long"], ["lit", "long", None]], ["is_null", ["col", "struct", "a b", "c"]]):
        rows = scan(engine, table, columns=[["byte"]], predicate_tree=["and", ["is_null", ["col", "long"]], tree])
        assert rows.to_pydict() == {"byte": [None]}, f"{tree=}"


FORMS = {
    "in": ["in", ["col", "byte"], ["lit", "byte", "1"], ["lit", "byte", "7"]],
    "starts_with": ["starts_with", ["col", "string"], ["lit", "string", "1"]],
}
"""Trees that the second row matches, by form."""


def test_declared_forms_of_predicates_are_taken(engine: Any, table: str) -> None:
    forms = say_hello(engine).predicate_forms
    assert {*forms} <= {*FORMS}
    for form in forms:
        rows = scan(engine, table, columns=[["long"]], predicate_tree=FORMS[form])
        assert rows["long"].to_pylist() == [1], f"{form=}"


def test_versions_are_read(engine: Any, table: str) -> None:
    if "version" not in say_hello(engine).at:
        pytest.skip("the engine has no time travel")
    assert scan(engine, table, at={"version": 0}).num_rows == 0
    assert scan(engine, table, at={"version": 1}).num_rows == 3


def test_missing_tables_and_versions_are_not_found(engine: Any, table: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        scan(engine, str(tmp_path / "nowhere"))
    assert caught.value.category == "not-found"
    if "version" in say_hello(engine).at:
        with pytest.raises(EngineError) as caught:
            scan(engine, table, at={"version": 7})
        assert caught.value.category == "not-found"


def test_missing_data_files_are_corrupt(engine: Any, table: str, tmp_path: Path) -> None:
    shutil.copytree(table, tmp_path / "table")
    (tmp_path / "table" / "rows.parquet").unlink()
    with pytest.raises(EngineError) as caught:
        scan(engine, str(tmp_path / "table"))
    assert (caught.value.category, caught.value.phase) == ("corrupt", "scan")


def test_unknown_features_are_unsupported(engine: Any, table: str, tmp_path: Path) -> None:
    shutil.copytree(table, tmp_path / "table")
    commit = tmp_path / "table" / "_delta_log" / "00000000000000000000.json"
    commit.write_text(commit.read_text().replace("timestampNtz", "unknownFeature"))
    with pytest.raises(EngineError) as caught:
        scan(engine, str(tmp_path / "table"))
    assert caught.value.category == "unsupported"


def test_gaps_are_corrupt_or_not_found(engine: Any) -> None:
    with pytest.raises(EngineError) as caught:
        scan(engine, str(GOLDEN / "log" / "log.commit-gap" / "delta"))
    assert caught.value.category in ("corrupt", "not-found")


TABLES_OF_TYPES = {
    **{
        each.name.split(".")[1].replace("-", "_"): each / "delta"
        for each in sorted((GOLDEN / "types").glob("types.*.column"))
        if "decimal" not in each.name
    },
    "variant": GOLDEN / "variants" / "variants.nested" / "delta",
}
TABLES_OF_FEATURES = {
    feature: GOLDEN / "protocol" / f"protocol.supported.{feature.lower()}" / "delta"
    for feature in ("columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint", "variantType")
}


def read_unless_refused(engine: Any, table: Path) -> pa.Table | None:
    """Return the rows; None if the engine says that it does not support what the table has."""
    try:
        return scan(engine, str(table))
    except EngineError as error:
        if error.category != "unsupported":
            raise
        return None


def shows_type(rows: pa.Table, name: str) -> bool:
    """Return whether the last column has the Arrow type of a Delta type, as far as another one has the same values."""
    found = rows.schema.types[-1]
    match name:
        case "binary":
            return any(each(found) for each in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view))
        case "timestamp" | "timestamp_ntz":
            return (found.tz is None) is (name == "timestamp_ntz")
    return True


def test_exactly_the_declared_types_are_not_supported(engine: Any) -> None:
    assert len(TABLES_OF_TYPES) == 14
    read = {name: read_unless_refused(engine, table) for name, table in TABLES_OF_TYPES.items()}
    wrong = {name for name, rows in read.items() if rows is None or not shows_type(rows, name)}
    assert wrong == set(say_hello(engine).types_not_supported)


def test_declared_features_are_read(engine: Any) -> None:
    refused = {name for name, table in TABLES_OF_FEATURES.items() if read_unless_refused(engine, table) is None}
    assert refused & set(say_hello(engine).reader_features) == set()


def test_other_operations_are_refused(engine: Any, table: str) -> None:
    requests = {
        "snapshot": {},
        "changes": {"start": {"version": 0}, "end": {"version": 1}},
        "apply": {"kind": "append"},
    }
    assert set(requests) == {*get_args(Operation)} - {"hello", "scan", "bye"}
    for name in set(requests) - set(say_hello(engine).ops):
        with pytest.raises(EngineError) as caught:
            call_engine(engine, {"op": name, "table": table, **requests[name]})
        assert (caught.value.category, caught.value.code) == ("unsupported", "operation"), name
