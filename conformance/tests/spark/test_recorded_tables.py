"""Tables that Delta Spark wrote conform, except for known deviations; the archive has every table of the corpus."""

from pathlib import Path

import pytest
from helpers.known_deviations import check_against_known_deviations
from spark.recorded import RECORDED, extract_recorded_tables


@pytest.fixture(scope="session")
def recorded_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the extracted tables."""
    directory = tmp_path_factory.mktemp("recorded")
    extract_recorded_tables(directory)
    return directory


@pytest.mark.slow("conformance/deltaspec/rules")
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_table_conforms(name: str, recorded_tables: Path) -> None:
    check_against_known_deviations(f"spark/{name}", str(recorded_tables / name))


def test_archive_has_the_tables_of_the_corpus(recorded_tables: Path) -> None:
    assert sorted(path.name for path in recorded_tables.iterdir()) == sorted(RECORDED)
