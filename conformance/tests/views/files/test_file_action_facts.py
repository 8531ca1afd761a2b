"""Facts of file actions that depend on where the actions are from."""

import json

import pytest

from deltaspec.views.files.file_action_facts import FileContext, Provenance, build_file_facts
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec_generators.table_files import add_action

LINE = json.dumps(add_action("a.parquet", rows=1)).encode()


@pytest.mark.parametrize(
    ("source", "checkpoints_keep", "expected"),
    [
        ("commit", False, True),
        ("commit", None, True),
        ("checkpoint", True, True),
        ("checkpoint", False, False),
        ("checkpoint", None, None),
        ("sidecar", True, True),
        ("sidecar", False, False),
        ("compaction", True, None),  # no text says that these two have statistics
        ("checksum", True, None),
    ],
)
def test_whether_statistics_must_exist(source: str, checkpoints_keep: bool | None, expected: bool | None) -> None:
    context = FileContext({}, deletion_vectors_supported=True, checkpoints_keep_statistics=checkpoints_keep)
    facts = build_file_facts(decode_lines(LINE).files.table(), Provenance(source, "file", 1), context)
    assert facts["statistics_are_kept"].to_list() == [expected]
