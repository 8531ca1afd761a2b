"""What each level looks at beside the log, in order. Every step takes the run and enters what it finds."""

from collections.abc import Callable

from deltaspec.validate.changes import look_at_changes
from deltaspec.validate.clustered_files import look_at_clustered_files
from deltaspec.validate.data import DataRun
from deltaspec.validate.file_forms import look_at_file_forms
from deltaspec.validate.footers import look_at_footers
from deltaspec.validate.held_rows import look_at_held_rows
from deltaspec.validate.identity_values import look_at_identity_values
from deltaspec.validate.retention import look_at_removed_files
from deltaspec.validate.row_ids import look_at_row_ids
from deltaspec.validate.rows import look_at_rows
from deltaspec.validate.variant_paths import look_at_variant_paths
from deltaspec.validate.variants import look_at_variants
from deltaspec.views.base import Level

STEPS: tuple[tuple[Level, Callable[[DataRun], None]], ...] = (
    ("files", look_at_removed_files),
    ("footers", look_at_footers),
    ("footers", look_at_file_forms),
    ("rows", look_at_rows),
    ("rows", look_at_clustered_files),
    ("rows", look_at_held_rows),
    ("rows", look_at_variants),
    ("rows", look_at_variant_paths),
    ("rows", look_at_identity_values),
    ("rows", look_at_changes),
    ("rows", look_at_row_ids),
)
