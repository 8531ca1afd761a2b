"""Write `reports/lake.md`: the faults of a lake, and what `deltaspec validate --level rows` says about each.

Run `nox -s lake`, or `python -m lake.page` in conformance/tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lake.all_faults import FAULTS

if TYPE_CHECKING:
    from lake.registry import Fault

PAGE = Path(__file__).parents[3] / "reports/lake.md"
HEAD = """# Faults of a lake

Each row is a fault that `conformance/tests/lake` plants in a sound table of Delta Spark or delta-rs. A test runs
`deltaspec validate --level rows` before and after, and requires exactly this verdict, this exit code and these rules.
`nox -s lake` generates this page.

| # | fault | table, options | verdict | exit code | rules | not said or decided |
|-|-|-|-|-|-|-|
"""


def render_page() -> str:
    """Return the page as Markdown."""
    faults = sorted(FAULTS, key=lambda fault: (fault.number, fault.name))
    return HEAD + "".join(f"| {' | '.join(_list_cells(fault))} |\n" for fault in faults)


def _list_cells(fault: Fault) -> Iterator[str]:
    yield str(fault.number)
    yield fault.title
    yield " ".join((fault.base, *(f"`{each}`" for each in fault.options)))
    yield fault.verdict
    yield str(fault.exit_code)
    yield ", ".join(sorted(fault.rules))
    yield fault.gap


if __name__ == "__main__":
    PAGE.write_text(render_page(), "utf-8")
