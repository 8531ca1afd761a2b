"""The command line as its users run it: in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MINUTES = 6


@dataclass(frozen=True)
class CompletedRun:
    """How a command ended."""

    code: int
    output: str
    said: str
    """On the standard error stream."""

    @property
    def report(self) -> dict[str, Any]:
        """What it printed as JSON, but for the name of the engine."""
        assert self.output, self
        found: dict[str, Any] = json.loads(self.output)
        found.pop("engine")
        return found


def start_validate(table: Path | str, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Begin `deltaspec validate TABLE --format json`."""
    command = [sys.executable, "-m", "deltaspec", "validate", str(table), "--format", "json", *options]
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
    mine |= {"SPARK_LOCAL_IP": "127.0.0.1", **environment}
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=mine, text=True
    )


def wait_for(process: subprocess.Popen[str]) -> CompletedRun:
    """Wait for a command."""
    try:
        output, said = process.communicate(timeout=MINUTES * 60)
    finally:
        process.kill()
    return CompletedRun(process.returncode, output, said)


def validate(table: Path | str, *options: str, **environment: str) -> CompletedRun:
    """`deltaspec validate TABLE --format json` to its end."""
    return wait_for(start_validate(table, *options, **environment))
