"""Asset checks for Dagster: each validates the Delta table of an asset. Copy the file next to your assets.

orders_check = build_delta_check(orders, "s3://lake/orders", level="rows")
defs = Definitions(assets=[orders], asset_checks=[orders_check])

A violation fails the check with severity ERROR. If something could not be checked, it fails with severity WARN.
Blocking checks stop the assets that depend on the table.
"""

from typing import Any

from dagster import AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

import deltaspec


def build_delta_check(
    asset: Any, table: str, *, level: str = "files", blocking: bool = True, **options: Any
) -> AssetChecksDefinition:
    """Build the check of an asset.

    Args:
        asset: asset or its key.
        table: path or URI of its table.
        level: log, files, footers or rows.
        blocking: whether assets that depend on it wait for the check.
        options: other arguments of `deltaspec.validate`, such as `storage_options`.
    """

    @asset_check(asset=asset, name="delta_protocol", blocking=blocking, description=f"deltaspec, level {level}")
    def check() -> AssetCheckResult:
        report = deltaspec.validate(table, level=level, **options)
        severity = AssetCheckSeverity.ERROR if report.verdict == "violations" else AssetCheckSeverity.WARN
        metadata = {
            "verdict": report.verdict_line,
            "version": -1 if report.version is None else report.version,
            **{rule: f"{report.totals[rule]} × {report.rules[rule].why}" for rule in report.totals},
        }
        return AssetCheckResult(passed=report.verdict == "conforms", severity=severity, metadata=metadata)

    return check
