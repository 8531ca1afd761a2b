"""Fixes of class `command`. `nox -s fixes` executes their commands on tables with the defect.

A test fails if `reports/fixes.json` has no passing run of a case with commands.
"""

from deltaspec.fix_cases import DELTA_RS, DELTA_SPARK, Fix, FixCase
from deltaspec.rules.fix_texts import RESTORE

_UNSET = "ALTER TABLE {t} UNSET TBLPROPERTIES ('{property}')"


def _run(*commands: str, text: str = "", condition: str = "", evidence: str = "", value: str | None = None) -> FixCase:
    """Return a case whose commands Delta Spark executes."""
    return FixCase(
        fix_class="command",
        engine=DELTA_SPARK,
        commands=commands,
        text=text,
        condition=condition,
        evidence=evidence,
        value=value,
    )


NAME_PROPERTY_WITH_PREFIX: Fix = (_run("ALTER TABLE {t} SET TBLPROPERTIES ('{intended_name}' = '{value}')", _UNSET),)
UNSET_PROPERTY: Fix = (_run(_UNSET, text="If the table needs a value other than the default, set it afterwards."),)
UNSET_UNDEFINED_PROPERTY: Fix = (
    FixCase(
        fix_class="restore",
        condition="the property enables in-commit timestamps",
        evidence="property",
        value="delta.enableInCommitTimestamps",
        text="Restore the log from backup, because Delta Spark cannot load the table.",
    ),
    _run(
        _UNSET,
        condition="it is another property",
        evidence="property",
        text="The default then applies. Otherwise set `true`, `false`, or an interval of weeks, days or hours.",
    ),
)
SET_WRITE_STATS_AS_STRUCT: Fix = (
    _run(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpoint.writeStatsAsStruct' = 'true')",
        text="Set it to false if checkpoints shall not have the column. All writers then do the same.",
    ),
)
CLUSTER_BY_NONE: Fix = (
    _run(
        "ALTER TABLE {t} CLUSTER BY NONE", text="Then choose clustering columns with `ALTER TABLE t CLUSTER BY (...)`."
    ),
)
CLUSTER_BY_NONE_OR_RESTORE: Fix = (
    _run(
        "ALTER TABLE {t} CLUSTER BY NONE",
        condition="the domain is delta.clustering",
        evidence="domain",
        value="delta.clustering",
        text="Then choose clustering columns with `ALTER TABLE t CLUSTER BY (...)`.",
    ),
    FixCase(fix_class="restore", condition="it is another domain", evidence="domain", text=f"Stop writers. {RESTORE}"),
)
ENABLE_TIMESTAMPS_AGAIN: Fix = (
    _run(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
        text="The second command records the new enabling commit. For earlier commits, travel by version instead of "
        "timestamp.",
    ),
)
UNSET_CONSTRAINT: Fix = (
    _run(
        _UNSET,
        text="Then add the constraint with `ALTER TABLE t ADD CONSTRAINT name CHECK (...)`, which checks the rows.",
    ),
)
DROP_CONSTRAINT_OR_RESTORE: Fix = (
    _run(
        "ALTER TABLE {t} DROP CONSTRAINT {constraint}",
        condition="the constraint is no longer needed",
        text="Then add a constraint on existing columns.",
    ),
    FixCase(
        fix_class="restore",
        condition="the column was dropped by mistake",
        text="Run `RESTORE TABLE t TO VERSION AS OF n` with the version before.",
    ),
)
DISABLE_FIRST_COMPATIBILITY: Fix = (
    _run("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableIcebergCompatV1' = 'false')"),
)

SYNC_IDENTITY: Fix = (
    _run(
        "ALTER TABLE {t} ALTER COLUMN {column} SYNC IDENTITY",
        text="Do this before the next write. The writer must start after the mark of the version that it read.",
    ),
)
COMPUTE_GENERATED_VALUES: Fix = (
    _run(
        "UPDATE {t} SET {column} = {expression}",
        text="Run it without a filter on columns that the expression uses. Stop the writer that does not support "
        "generated columns.",
    ),
)
ALLOW_NULL: Fix = (
    _run(
        "ALTER TABLE {t} ALTER COLUMN {column} DROP NOT NULL",
        condition="it is a column",
        evidence="void_without_null",
        value="column",
    ),
    FixCase(
        fix_class="decide",
        condition="it is a part of a column",
        evidence="void_without_null",
        text="Drop the column, or copy the rows to a new table.",
    ),
)
DROP_DEFAULT: Fix = (_run("ALTER TABLE {t} ALTER COLUMN {column} DROP DEFAULT"),)
ENABLE_MAPPING: Fix = (
    _run(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        text="Delta Spark refuses to disable the compatibility instead.",
    ),
)
ENABLE_ROW_TRACKING: Fix = (
    _run(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        text="It assigns row ids to existing files first. Delta Spark refuses to disable the compatibility instead.",
    ),
)
ASSIGN_FIELD_IDS: Fix = (
    _run(
        "REORG TABLE {t} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=2))",
        text="It rewrites the files. Nothing is needed if no Iceberg client reads the table.",
    ),
)
ADD_FEATURE_OF_TYPE: Fix = (
    _run(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.{unsupported_feature}' = 'supported')",
        text="Clients that do not support the feature then refuse the table instead of misreading it. Do not drop the "
        "column: its values would be lost.",
    ),
)
ADD_TYPE_WIDENING: Fix = (
    _run(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.typeWidening' = 'supported')",
        text="Clients that do not support the feature then refuse the table instead of misreading it. To remove the "
        "record, run `ALTER TABLE t DROP FEATURE typeWidening` afterwards, which rewrites older files.",
    ),
)
LOSE_MISSING_FILES = FixCase(
    fix_class="command",
    condition="it is lost, and nothing is to be planned",
    engine=DELTA_RS,
    commands=("DeltaTable({t}).repair()",),
    loses="the rows of all files that are missing",
    text="It removes all files that are missing, and their rows are lost for good. `repair(dry_run=True)` lists them "
    "first. `FSCK REPAIR TABLE t` (Databricks) does the same.",
)
