"""Pages of validation reports for tests."""

from helpers.reports import make_divergence, make_finding, not_checked, report
from msgspec.structs import replace

from deltaspec.pages.validation import Charts, render_validation
from deltaspec.report.description import FileFacts, FilesDescription, PartitionFacts, Partitions, RowsPerFile, SizeBin
from deltaspec.report.report_types import Inventory, Report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> \u202e\x1b[31m"


def build_report() -> Report:
    """Return a report with a violation, a divergence and an undecided rule, with hostile names everywhere."""
    violation = make_finding(
        path=HOSTILE, column=HOSTILE, file=HOSTILE, message=f"Wrong. {HOSTILE}", evidence={HOSTILE: [HOSTILE, 1]}
    )
    found = report(
        violation, make_divergence(), verdict="violations", not_checked=[not_checked(rule="LOG001", reason=HOSTILE)]
    )
    inventory = Inventory(
        files=9, bytes=900, live_files=5, live_bytes=500, referenced_files=3, referenced_bytes=300,
        unreferenced_files=1, unreferenced_bytes=100, hidden_files=0, hidden_bytes=0, unreferenced=[HOSTILE],
        is_complete=False,
    )  # fmt: skip
    return replace(found, inventory=inventory)


def build_files() -> FilesDescription:
    """Return the data files of a partitioned table."""
    part = PartitionFacts(values={HOSTILE: HOSTILE, "p": None}, files=4, bytes=600)
    return FilesDescription(
        table=HOSTILE, version=7, files=5, bytes=700, files_without_size=0, median_bytes=100.0,
        sizes=[SizeBin(at_least=64, below=128, files=4, bytes=400), SizeBin(at_least=128, below=256, files=0, bytes=0),
               SizeBin(at_least=256, below=512, files=1, bytes=300)],
        small_below=16 << 20, small_files=5, small_bytes=700,
        largest=[FileFacts(path=HOSTILE, bytes=300)], smallest=[FileFacts(path="a", bytes=100)],
        partitions=Partitions(columns=[HOSTILE], count=2, median_files=2.5, median_bytes=350.0, by_bytes=[part],
                              by_files=[part]),
        files_with_deletion_vector=0, deleted_records=0, rows_under_vectors=0,
        rows=RowsPerFile(least=1, median=2, most=3, total=10), files_without_row_count=0, files_without_statistics=0,
    )  # fmt: skip


def render_hostile_report() -> str:
    """Return the page of `build_report` with `build_files`."""
    return render_validation(build_report(), Charts(build_files()))
