"""Builder of a log without data files."""

from dataclasses import dataclass, field

from deltaspec.model.property_names import ROW_TRACKING_SUSPENDED
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.data_types import Field, Struct
from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.tables import features
from deltaspec_generators.tables.builder import START_MS, TableBuilder


@dataclass
class LogBuilder(TableBuilder):
    """Mutable state of a log."""

    now_ms: int = START_MS
    """Clock time of the current commit in milliseconds since the epoch."""
    copies_rows: bool = False
    """Whether the current commit copies existing rows to new files."""
    moves_identity_marks: bool = False
    """Whether the files of the current commit advanced identity columns."""
    in_commit_timestamp_ms: int = 0
    removed: dict[str, StoredFile] = field(default_factory=dict)
    """Files by path that are not live any more."""

    @property
    def timestamp_ms(self) -> int:
        """Clock time of the current commit in milliseconds since the epoch."""
        return self.now_ms

    @property
    def row_ids_suspended(self) -> bool:
        """Whether row tracking is supported but suspended."""
        return self.revision is Revision.CURRENT and self.is_enabled(ROW_TRACKING_SUSPENDED)

    @property
    def tracks_rows(self) -> bool:
        """Whether files of the current commit get row ids."""
        return bool(self.features & {*features.ROW_ID_FEATURES}) and not self.row_ids_suspended

    @property
    def next_in_commit_timestamp_ms(self) -> int:
        """In-commit timestamp of the current commit."""
        return max(self.now_ms, self.in_commit_timestamp_ms + 1)

    def replace_field(self, name: str, new: Field) -> None:
        """Replace the column with this name."""
        self.schema = Struct(tuple(new if each.name == name else each for each in self.schema.fields))
