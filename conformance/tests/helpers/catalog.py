"""Reports of catalog-managed tables. Without their catalog, one entry of the ledger says so."""

from deltaspec.report.report_types import CATALOG, NotChecked, Report


def list_unchecked(report: Report) -> list[NotChecked]:
    """Return the ledger without what only the catalog knows; fail if the verdict does not depend on that."""
    found = report.checked.not_checked
    if any(each.rule == CATALOG and not each.accepted for each in found):
        assert report.verdict in ("incomplete", "violations")
    return [each for each in found if each.rule != CATALOG]
