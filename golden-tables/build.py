"""Build the golden tables from their definitions: `python golden-tables/build.py [--check]`.

Logs are deterministic, byte for byte. Parquet bytes depend on the release of pyarrow, so an existing Parquet file with
the same rows is kept. With `--check`, nothing is written, and the exit code is 1 if a build would change a file.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
from golden_cases import CASES, Case, build_table, get_latest_action

from deltaspec_generators.checkpoint_writer import encode_parquet

HERE = Path(__file__).parent
FORMAT = 1


def case_folder(case: Case) -> str:
    """Return the path of a case relative to this folder."""
    return f"{case.chapter}/{case.id}"


def build_case_files(case: Case, existing: Mapping[str, bytes]) -> dict[str, bytes]:
    """Build every file of a case by path in its folder.

    Args:
        case: the case.
        existing: files of an earlier build by path in the folder.
    """
    before = {path.removeprefix("delta/"): data for path, data in existing.items() if path.startswith("delta/")}
    files, table = build_table(case, before)
    built = {f"delta/{path}": data for path, data in table.items()}
    built["test_case_info.json"] = encode_document({"name": case.id, "description": case.title})
    version = max(files.commits)
    if case.rows is not None:
        path = "expected/latest/table_content/rows.parquet"
        built[path] = encode_parquet(case.rows, existing.get(path))
        protocol = get_latest_action(files, "protocol")
        built["expected/latest/table_version_metadata.json"] = encode_document(
            {
                "version": version,
                "properties": get_latest_action(files, "metaData")["configuration"],
                "min_reader_version": protocol["minReaderVersion"],
                "min_writer_version": protocol["minWriterVersion"],
            }
        )
    built["case.json"] = encode_document(build_description(case, version))
    return built


def build_description(case: Case, version: int) -> dict[str, Any]:
    """Build the content of `case.json`."""
    expect: dict[str, Any] = {"kind": "rows", "version": version}
    if case.rows is not None:
        expect |= {"rows": "expected/latest/table_content/rows.parquet", "num_rows": case.rows.num_rows}
    else:
        expect = {"kind": "violation", "version": version, "requirement": case.requirements[0]}
        if case.codes:
            expect = {**expect, "kind": "refuse", "codes": list(case.codes), "phase": "snapshot"}
    found = {
        "id": case.id,
        "meaning": FORMAT,
        "title": case.title,
        "requirements": list(case.requirements),
        "spec": {"since": case.since},
        "anchors": [{"section": section, "revision": "current"} for section in case.sections],
        "authority": "protocol",
        "features": {"reader": list(case.reader_features), "writer": list(case.writer_features)},
        "ops": ["snapshot", "scan"],
        "expect": expect,
        "origin": {"writer": "deltaspec", "command": "python golden-tables/build.py"},
        "portability": [],
    }
    if case.twin is not None:
        found["twin"] = {"id": case.twin, "defect": case.defect}
    return found


def encode_document(value: Any) -> bytes:
    """Encode an object as an indented JSON file."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def build_all_files(existing: Mapping[str, bytes]) -> dict[str, bytes]:
    """Build every file by path in this folder; `existing` are the files of an earlier build."""
    found: dict[str, bytes] = {}
    schema = json.loads((HERE / "case.schema.json").read_bytes())
    listed = []
    for case in CASES:
        prefix = case_folder(case) + "/"
        before = {path.removeprefix(prefix): data for path, data in existing.items() if path.startswith(prefix)}
        files = build_case_files(case, before)
        jsonschema.validate(json.loads(files["case.json"]), schema)
        found |= {prefix + path: data for path, data in files.items()}
        hashes = {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)}
        listed.append({"id": case.id, "path": case_folder(case), "title": case.title, "sha256": hashes})
    found["manifest.json"] = encode_document({"format": FORMAT, "cases": listed})
    return found


def read_existing_files() -> dict[str, bytes]:
    """Read the files of all chapter folders, and the manifest."""
    found = {
        path.relative_to(HERE).as_posix(): path.read_bytes()
        for chapter in sorted({case.chapter for case in CASES})
        for path in sorted((HERE / chapter).rglob("*"))
        if path.is_file()
    }
    manifest = HERE / "manifest.json"
    return found | ({"manifest.json": manifest.read_bytes()} if manifest.exists() else {})


def main(arguments: list[str]) -> int:
    """Build or check the golden tables and return the exit code."""
    parser = argparse.ArgumentParser(description="Build the golden tables.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    check_only = parser.parse_args(arguments).check
    existing = read_existing_files()
    built = build_all_files(existing)
    changed = sorted(path for path in built if existing.get(path) != built[path])
    unexpected = sorted(existing.keys() - built.keys())
    for path in changed:
        print(f"{'differs' if path in existing else 'is missing'}: {path}")
    for path in unexpected:
        print(f"does not belong to a case: {path}")
    if check_only:
        print(f"{len(CASES)} cases, {len(built)} files, {len(changed) + len(unexpected)} out of date")
        return 1 if changed or unexpected else 0
    for path in changed:
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_bytes(built[path])
    for path in unexpected:
        (HERE / path).unlink()
    print(f"{len(CASES)} cases, {len(built)} files, {len(changed)} written, {len(unexpected)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
