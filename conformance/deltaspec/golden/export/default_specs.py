"""Specs of a case that has none of its own, from what `case.json` expects."""

from collections.abc import Iterator
from typing import Any

import msgspec

from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.golden.corpus import StoredCase

_ROWS = "expected/latest/table_content/rows.parquet"


def iter_default_specs(case: StoredCase) -> Iterator[tuple[str, bytes]]:
    """Yield specs and expected rows by path: all rows and the snapshot of a valid table, or the error of a broken one.

    A table that a reader may refuse or read has none.
    """
    expect = case.description.expect
    if expect.kind == "rows":
        state = LogReader(str(case.folder / "delta")).read_state()
        metadata = msgspec.to_builtins(state.metadata)
        metadata["format"] = {"options": {}, **metadata["format"]}  # delta-kernel-rs requires options
        actions = {"protocol": state.protocol, "metadata": metadata}
        yield "specs/all.json", _encode({"type": "read", "expected": {"rowCount": expect.num_rows}})
        yield "specs/snapshot.json", _encode({"type": "snapshot", "expected": actions})
        yield "expected/all/expected_data/rows.parquet", case.read_file(_ROWS)
    elif expect.kind == "refuse":
        kind = "snapshot" if expect.phase == "snapshot" else "read"
        yield "specs/refused.json", _encode({"type": kind, "error": {"errorCode": expect.requirement}})


def _encode(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
