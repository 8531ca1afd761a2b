"""Validate with bounded memory: sparse files, decompression bombs, and vector offsets outside their file."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from validation.hostile_tables import LEVELS, TIME_LIMIT_SECONDS, VECTORS, validate_unchanged, write_table_below

from deltaspec_generators.small_tables import (
    add_data_file,
    build_table_with_change_data,
    build_table_with_data,
    build_table_with_stored_vectors,
    encode_data_file,
)
from deltaspec_generators.table_files import commit_info_action


@pytest.mark.slow("conformance/deltaspec/wire")
@pytest.mark.parametrize("level", LEVELS)
def test_sparse_data_file_of_a_tebibyte_is_not_read_into_memory(level: str, tmp_path: Path) -> None:
    root = write_table_below(build_table_with_data(), tmp_path)
    original = (root / "b.parquet").read_bytes()
    with (root / "b.parquet").open("r+b") as file:
        file.truncate((1 << 40) - len(original))
        file.seek(0, os.SEEK_END)
        file.write(original)
    verdict, peak = measure_peak_memory(root, level)
    assert verdict == "violations"
    assert peak < 700 << 20


@pytest.mark.parametrize("level", LEVELS)
def test_sparse_vector_file_of_a_tebibyte_is_not_read_into_memory(level: str, tmp_path: Path) -> None:
    root = write_table_below(build_table_with_stored_vectors(), tmp_path)
    with (root / VECTORS).open("r+b") as file:
        file.truncate(1 << 40)
    verdict, peak = measure_peak_memory(root, level)
    assert verdict == "conforms"
    assert peak < 700 << 20


def build_decompression_bomb(values: int, length: int) -> pa.Table:
    """Build rows that share one long string, which is stored once in a dictionary."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * values, pa.int32()), pa.array(["a" * length]))
    numbers = pa.array([1] * values, pa.int64())
    return pa.table({"id": numbers, "name": text, "price": pa.array([1.0] * values)})


BOMB_OPTIONS = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, "write_statistics": False}


@pytest.mark.parametrize(
    ("values", "length", "options", "expected"),
    [
        (2, 150_000_000, {"use_dictionary": False}, "incomplete"),  # one page of 300 MB
        (3000, 1_000_000, {}, "conforms"),  # 3 GB of rows from a page of 1 MB
    ],
)
def test_data_file_that_decompresses_to_gigabytes_uses_bounded_memory(
    values: int, length: int, options: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    files = build_table_with_data()
    stats = f'{{"numRecords":{values}}}'
    add = add_data_file(
        files,
        "d.parquet",
        build_decompression_bomb(values, length),
        parquet_options={**BOMB_OPTIONS, **options},
        stats=stats,
    )
    files.commits[3] = [commit_info_action(3), add]
    assert add["add"]["size"] < 50_000
    verdict, peak = measure_peak_memory(write_table_below(files, tmp_path), "rows")
    assert verdict == expected
    assert peak < 900 << 20


def test_change_data_file_that_decompresses_to_gigabytes_uses_bounded_memory(tmp_path: Path) -> None:
    files = build_table_with_change_data()
    table = build_decompression_bomb(3000, 1_000_000)
    data = encode_data_file(table.append_column("_change_type", pa.array(["delete"] * 3000)), **BOMB_OPTIONS)
    files.data["_change_data/cdc-0.parquet"] = data
    (cdc,) = (line["cdc"] for line in files.commits[3] if isinstance(line, dict) and "cdc" in line)
    cdc["size"] = len(data)
    verdict, peak = measure_peak_memory(write_table_below(files, tmp_path), "rows")
    assert verdict == "violations"
    assert peak < 900 << 20


def measure_peak_memory(root: Path, level: str) -> tuple[str, int]:
    """Validate in a subprocess; return the verdict and the peak memory in bytes."""
    program = (
        "import sys\n"
        "import deltaspec\n"
        "verdict = deltaspec.validate(sys.argv[1], level=sys.argv[2]).verdict\n"
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(verdict, int(peak.split()[1]) << 10)\n"  # `resource` would include the memory of the parent
    )
    completed = subprocess.run(
        [sys.executable, "-c", program, str(root), level],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=False,
    )
    assert completed.stderr == ""
    verdict, peak = completed.stdout.split()
    return verdict, int(peak)


@pytest.mark.parametrize("size", [-1, 0, 2**31 - 1, 2**31, 2**62])
@pytest.mark.parametrize(
    ("offset", "large"),
    [
        *((offset, False) for offset in (-1, 0, 86, 87, 2**31 - 1, 2**31, 2**62, 2**64)),
        *((offset, True) for offset in (0, 86, 87)),  # offsets before the end of a large file
    ],
)
def test_vector_outside_its_file_has_findings_or_is_not_checked(
    offset: int, large: bool, size: int, tmp_path: Path
) -> None:
    files = build_table_with_stored_vectors()
    add = next(line["add"] for line in files.commits[3] if isinstance(line, dict) and "add" in line)
    vector = add["deletionVector"]
    vector |= {"offset": offset, "sizeInBytes": size}
    root = write_table_below(files, tmp_path)
    if large:
        os.truncate(root / VECTORS, 8 << 20)
    assert validate_unchanged(root, "rows").verdict in ("violations", "incomplete")
