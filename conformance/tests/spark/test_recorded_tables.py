"""Tables that Delta Spark wrote conform, except for known deviations; the archive has every table of the corpus.

A table takes a second, so a commit that touches no module of the validation runs one in four.
"""

from pathlib import Path

import pytest
from helpers.known_deviations import check_against_known_deviations
from helpers.selection import list_validation_modules
from spark.recorded import RECORDED, extract_recorded_tables


@pytest.fixture(scope="session")
def recorded_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the extracted tables."""
    directory = tmp_path_factory.mktemp("recorded")
    extract_recorded_tables(directory)
    return directory


@pytest.mark.multiplied(4, *list_validation_modules())
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_table_conforms(name: str, recorded_tables: Path) -> None:
    check_against_known_deviations(f"spark/{name}", str(recorded_tables / name))


def test_archive_has_the_tables_of_the_corpus(recorded_tables: Path) -> None:
    assert sorted(path.name for path in recorded_tables.iterdir()) == sorted(RECORDED)
