"""What each level looks at beside the log, in order, and what of the table a step has to have before it.

Every step takes a run over some data files and enters what it finds.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deltaspec.validation.base_run import Run
from deltaspec.validation.data.change_data_checks import check_change_data
from deltaspec.validation.data.clustered_file_checks import check_clustered_files
from deltaspec.validation.data.data_run import DataRun
from deltaspec.validation.data.footer_checks import check_footers
from deltaspec.validation.data.identity_value_checks import check_identity_values, has_identity_columns
from deltaspec.validation.data.retention_checks import check_removed_files
from deltaspec.validation.data.row_constraint_checks import check_row_constraints
from deltaspec.validation.data.row_id_checks import check_live_row_ids, check_rewritten_row_ids, supports_row_tracking
from deltaspec.validation.data.row_value_checks import check_row_values
from deltaspec.validation.data.variant_bound_checks import check_variant_paths
from deltaspec.validation.data.variant_checks import check_variants
from deltaspec.validation.data.write_settings_checks import check_write_settings
from deltaspec.views.base import LEVELS, Level


@dataclass(frozen=True)
class DataCheck:
    """A step of a level."""

    level: Level
    check: Callable[[DataRun], None]
    is_applicable: Callable[[Run], bool] = lambda _: True
    """Whether a table may have anything of what the step looks at."""


FILE_CHECKS = (
    DataCheck("files", check_removed_files),
    DataCheck("footers", check_footers),
    DataCheck("footers", check_write_settings),
    DataCheck("rows", check_row_values),
    DataCheck("rows", check_clustered_files),
    DataCheck("rows", check_row_constraints, lambda run: not run.engine_checks_constraints),
    DataCheck("rows", check_variants),
    DataCheck("rows", check_variant_paths),
)
"""Steps that look at one file after the other, each with the other actions of its path."""
COMMIT_CHECKS = (
    DataCheck("rows", check_change_data),
    DataCheck("rows", check_rewritten_row_ids, supports_row_tracking),
)
"""Steps that look at one commit after the other, each with all that it writes and ends."""
TABLE_CHECKS = (
    DataCheck("rows", check_identity_values, has_identity_columns),
    DataCheck("rows", check_live_row_ids, supports_row_tracking),
)
"""Steps that look at the rows of every live file beside those of the others."""


def includes_level(level: Level, wanted: Level) -> bool:
    """Whether a run of a level does what another one asks for."""
    return LEVELS.index(wanted) <= LEVELS.index(level)
