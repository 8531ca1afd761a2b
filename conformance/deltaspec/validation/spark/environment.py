"""What Spark needs on this machine, told before it is started: nothing of pyspark is imported here."""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

INSTALL = "pip install 'deltaspec[spark]'"
OLDEST = (3, 5)
"""The first that runs on Python 3.11, and whose functions over Arrow batches run on Spark Connect as well."""
JAVA: dict[tuple[int, int], tuple[int, ...]] = {
    (3, 5): (8, 11, 17),
    (4, 0): (17, 21),
    (4, 1): (17, 21),
    (4, 2): (17, 21, 25),
}
"""Releases of Java that a version of Spark runs on, by its own pages; later versions are held to those of the last."""
_CONNECT = {"grpc": "grpcio", "grpc_status": "grpcio-status", "google.rpc": "googleapis-common-protos"}
"""Modules that a client of Spark Connect imports, and the packages they are of."""
_YARN = ("YARN_CONF_DIR", "HADOOP_CONF_DIR")
_JAVA_SECONDS = 30


def find_missing_requirement(master: str | None = None) -> str | None:
    """Why no session can be had from this machine, and what to install; None where nothing is known to lack.

    Args:
        master: of Spark; `sc://…` is a server that this machine is only a client of, so that it needs no Java.
    """
    return (
        find_pyspark_problem()
        or find_pandas_problem()
        or (find_client_problem() if is_connect(master) else find_java_problem() or find_cluster_problem(master))
    )


def is_connect(master: str | None) -> bool:
    """Whether a master is a server of Spark Connect."""
    return master is not None and master.startswith("sc://")


def find_pyspark_problem() -> str | None:
    """Why the Python package of Spark does not serve."""
    version = get_pyspark_version()
    if version is None:
        return f"pyspark is not installed: {INSTALL}"
    if release(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return f"pyspark {version} is too old, {oldest} or later is needed: {INSTALL}"
    return None


def find_pandas_problem() -> str | None:
    """Why functions over Arrow batches do not run: the package of Spark does not bring what they need."""
    return None if _is_there("pandas") else f"pandas is not installed: {INSTALL}"


def find_cluster_problem(master: str | None) -> str | None:
    """Why this machine does not know where a cluster is, which Spark would look for without end."""
    if master == "yarn" and not any(os.environ.get(name) for name in _YARN):
        return f"neither {' nor '.join(_YARN)} names the directory of yarn's configuration"
    return None


def get_pyspark_version() -> str | None:
    """The version of the package, whoever distributes it; None where there is none."""
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
    """The first two numbers of a version; zeros for what has none."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def find_client_problem() -> str | None:
    """Why this machine cannot be a client of Spark Connect."""
    lacking = [package for module, package in _CONNECT.items() if not _is_there(module)]
    if not lacking:
        return None
    return f"Spark Connect needs the packages {', '.join(lacking)}: {build_connect_install_command()}"


def build_connect_install_command() -> str:
    """What installs the packages of a client of Spark Connect."""
    return f"pip install 'pyspark[connect]=={get_pyspark_version()}'"


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


def find_java_problem() -> str | None:
    """Why there is no Java that the installed Spark runs on."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return None  # spark-submit has started one
    known = list_java_releases(get_pyspark_version() or "")
    install = f"install Java {' or '.join(map(str, known))}, and set JAVA_HOME if it is not on the PATH"
    place = find_java()
    if place is None:
        home = os.environ.get("JAVA_HOME")
        where = f"JAVA_HOME is {home}, and holds no bin/java" if home else "there is no Java"
        return f"{where}: {install}"
    found = get_java_release(place)
    if found is None:
        return f"{place} does not tell its version: {install}"
    if found < min(known):
        return f"Java {found} is too old for Spark {get_pyspark_version()}: {install}"
    return None


def list_java_releases(version: str) -> tuple[int, ...]:
    """The releases of Java that a version of Spark is said to run on."""
    known = [each for each in JAVA if each <= release(version)]
    return JAVA[max(known, default=OLDEST)]


def find_java() -> str | None:
    """The program that Spark's own scripts would start: that of JAVA_HOME, or the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(str(Path(home) / "bin" / "java") if home else "java")


def get_java_release(place: str) -> int | None:
    """The release of a Java: 8, 11, 17, …; None where it says nothing of the kind."""
    try:
        told = subprocess.run([place, "-version"], capture_output=True, timeout=_JAVA_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else None
