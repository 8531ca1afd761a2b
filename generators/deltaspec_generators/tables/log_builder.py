"""Builder of a log without data files."""

from deltaspec.protocol.property_names import ROW_TRACKING_SUSPENDED
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec_generators.choices import Choices
from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.tables import features
from deltaspec_generators.tables.builder import TableBuilder
from deltaspec_generators.tables.table_specs import TableOptions, TableSpec


class LogBuilder(TableBuilder):
    """Mutable state of a log."""

    def __init__(self, choices: Choices, options: TableOptions, spec: TableSpec) -> None:
        super().__init__(choices, options, spec)
        self.now_ms = self.start_ms
        """Clock time of the current commit in milliseconds since the epoch."""
        self.copies_rows = False
        """Whether the current commit copies existing rows to new files."""
        self.moves_identity_marks = False
        """Whether the files of the current commit advanced identity columns."""
        self.in_commit_timestamp_ms = 0
        self.removed: dict[str, StoredFile] = {}
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
