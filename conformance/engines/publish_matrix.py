"""Build `reports/matrix` from the reports of engines and writers.

python conformance/engines/publish_matrix.py                        # as `nox -s matrix`
python conformance/engines/publish_matrix.py --compare OLD.json     # and mark what changed since an earlier matrix
"""

import json
import subprocess
import sys
from pathlib import Path

from deltaspec.protocol.revisions import Revision

REPORTS = Path(__file__).parents[2] / "reports"
MATRIX = REPORTS / "matrix"


def list_reports() -> list[Path]:
    """Return the reports that the matrix shows: the reports of single engines."""
    names = ("", "golden", "catalog", *(each.value for each in Revision if each is not Revision.CURRENT))
    folders = (*(REPORTS / "engines" / name for name in names), REPORTS / "writers")
    paths = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    return [path for path in paths if {"run", "candidate"} <= set(json.loads(path.read_bytes()))]


def publish(*options: str) -> int:
    """Write the matrix and return the exit code of the command."""
    command = [sys.executable, "-m", "deltaspec", "matrix", *map(str, list_reports()), "--output", str(MATRIX)]
    return subprocess.run([*command, *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(publish(*sys.argv[1:]))
