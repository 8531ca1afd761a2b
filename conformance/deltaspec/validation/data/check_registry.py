"""The checks of files outside the log, in the order in which they run."""

from collections.abc import Callable, Iterable

import msgspec

from deltaspec.scales import LEVELS, Level
from deltaspec.validation.data.change_data_checks import check_change_data
from deltaspec.validation.data.clustered_file_checks import check_clustered_files
from deltaspec.validation.data.data_bucket import DataBucket
from deltaspec.validation.data.earlier_requirement_checks import (
    check_earlier_requirements,
    may_have_earlier_requirements,
)
from deltaspec.validation.data.footer_checks import check_footers
from deltaspec.validation.data.identity_value_checks import check_identity_values, has_identity_columns
from deltaspec.validation.data.rearranged_row_checks import check_rearranged_rows
from deltaspec.validation.data.retention_checks import check_removed_files
from deltaspec.validation.data.row_constraint_checks import check_row_constraints
from deltaspec.validation.data.row_id_checks import check_live_row_ids, check_rewritten_row_ids, has_row_tracking
from deltaspec.validation.data.row_value_checks import check_row_values
from deltaspec.validation.data.variant_bound_checks import check_variant_paths
from deltaspec.validation.data.variant_checks import check_variants
from deltaspec.validation.data.write_settings_checks import check_write_settings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.base import View
from deltaspec.views.data.identity_values import identity_values
from deltaspec.views.files.row_ids import row_id_files


class DataCheck(msgspec.Struct, frozen=True):
    """A check of the files of a bucket."""

    level: Level
    check: Callable[[DataBucket], None]
    applies: Callable[[LogFacts], bool] = lambda _: True
    """Whether the table may have what the check needs."""
    views: tuple[View, ...] = ()
    """Views whose rows need all live files at once."""


FILE_CHECKS = (
    DataCheck("files", check_removed_files),
    DataCheck("footers", check_footers),
    DataCheck("footers", check_write_settings),
    DataCheck("rows", check_row_values),
    DataCheck("rows", check_clustered_files),
    DataCheck("rows", check_row_constraints, lambda facts: not facts.constraints_on_spark),
    DataCheck("rows", check_earlier_requirements, may_have_earlier_requirements),
    DataCheck("rows", check_variants),
    DataCheck("rows", check_variant_paths),
)
"""Checks of one file at a time, with the other actions of its path."""
COMMIT_CHECKS = (
    DataCheck("rows", check_change_data),
    DataCheck("rows", check_rewritten_row_ids, has_row_tracking),
    DataCheck("rows", check_rearranged_rows),
)
"""Checks of one commit at a time, with all files that it adds and removes."""
TABLE_CHECKS = (
    DataCheck("rows", check_identity_values, has_identity_columns, (identity_values,)),
    DataCheck("rows", check_live_row_ids, has_row_tracking, (row_id_files,)),
)
"""Checks that compare the rows of all live files."""


def select_checks(checks: Iterable[DataCheck], facts: LogFacts) -> list[DataCheck]:
    """Return the checks that the level includes and that apply to the table."""
    reached = LEVELS[: LEVELS.index(facts.options.level) + 1]
    return [each for each in checks if each.level in reached and each.applies(facts)]
