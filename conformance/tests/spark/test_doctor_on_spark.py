"""`deltaspec doctor --spark` on executors with a complete Python and with an incomplete one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deltaspec import __version__
from deltaspec.validation.spark.probe import PACKAGES, check_session
from deltaspec_generators.table_files import write_table
from planted_tables.bases import log_only

pytestmark = [pytest.mark.spark, pytest.mark.slow("conformance/deltaspec/validation/spark")]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of the same version without packages."""
    directory = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True, timeout=120)
    return directory / "bin" / "python"


@contextmanager
def executors_on(spark: Any, python: Path) -> Iterator[None]:
    """Run Python functions with another interpreter."""
    before = spark.sparkContext.pythonExec
    spark.sparkContext.pythonExec = str(python)
    try:
        yield
    finally:
        spark.sparkContext.pythonExec = before


def test_complete_executors_can_read_the_table(spark: Any, tmp_path: Path) -> None:
    write_table(log_only.build_table(), tmp_path)
    with executors_on(spark, Path(sys.executable)):
        checks = list(check_session(spark, str(tmp_path)))
    assert [(check.status, check.name) for check in checks] == [
        ("ok", "executors"),
        ("ok", "mapInArrow"),
        ("ok", "table"),
    ]
    assert f"deltaspec {__version__} and its packages" in checks[0].message
    assert checks[2].message == f"executors can read {tmp_path} with the kit's storage; its log has 3 files"


def test_executors_without_deltaspec(spark: Any, bare_python: Path) -> None:
    with executors_on(spark, bare_python):
        (check,) = check_session(spark)
    assert check.status == "problem"
    assert check.message.startswith("cannot import deltaspec (")
    assert f"install deltaspec {__version__} in the executors' Python" in str(check.fix)


def test_executors_with_another_version(spark: Any, bare_python: Path) -> None:
    (library,) = bare_python.parents[1].glob("lib/python*/site-packages")
    for name in ("deltaspec", *PACKAGES):
        (library / f"{name}.py").write_text('__version__ = "0.0.1"\n')
    try:
        with executors_on(spark, bare_python):
            (check,) = check_session(spark)
    finally:
        for name in ("deltaspec", *PACKAGES):
            (library / f"{name}.py").unlink()
    assert (check.status, check.message) == ("problem", f"have deltaspec 0.0.1; the driver has {__version__}")


def test_executors_without_a_python(spark: Any, tmp_path: Path) -> None:
    with executors_on(spark, tmp_path / "no-python"):
        (check,) = check_session(spark)
    assert (check.status, check.name) == ("problem", "executors")
    assert (
        check.message
        == f'cannot run Python: Cannot run program "{tmp_path / "no-python"}": error=2, No such file or directory'
    )
    assert check.fix == "set PYSPARK_PYTHON to a Python that exists on every executor"


@pytest.mark.parametrize(
    ("table", "message", "fix"),
    [
        (
            "s3a://lake/t",
            "Spark cannot read it either: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "start Spark with --packages org.apache.hadoop:hadoop-aws:{hadoop}",
        ),
        (
            "s3://lake/t",
            'Spark cannot read it either: No FileSystem for scheme "s3"',
            "use s3a:// instead of s3://",
        ),
        (
            "/no/such/table",
            "/no/such/table: no such file or directory; Spark cannot read it either: [PATH_NOT_FOUND]",
            None,
        ),
    ],
)
def test_unreachable_table_is_a_problem(table: str, message: str, fix: str | None, spark: Any) -> None:
    """The kit rejects an endpoint without TLS, so the executors send no request."""
    os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"
    try:
        with executors_on(spark, Path(sys.executable)):
            (*_, check) = check_session(spark, table)
    finally:
        del os.environ["AWS_ENDPOINT_URL"]
    hadoop = spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    assert (check.status, check.name) == ("problem", "table")
    assert message in check.message
    assert check.fix == (None if fix is None else fix.format(hadoop=hadoop))
