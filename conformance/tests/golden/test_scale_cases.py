"""`deltaspec golden draw --scale`: large tables conform, and a reader that knows no formula gives their answers."""

import datetime
import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cli import run

import deltaspec
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Scan
from deltaspec.candidates.reference.engine import Engine
from deltaspec.errors import InvalidUsage
from deltaspec.golden.scale import writer
from deltaspec.golden.scale.case import write_scale_case
from deltaspec.golden.scale.options import ScaleOptions, parse_scale
from deltaspec_generators.tables.corpus import GENERATOR_VERSION

SIZES = {
    "plain": "rows=300,files=7",
    "vectors": "rows=900,files=4,deleted=301,commits=2,columns=3",
    "sidecars": "rows=120,files=60,sidecars=7,commits=9",
    "everything": "rows=2000,files=20,commits=25,columns=12,depth=20,deleted=700,sidecars=3",
    "one row": "rows=1,files=1,columns=1",
}


def read_rows(case: Path) -> list[dict[str, Any]]:
    rows: pa.Table = InProcess(Engine()).scan(Scan(str(case / "delta"), "")).table
    return rows.to_pylist()


def compute_answer(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Compute the aggregates of a column in plain Python, as README defines them."""
    values = [row[name] for row in rows if row[name] is not None]
    is_number = all(isinstance(value, int | float) for value in values)
    texts = [value.isoformat() if isinstance(value, datetime.date) else value for value in values]
    return {
        "values": len(values),
        "nulls": len(rows) - len(values),
        "min": min(texts),
        "max": max(texts),
        "sum": sum(values) if is_number else None,
        "hash": sum(zlib.crc32(str(text).encode()) for text in texts) % 2**64,
    }


@pytest.mark.parametrize("name", SIZES)
def test_tables_conform_and_answers_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "BATCH_VALUES", 500)
    case = tmp_path / "case"
    write_scale_case(parse_scale(SIZES[name]), case)
    report = deltaspec.validate(str(case / "delta"), level="rows", history="all")
    assert (report.verdict, report.findings) == ("conforms", [])
    rows = read_rows(case)
    expected = json.loads((case / "specs-x/aggregates.json").read_bytes())["expected"]
    assert expected["rows"] == len(rows)
    answers = {name: {key: each[key] for key in each if key != "type"} for name, each in expected["columns"].items()}
    assert answers == {name: compute_answer(rows, name) for name in answers}
    for path in sorted(case.glob("specs/row-*.json")):
        question = json.loads(path.read_bytes())
        number = int(question["predicate"].removeprefix("id = "))
        stored = pq.read_table(case / f"expected/{path.stem}/expected_data/rows.parquet").to_pylist()
        assert stored == [row for row in rows if row["id"] == number], path.name
        assert question["expected"] == {"rowCount": len(stored)}, path.name


def test_equal_sizes_give_equal_bytes(tmp_path: Path) -> None:
    options = ScaleOptions(rows=50, files=3, deleted=5, sidecars=2)
    for name in ("one", "two"):
        write_scale_case(options, tmp_path / name)
    files = [
        {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ("row=5", "unknown size 'row'"),
        ("rows=many", "rows is a number from 1"),
        ("files=2000000", "files is a number from 1 to 1,000,000"),
        ("rows=5,files=6", "need at least as many rows"),
        ("rows=10,files=2,deleted=6", "every second row"),
    ],
)
def test_impossible_sizes_are_errors(sizes: str, expected: str) -> None:
    with pytest.raises(InvalidUsage, match=expected):
        parse_scale(sizes)


def test_the_command_writes_one_case(tmp_path: Path) -> None:
    result = run("golden", "draw", tmp_path / "case", "--scale", "rows=1_000,files=2")
    assert (result.exit_code, f"scale.v{GENERATOR_VERSION}-" in result.output) == (0, True), result.output
    assert (tmp_path / "case/case.json").exists()
