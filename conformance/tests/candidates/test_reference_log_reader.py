"""The reference reader returns actions as the log has them."""

import json
from pathlib import Path
from typing import Any

import pytest

from deltaspec.candidates.reference.log_reader import LogReader

ADD = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}


@pytest.mark.parametrize("tags", [None, {}, {"x": "y"}])
@pytest.mark.parametrize("kind", ["add", "remove", "cdc"])
def test_file_actions_keep_their_tags(tmp_path: Path, kind: str, tags: dict[str, str] | None) -> None:
    body: dict[str, Any] = {name: value for name, value in ADD.items() if kind == "add" or name != "modificationTime"}
    body |= {} if tags is None else {"tags": tags}
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "00000000000000000000.json").write_text(json.dumps({kind: body}) + "\n", "utf-8")
    (action,) = LogReader(str(tmp_path)).read_commit(0)
    assert action.tags == tags
