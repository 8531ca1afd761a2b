"""Run the command line in separate processes, as users do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 6 * 60
_END_OF_PROGRESS = " in all\n"


@dataclass(frozen=True)
class CompletedRun:
    """Exit code and output of a command."""

    code: int
    output: str
    errors: str
    """Output on stderr, without lines of progress, which depend on the load of the machine."""

    @property
    def report(self) -> dict[str, Any]:
        """The printed JSON report without the name of the engine, and without what only Spark reports."""
        assert self.output, self
        found: dict[str, Any] = json.loads(self.output)
        found.pop("engine")
        found.pop("access")
        return found


def start_validate(table: Path | str, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Start `deltaspec validate TABLE --format json`."""
    return start(["validate", str(table), "--format", "json", *options], **environment)


def start(words: Sequence[str], directory: Path | None = None, **environment: str) -> subprocess.Popen[str]:
    """Start `deltaspec` with some arguments, in a working directory."""
    command = [sys.executable, "-m", "deltaspec", *words]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
    variables |= {"SPARK_LOCAL_IP": "127.0.0.1", **environment}
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        cwd=directory,
        text=True,
    )


def wait_for(process: subprocess.Popen[str]) -> CompletedRun:
    """Wait for a command."""
    try:
        output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        process.kill()
    kept = (line for line in errors.splitlines(keepends=True) if not line.endswith(_END_OF_PROGRESS))
    return CompletedRun(process.returncode, output, "".join(kept))


def validate(table: Path | str, *options: str, **environment: str) -> CompletedRun:
    """Run `deltaspec validate TABLE --format json` to its end."""
    return wait_for(start_validate(table, *options, **environment))
