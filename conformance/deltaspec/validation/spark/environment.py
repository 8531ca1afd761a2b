"""Check what Spark needs on this machine before it starts, without importing pyspark."""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from deltaspec.installation import build_install_command

OLDEST = (3, 5)
"""The first version that runs on Python 3.11 and supports `mapInArrow` on Spark Connect."""
JAVA: dict[tuple[int, int], tuple[int, ...]] = {
    (3, 5): (8, 11, 17),
    (4, 0): (17, 21),
    (4, 1): (17, 21),
    (4, 2): (17, 21, 25),
}
"""Java releases that each version of Spark supports, from its documentation. Newer versions use the last entry."""
_CONNECT = {"grpc": "grpcio", "grpc_status": "grpcio-status", "google.rpc": "googleapis-common-protos"}
"""Modules that a Spark Connect client imports, with the packages that provide them."""
_YARN = ("YARN_CONF_DIR", "HADOOP_CONF_DIR")
_CONFIGURATION = (*_YARN, "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")
_JAVA_SECONDS = 30


def find_missing_requirement(master: str | None = None) -> str | None:
    """Return why this machine cannot start a session and what to install, or None if nothing is known to be missing.

    Args:
        master: master of Spark. For a Spark Connect server (`sc://…`) this machine needs no Java.
    """
    return (
        find_pyspark_problem()
        or find_pandas_problem()
        or (find_client_problem() if is_connect(master) else find_java_problem() or find_cluster_problem(master))
    )


def is_configured() -> bool:
    """Return whether the user may have configured Spark or Hadoop, such as another default file system or catalog."""
    return any(os.environ.get(name) for name in _CONFIGURATION)


def is_connect(master: str | None) -> bool:
    """Return whether a master is a Spark Connect server."""
    return master is not None and master.startswith("sc://")


def find_pyspark_problem() -> str | None:
    """Return why the installed pyspark cannot be used, or None."""
    version = get_pyspark_version()
    if version is None:
        return f"pyspark is not installed: {build_install_command('spark')}"
    if release(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return f"pyspark {version} is too old; version {oldest} or later is required: {build_install_command('spark')}"
    return None


def find_pandas_problem() -> str | None:
    """Return why functions over Arrow batches cannot run, or None: pyspark does not install pandas."""
    return None if _is_installed("pandas") else f"pandas is not installed: {build_install_command('spark')}"


def find_cluster_problem(master: str | None) -> str | None:
    """Return why the address of a cluster is unknown, or None: Spark would search for it forever."""
    if master == "yarn" and not any(os.environ.get(name) for name in _YARN):
        return f"set {' or '.join(_YARN)} to the directory of the YARN configuration"
    return None


def get_pyspark_version() -> str | None:
    """Return pyspark's version from its source, or None: the distribution may have any name."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text("utf-8")
    except OSError:
        return None
    found = re.search(r"""^__version__[^=]*= *["']([^"']+)""", text, re.MULTILINE)
    return found[1] if found else None


def release(version: str) -> tuple[int, int]:
    """Return major and minor version, or (0, 0) if the text has none."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def find_client_problem() -> str | None:
    """Return why this machine cannot be a Spark Connect client, or None."""
    missing = [package for module, package in _CONNECT.items() if not _is_installed(module)]
    if not missing:
        return None
    return f"Spark Connect needs the packages {', '.join(missing)}: {build_connect_install_command()}"


def build_connect_install_command() -> str:
    """Return the command that installs the packages of a Spark Connect client."""
    return f"pip install 'pyspark[connect]=={get_pyspark_version()}'"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def find_java_problem() -> str | None:
    """Return why no suitable Java is installed for the installed Spark, or None."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return None  # spark-submit has already started a JVM
    known = list_java_releases(get_pyspark_version() or "")
    install = f"install Java {' or '.join(map(str, known))}, and set JAVA_HOME if it is not on the PATH"
    program = find_java()
    if program is None:
        home = os.environ.get("JAVA_HOME")
        problem = f"JAVA_HOME is {home}, which has no bin/java" if home else "no Java found on the PATH"
        return f"{problem}: {install}"
    found = get_java_release(program)
    if found is None:
        return f"`{program} -version` prints no version: {install}"
    if found < min(known):
        return f"Java {found} is too old for Spark {get_pyspark_version()}: {install}"
    return None


def list_java_releases(version: str) -> tuple[int, ...]:
    """Return the Java releases that a version of Spark supports."""
    known = [each for each in JAVA if each <= release(version)]
    return JAVA[max(known, default=OLDEST)]


def find_java() -> str | None:
    """Return the `java` that Spark's scripts would start: the one in JAVA_HOME, else the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "java") if home else "java")


def get_java_release(program: str) -> int | None:
    """Return the feature release of a `java` program (8, 11, 17, …), or None if it prints none."""
    try:
        result = subprocess.run([program, "-version"], capture_output=True, timeout=_JAVA_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb'version "(?:1\.)?(\d+)', result.stderr + result.stdout)
    return int(found[1]) if found else None
