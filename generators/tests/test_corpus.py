"""A corpus is a seed: the same seed gives the same tables in every program."""

import subprocess
import sys

import pytest

from deltaspec_generators.table_files import encode_table
from deltaspec_generators.tables.choices import RecordedChoices, SeededChoices
from deltaspec_generators.tables.corpus import draw_table, read_corpus

DIGEST = """
import hashlib
{imports}
from deltaspec_generators.table_files import encode_table
from deltaspec_generators.tables.corpus import read_corpus

digest = hashlib.sha256()
for table in read_corpus(5, 12):
    for path, data in encode_table(table.files).items():
        digest.update(path.encode() + data)
    for version in table.versions:
        digest.update(repr((version.plain_rows, version.row_ids, version.plain_changes)).encode())
import sys
print(digest.hexdigest(), "hypothesis" in sys.modules)
"""


def compute_digest(imports: str) -> list[str]:
    """Compute the digest of a corpus in a fresh interpreter; also report whether hypothesis was loaded."""
    program = DIGEST.format(imports=imports)
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()


def test_same_seed_gives_the_same_bytes_in_every_program() -> None:
    alone, with_hypothesis = compute_digest(""), compute_digest("import hypothesis, pytest, polars")
    assert alone[0] == with_hypothesis[0]
    assert (alone[1], with_hypothesis[1]) == ("False", "True")


def test_table_depends_only_on_seed_and_index() -> None:
    third = list(read_corpus(8, 3))[2]
    alone = draw_table(SeededChoices(8, 2))
    assert encode_table(alone.files) == encode_table(third.files)
    assert encode_table(alone.files) != encode_table(draw_table(SeededChoices(9, 2)).files)


@pytest.mark.parametrize("index", range(4))
def test_recorded_choices_replay_a_table(index: int) -> None:
    seeded = SeededChoices(3, index)
    table = draw_table(seeded)
    recorded = RecordedChoices(seeded.sequence)
    assert encode_table(draw_table(recorded).files) == encode_table(table.files)
    assert recorded.sequence == seeded.sequence


def test_no_choices_give_the_simplest_table() -> None:
    table = draw_table(RecordedChoices(()))
    assert len(table.files.commits) == 1
    assert not table.files.data


def test_seeded_choices_never_change() -> None:
    """Corpora are cited by their seed, so these numbers must stay."""
    choices = SeededChoices(7, 3)
    assert [choices.choose(limit) for limit in (2, 10, 1000, 2**32, 2**64)] == [
        1,
        4,
        913,
        823400751,
        8581597943629088236,
    ]
