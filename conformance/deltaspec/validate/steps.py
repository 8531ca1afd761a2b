"""What each level looks at beside the log, in order, and what of the table a step has to have before it.

Every step takes a run over some data files and enters what it finds.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deltaspec.validate.base_run import Run
from deltaspec.validate.changes import look_at_changes
from deltaspec.validate.clustered_files import look_at_clustered_files
from deltaspec.validate.data import DataRun
from deltaspec.validate.file_forms import look_at_file_forms
from deltaspec.validate.footers import look_at_footers
from deltaspec.validate.held_rows import look_at_held_rows
from deltaspec.validate.identity_values import has_identity_columns, look_at_identity_values
from deltaspec.validate.retention import look_at_removed_files
from deltaspec.validate.row_ids import asks_for_stored_row_ids, look_at_live_row_ids, look_at_rewrites
from deltaspec.validate.rows import look_at_rows
from deltaspec.validate.variant_paths import look_at_variant_paths
from deltaspec.validate.variants import look_at_variants
from deltaspec.views.base import LEVELS, Level


@dataclass(frozen=True)
class Step:
    """A step of a level."""

    level: Level
    look: Callable[[DataRun], None]
    is_asked: Callable[[Run], bool] = lambda _: True
    """Whether a table may have anything of what the step looks at."""


BY_FILE = (
    Step("files", look_at_removed_files),
    Step("footers", look_at_footers),
    Step("footers", look_at_file_forms),
    Step("rows", look_at_rows),
    Step("rows", look_at_clustered_files),
    Step("rows", look_at_held_rows, lambda run: not run.conditions_apart),
    Step("rows", look_at_variants),
    Step("rows", look_at_variant_paths),
)
"""Steps that look at one file after the other, each with the other actions of its path."""
BY_COMMIT = (Step("rows", look_at_changes), Step("rows", look_at_rewrites, asks_for_stored_row_ids))
"""Steps that look at one commit after the other, each with all that it writes and ends."""
OF_ALL_FILES = (
    Step("rows", look_at_identity_values, has_identity_columns),
    Step("rows", look_at_live_row_ids, asks_for_stored_row_ids),
)
"""Steps that look at the rows of every live file beside those of the others."""


def reaches(level: Level, wanted: Level) -> bool:
    """Whether a run of a level does what another one asks for."""
    return LEVELS.index(wanted) <= LEVELS.index(level)
