"""Earlier versions of a case in the layout of DAT, from the specs that read them."""

from collections.abc import Iterator
from typing import Any

import msgspec

from deltaspec.golden.corpus import CaseFiles


def iter_dat_versions(case: CaseFiles) -> Iterator[tuple[str, bytes]]:
    """Yield `expected/v<N>/` of each version that a spec reads completely and another describes."""
    snapshots: dict[int, dict[str, Any]] = {}
    rows: dict[int, str] = {}
    for path in case.listed.sha256:
        if not path.startswith("specs/"):
            continue
        spec = msgspec.json.decode(case.read_file(path))
        version, expected = spec.get("version"), spec.get("expected")
        if version is None or expected is None or "predicate" in spec or "columns" in spec:
            continue
        if spec["type"] == "read":
            name = path.removeprefix("specs/").removesuffix(".json")
            rows[version] = f"expected/{name}/expected_data/"
        elif spec["type"] == "snapshot":
            snapshots[version] = expected
    for version in sorted(rows.keys() & snapshots.keys()):
        protocol = snapshots[version]["protocol"]
        document = {
            "version": version,
            "properties": snapshots[version]["metadata"].get("configuration", {}),
            "min_reader_version": protocol["minReaderVersion"],
            "min_writer_version": protocol["minWriterVersion"],
        }
        folder = f"expected/v{version}"
        yield (
            f"{folder}/table_version_metadata.json",
            msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n",
        )
        for path in case.listed.sha256:
            if path.startswith(rows[version]):
                yield f"{folder}/table_content/{path.rpartition('/')[2]}", case.read_file(path)
