"""Build golden tables: equal, checked, and permanent in what they expect."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from click.testing import CliRunner

from deltaspec.cli import main
from deltaspec.golden.build import build_case, check_permanence, load_manifest, load_released
from deltaspec.golden.case_format import Manifest
from deltaspec.golden.definition import ROOT, load_cases
from deltaspec.golden.expected_rows import mark_required
from deltaspec.protocol.schema.data_types import Array, Field, Map, Primitive, Struct
from deltaspec_generators.tables.readable import arrow_image

MANIFEST = load_manifest(ROOT)
assert MANIFEST is not None


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_two_builds_are_equal() -> None:
    case = load_cases()["deletion-vectors.inline-and-stored"]
    assert build_case(case).files == build_case(case).files


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"expectation": "other"}, "the expectation changed, but meaning is still 1"),
        ({"expectation": "other", "meaning": 2}, None),
        ({"meaning": 0}, "meaning decreased"),
        ({"id": "log.other"}, "is gone: ids are permanent"),
        ({"title": "Another title."}, None),
    ],
)
def test_expectations_change_only_with_their_meaning(changes: dict[str, Any], expected: str | None) -> None:
    first, *others = MANIFEST.cases
    changed = Manifest(MANIFEST.format, MANIFEST.pyarrow, (msgspec.structs.replace(first, **changes), *others))
    found = check_permanence(MANIFEST, changed)
    assert len(found) == (expected is not None)
    assert expected is None or expected in found[0]


def test_release_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log/cases.py").write_text((ROOT / "log/cases.py").read_text())
    arguments = ["golden", "build", "--release", "7.0", "--cases", str(tmp_path)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    released = load_released(tmp_path)
    manifest = load_manifest(tmp_path)
    assert manifest is not None
    assert released.release == "7.0"
    assert [each.expectation for each in released.cases] == [each.expectation for each in manifest.cases]


def test_check_reports_what_a_build_would_change(tmp_path: Path) -> None:
    chapter = tmp_path / "log"
    chapter.mkdir()
    (chapter / "cases.py").write_text((ROOT / "log/cases.py").read_text())
    run = CliRunner()
    assert run.invoke(main, ["golden", "build", "--cases", str(tmp_path)]).exit_code == 0
    assert run.invoke(main, ["golden", "build", "--check", "--cases", str(tmp_path)]).exit_code == 0
    (chapter / "log.append-remove/specs/all.json").write_text("{}")
    (chapter / "log.append-remove/specs/more.json").write_text("{}")
    found = run.invoke(main, ["golden", "build", "--check", "--cases", str(tmp_path)])
    assert found.exit_code == 1
    assert "differs: log/log.append-remove/specs/all.json" in found.output
    assert "does not belong to a case: log/log.append-remove/specs/more.json" in found.output


def test_expected_rows_have_the_nullability_of_the_schema() -> None:
    long, text = Primitive("long"), Primitive("string")
    schema = Struct(
        (
            Field("id", long, nullable=False),
            Field("items", Array(Struct((Field("a", long, nullable=False),)), contains_null=False), nullable=True),
            Field("places", Map(text, long, value_contains_null=False), nullable=True),
        )
    )
    types = [arrow_image(each.type) for each in schema.fields]
    columns = [pa.array(each, kind) for each, kind in zip([[1], [[{"a": 2}]], [[("x", 3)]]], types, strict=True)]
    rows = pa.table([*columns, pa.array(["insert"])], names=["id", "items", "places", "_change_type"])
    marked = mark_required(rows, schema)
    assert marked.to_pylist() == rows.to_pylist()
    assert [str(each) for each in marked.schema.remove(2)] == [
        "pyarrow.Field<id: int64 not null>",
        "pyarrow.Field<items: list<element: struct<a: int64 not null> not null>>",
        "pyarrow.Field<_change_type: string>",
    ]
    assert not marked.schema.field("places").type.item_field.nullable
