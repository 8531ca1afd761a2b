"""For tests of your own engine: suites, a check of written tables, and random tables to read.

import deltaspec.pytest as delta

TestProtocol = delta.suite("acme.harness:Engine", suites=["read", "refuse"], known="known-failures.toml")


def test_my_writer(tmp_path):
    write_my_table(tmp_path)
    delta.assert_conformant(tmp_path, level="rows")


@given(table=delta.tables(features={"deletionVectors"}))
def test_my_reader(table):
    with table.write() as path:
        assert read_my_table(path) == table.rows.to_pylist()
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.pytest_plugin import OPTIONS_ATTRIBUTE, CaseRunner, SuiteOptions
from deltaspec.table_assertion import assert_conformant

if TYPE_CHECKING:
    import pyarrow as pa
    from hypothesis.strategies import SearchStrategy

    from deltaspec_generators.tables.readable import ReadableTable

__all__ = ["DrawnTable", "assert_conformant", "suite", "tables"]


def suite(
    candidate: str,
    *,
    suites: Sequence[str] = (),
    known: str | None = None,
    tables: int = 100,
    seed: int = 1,
    timeout_scale: float = 1.0,
) -> type:
    """Return a class of tests, one for each case of a candidate. Assign it to a name that begins with `Test`.

    Args:
        candidate: `MODULE:CLASS`, or as for `deltaspec test`.
        suites: names of suites; all if empty.
        known: path of the known failures (TOML).
        tables: number of drawn tables.
        seed: seed of the drawn tables.
        timeout_scale: multiplies all deadlines.
    """
    is_class = ":" in candidate and not candidate.startswith(("py:", "cmd:"))
    options = SuiteOptions(
        f"py:{candidate}" if is_class else candidate, tuple(suites), tables, seed, known, timeout_scale
    )

    def test_case(self: Any, deltaspec_case: CaseRunner) -> None:
        deltaspec_case.run()

    return type("TestCandidate", (), {OPTIONS_ATTRIBUTE: options, "test_case": test_case})


class DrawnTable(msgspec.Struct, frozen=True):
    """A random valid table and what a reader must get from it."""

    table: ReadableTable

    @property
    def rows(self) -> pa.Table:
        """Rows of the newest version, in no order."""
        return self.table.versions[-1].rows

    @contextmanager
    def write(self) -> Iterator[str]:
        """Write the table into a temporary directory, yield its path, and remove it."""
        from deltaspec_generators.table_files import write_table

        with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
            write_table(self.table.files, Path(directory))
            yield directory

    def __repr__(self) -> str:
        return "\n".join(("a table made by", *(f"  {each}" for each in self.table.history)))


def tables(*, features: Collection[str] = (), **restrictions: Any) -> SearchStrategy[DrawnTable]:
    """Return a strategy for valid tables that support these reader or writer features.

    Args:
        features: names of table features.
        restrictions: further fields of `deltaspec_generators.tables.restrictions.Restrictions`, such as `forbidden`,
            `types`, `partitioned` or `versions`; the options of `deltaspec golden draw` document them.

    Raises:
        InvalidUsage: a restriction names something unknown, or contradicts another one.
    """
    from hypothesis import reject
    from hypothesis import strategies as st

    from deltaspec_generators.choices import DrawnChoices
    from deltaspec_generators.tables.corpus import draw_table
    from deltaspec_generators.tables.restrictions import NoSuchTable, Restrictions, draw_restricted_table
    from deltaspec_generators.tables.table_specs import TableOptions

    restricted = Restrictions(required=tuple(features), **restrictions) if restrictions else None
    if restricted is not None and (fault := restricted.describe_fault()):
        raise InvalidUsage(fault)

    @st.composite
    def draw_one(draw: st.DrawFn) -> DrawnTable:
        choices = DrawnChoices(draw)
        if restricted is None:
            return DrawnTable(draw_table(choices, TableOptions(required=features)))
        try:
            return DrawnTable(draw_restricted_table(choices, restricted, attempts=3))
        except NoSuchTable:
            reject()

    return draw_one()
