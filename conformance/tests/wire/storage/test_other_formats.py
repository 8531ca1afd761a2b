"""Messages about locations that have no Delta log."""

from pathlib import Path

import pytest

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.local import LocalStore
from deltaspec.wire.storage.other_formats import explain_missing_path, recognize_format


def explain(path: object) -> str:
    with pytest.raises(TableUnreadable) as caught:
        LocalStore(str(path)).list_log()
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("dbfs:/mnt/sales", "write /dbfs/mnt/sales there"),
        ("DBFS:/mnt/sales", "write /dbfs/mnt/sales there"),
        ("s3:/bucket/sales", "write s3://bucket/sales"),
        ("abfss:/c@a.dfs.core.windows.net/t", "write abfss://c@a.dfs.core.windows.net/t"),
        ("main.shop.sales", "use --backend spark"),
        ("shop.sales", "use --backend spark"),
    ],
)
def test_uri_or_name_of_another_system(path: str, advice: str) -> None:
    assert advice in (explain_missing_path(path) or "")
    assert advice in explain(path)


@pytest.mark.parametrize("path", ["sales", "./a.b", "a/b.c", "/x.y.z", "a.b.c.d", "1.5", "C:\\sales"])
def test_other_paths_are_paths(path: str) -> None:
    assert explain_missing_path(path) is None


@pytest.mark.parametrize(
    ("files", "advice"),
    [
        (["metadata/v1.metadata.json", "data/a.parquet"], "Apache Iceberg"),
        ([".hoodie/hoodie.properties", "a.parquet"], "Apache Hudi"),
        (["day=1/a.parquet"], "CONVERT TO DELTA"),
        (["a.parquet", "notes.txt"], "CONVERT TO DELTA"),
        (["metadata/a.json", "a.csv"], None),
        ([], None),
    ],
)
def test_directory_of_another_format(files: list[str], advice: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "alone" / "sales"  # other tests have tables next to `tmp_path`
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    found = recognize_format(files)
    assert (found is None) if advice is None else (advice in (found or ""))
    assert explain(folder) == f"{folder}: has no _delta_log directory" + (f"; {found}" if found else "")


def test_only_the_first_names_are_read() -> None:
    names = (f"{number}.parquet" if number < 10_000 else pytest.fail("read on") for number in range(20_000))
    assert recognize_format(names) is not None
