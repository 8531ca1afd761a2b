"""The journal has every complete line, and belongs to one process."""

from pathlib import Path

import pytest

from deltaspec.errors import InvalidUsage
from deltaspec.repair.journal import JOURNAL_FILE, open_journal


def test_lines_are_read_again(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        assert (journal.lines, journal.is_open) == ([], False)
        journal.add("begin", plan="0")
        journal.add("create", "a")
    with open_journal(tmp_path) as journal:
        assert [(each.event, each.name) for each in journal.lines] == [("begin", None), ("create", "a")]
        assert journal.has("create", "a")
        assert not journal.has("created", "a")
        assert (journal.is_open, journal.is_finished) == (True, False)
        journal.add("end")
        assert journal.is_finished
        journal.add("undone")
    with open_journal(tmp_path) as journal:
        assert (journal.is_open, journal.is_finished) == (False, False)
        journal.add("begin", plan="0")
        assert len(journal.lines) == 1


def test_incomplete_line_of_a_killed_process_is_dropped(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.add("begin", plan="0")
    path = tmp_path / JOURNAL_FILE
    complete = path.read_bytes()
    path.write_bytes(complete + b'{"event":"cre')
    with open_journal(tmp_path) as journal:
        assert [each.event for each in journal.lines] == ["begin"]
        assert path.read_bytes() == complete
        journal.add("end")
    assert [line[:14] for line in path.read_bytes().splitlines()] == [b'{"event":"begi', b'{"event":"end"']


def test_second_process_is_refused(tmp_path: Path) -> None:
    with open_journal(tmp_path), pytest.raises(InvalidUsage, match="another process applies this plan"):
        open_journal(tmp_path).__enter__()


@pytest.mark.parametrize("content", [b"no JSON\n", b'{"event":"other","time_ms":1}\n', b'{"event":"end"}\n'])
def test_file_that_is_no_journal_is_wrong_usage(content: bytes, tmp_path: Path) -> None:
    (tmp_path / JOURNAL_FILE).write_bytes(content)
    with pytest.raises(InvalidUsage, match="is not a journal"), open_journal(tmp_path):
        pytest.fail("it was opened")
    assert (tmp_path / JOURNAL_FILE).read_bytes() == content


def test_linked_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOURNAL_FILE).symlink_to(tmp_path / "other")
    with pytest.raises(InvalidUsage, match="cannot be written"), open_journal(tmp_path):
        pytest.fail("it was opened")
