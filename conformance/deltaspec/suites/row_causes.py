"""Why rows of an answer are wrong: the files that they come from say what the engine did with them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
import pyarrow as pa

from deltaspec.candidates.row_comparison import NULL_FOR_VALUE, Value, describe_change, name_type
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, DELETION_VECTORS, PHYSICAL_NAME, TYPE_CHANGES
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Struct, get_type_name, iter_fields
from deltaspec.suites.checks import TableUnderTest, WrongCount, WrongFiles, WrongRows
from deltaspec.suites.file_origins import FileOrigin, list_file_origins
from deltaspec.suites.outcomes import Cause
from deltaspec_generators.table_state import Body
from deltaspec_generators.table_uris import TABLE_URI
from deltaspec_generators.tables.readable import CHANGE_TYPE, ExpectedVersion

Row = tuple[Value, ...]
CHANGES = "wrong columns of changes"
"""Begin of the title of a cause in columns that readers add to changes."""
_ROW_TRACKING_COLUMNS = ("__row_id", "__row_commit_version")
MOST_PAIRS = 200
"""Rows that are compared with every other row, to find the ones that have changed."""
MARKED_RETURNED = "rows that a deletion vector marks are returned"
EARLIER_VECTOR = "an earlier deletion vector of a file applies"
REMOVED_LIVE = "files that are not live count as live"
UNMARKED_MISSING = "rows that no deletion vector marks are missing"
_REPEATED, _NOT_MATCHING = "live rows are returned more than once", "rows that do not match are returned"
_UNKNOWN_ROWS = "rows that the table never had are returned"
_VALUES_OF_TYPES = {
    "void": "schema.void-read-as-null",
    "variant": "variant.tolerated",
    "timestamp": "parquet.timestamps",
    "timestamp_ntz": "parquet.timestamps",
}
"""Requirements on values that a data file stores, by type."""
_ANY_TYPE = "parquet.column-types"
_RECONCILIATION = "reconciliation.queries-see-live-files"


class Changed(msgspec.Struct, frozen=True):
    """A row with other values: the expected row, the answer's, and the file of the expected one if it is known."""

    expected: Row
    actual: Row
    origin: FileOrigin | None


def find_row_causes(subject: TableUnderTest, fact: WrongRows, *, is_filtered: bool) -> list[Cause]:
    """Return what explains the rows that differ.

    Args:
        subject: the table on disk.
        fact: the rows that differ.
        is_filtered: whether the answer is of a predicate, so that statistics may have hidden files.
    """
    schema = fact.difference.schema
    if schema is None:
        return [Cause("the answer is too large to compare")]
    version, difference = fact.version or subject.newest, fact.difference
    missing, extra = difference.missing_rows, difference.extra_rows
    own = [number for number, name in enumerate(schema.names) if name not in _ROW_TRACKING_COLUMNS]
    if len(own) < len(schema):  # other columns of the rows say what happened, if they differ
        plain_missing, plain_extra = _select_columns(missing, own), _select_columns(extra, own)
        if plain_missing != plain_extra:
            missing, extra = plain_missing - plain_extra, plain_extra - plain_missing
            schema = pa.schema([schema.field(number) for number in own])
    return _Search(subject, version, schema, is_filtered=is_filtered).explain(missing, extra)


def _select_columns(rows: Counter[Row], columns: Sequence[int]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for row, count in rows.items():
        found[tuple(row[number] for number in columns)] += count
    return found


def find_count_causes(subject: TableUnderTest, fact: WrongCount) -> list[Cause]:
    """Return what explains a wrong number of rows: the files whose rows make exactly the difference."""
    search = _Search(subject, subject.newest, pa.schema([]), is_filtered=False)
    surplus = fact.actual - fact.expected
    live, dead = search.split_by_liveness()
    causes: list[Cause] = []
    if surplus > 0:
        marked, removed = search.explain_marked(live), [Cause(REMOVED_LIVE, (_RECONCILIATION,))] if dead else []
        causes += marked if _can_add_up(surplus, (len(each.deleted) for each in live)) else []
        causes += removed if _can_add_up(surplus, (len(each.rows) for each in dead)) else []
        return causes or [*marked, *removed] or [Cause("too many rows are counted", (_RECONCILIATION,))]
    sizes: dict[Cause, list[int]] = {}
    for each in live:
        for cause in search.explain_missing_file(each):
            sizes.setdefault(cause, []).append(each.visible.total())
    causes += [cause for cause, counts in sizes.items() if _can_add_up(-surplus, counts)]
    return causes or [*sizes] or [Cause("too few rows are counted", (_RECONCILIATION,))]


def _can_add_up(total: int, counts: Iterable[int]) -> bool:
    """Return whether some of the counts add up to a total."""
    sums = {0}
    for each in counts:
        sums |= {known + each for known in sums if known + each <= total}
    return total in sums


def find_file_causes(subject: TableUnderTest, fact: WrongFiles) -> list[Cause]:
    """Return what explains a wrong list of live files."""
    state, causes = subject.newest.state, []
    if fact.extra:
        causes.append(Cause(REMOVED_LIVE, (_RECONCILIATION,)))
    for path, body in state.live.items():
        if path in fact.missing:
            causes += explain_missing_body(subject, subject.newest, body)
    return list(dict.fromkeys(causes)) or [Cause("live files are listed more than once", ("add.replaces-same-file",))]


class _Search:
    """Searches the files of one version for the origins of rows."""

    def __init__(
        self, subject: TableUnderTest, version: ExpectedVersion, schema: pa.Schema, *, is_filtered: bool
    ) -> None:
        self.subject, self.version, self.schema, self.is_filtered = subject, version, schema, is_filtered
        self.names = schema.names
        self.columns = {each.name: each for each in version.schema.fields}
        self.fields = {".".join(path): field for path, field in iter_fields(version.schema)} | self.columns
        others = subject.table.versions if CHANGE_TYPE in self.names else ()  # changes are of several versions
        self.partition_columns = {name for each in (version, *others) for name in each.partition_columns}
        is_known = all(name in self.fields for name in self.names)
        self.origins = list_file_origins(subject, version, schema, self.names) if is_known else []

    def split_by_liveness(self) -> tuple[list[FileOrigin], list[FileOrigin]]:
        """Return the live files, and the others."""
        return [each for each in self.origins if each.is_live], [each for each in self.origins if not each.is_live]

    def explain(self, missing_rows: Counter[Row], extra_rows: Counter[Row]) -> list[Cause]:
        """Return the causes of rows that are missing, and of rows that are not expected; the rarest first."""
        missing, extra = Counter(missing_rows), Counter(extra_rows)
        stored = Counter(row for each in self.origins for row in each.rows)
        is_one_for_one = len(self.names) == 1 and missing.total() == extra.total()
        unknown = extra if is_one_for_one else Counter({row: extra[row] for row in extra if row not in stored})
        changed = list(self._pair(unknown, missing))
        causes = self._explain_changes(changed)
        for each in changed:
            extra[each.actual] -= 1
            missing[each.expected] -= 1
            if each.origin is not None and not each.origin.visible[each.expected]:
                extra[each.expected] += 1  # the row should not be there at all
        causes += self._explain_extra(+extra)
        causes += self._explain_missing(+missing)
        return list(dict.fromkeys(causes)) or [Cause("rows differ")]

    def _pair(self, unknown: Counter[Row], missing: Counter[Row]) -> Iterator[Changed]:
        """Yield each row that no file has with the most similar row that is missing, or that must not be returned."""
        left = Counter(missing)
        hidden = [(row, each) for each in self.origins for row in each.hidden]
        homes = {row: each for each in self.origins for row in each.visible}
        is_one_for_one = len(self.names) == 1 and missing.total() == unknown.total()
        for actual in list(unknown.elements())[:MOST_PAIRS]:
            options = [(row, homes.get(row)) for row in list(+left)[:MOST_PAIRS]] + hidden[:MOST_PAIRS]
            scored = [(_count_equal(actual, row), -index) for index, (row, _) in enumerate(options)]
            best, position = max(scored, default=(0, 0))
            if not options or not (best or is_one_for_one):
                continue
            row, origin = options[-position]
            left[row] -= 1
            yield Changed(row, actual, origin)

    def _explain_changes(self, changed: Sequence[Changed]) -> list[Cause]:
        found: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
        for each in changed:
            for name, field, expected, actual in zip(self.names, self.schema, each.expected, each.actual, strict=True):
                declared = self.fields.get(name)
                if declared is None:
                    leaves = [(name_type(field.type), expected, actual)] if expected != actual else []
                else:
                    leaves = list(iter_changed_values(declared.type, expected, actual))
                for kind, wanted, given in leaves:
                    title, breaks = self._explain_value(name, kind, each.origin, wanted, given)
                    found.setdefault((title, breaks), {})[kind] = None
        return [Cause(title, breaks, tuple(sorted(types))) for (title, breaks), types in found.items()]

    def _explain_value(
        self, name: str, kind: str, origin: FileOrigin | None, expected: Value, actual: Value
    ) -> tuple[str, tuple[str, ...]]:
        """Return title and requirements of a changed value of a type; the role of its column decides."""
        way = describe_change(expected, actual)
        configuration = self.version.state.configuration
        mode = configuration.get(COLUMN_MAPPING_MODE) if "columnMapping" in self.version.state.features else None
        top = self.columns.get(name) or self.columns.get(name.split(".")[0])
        if name in _ROW_TRACKING_COLUMNS:
            what = "versions" if "version" in name else "ids"
            return f"wrong row {what}: {way}", (f"row-tracking.read-{what}",)
        if top is None:
            return f"{CHANGES}: {way}", ()
        if top.name in self.partition_columns:
            if expected is None:
                return f"wrong partition values: {way}", ("partition-values.empty-is-null",)
            return f"wrong partition values: {way}", ("partition-values.serialization", "add.partition-values-from-log")
        if origin is not None and mode != "id" and physical_name(top, mode) not in origin.columns:
            default = ("default-columns.not-for-reading",) if "CURRENT_DEFAULT" in top.metadata else ()
            return f"columns that a file does not have: {way}", (*default, "consistency.missing-columns-null")
        if _has_type_changes(top):
            return f"columns with a widened type: {way}", ("type-widening.converted",)
        if mode is not None and way == NULL_FOR_VALUE:
            required = f"column-mapping.read-by-{'physical-name' if mode == 'name' else 'id'}"
            return f"mapped columns (mode {mode}): {way}", (required,)
        if mode is None and PHYSICAL_NAME in top.metadata:
            return f"columns with a physical name but without a mode: {way}", ("column-mapping.read-by-display-name",)
        return f"wrong values of stored columns: {way}", (_VALUES_OF_TYPES.get(kind, _ANY_TYPE),)

    def _explain_extra(self, extra: Counter[Row]) -> list[Cause]:
        causes: list[Cause] = []
        live, dead = self.split_by_liveness()
        hidden = {row for each in live for row in each.hidden}
        marked = [each for each in live if any(row in extra for row in each.hidden)]
        removed = {row for each in dead for row in each.rows}
        shown = {row for each in live for row in each.visible}
        if marked:
            causes += self.explain_marked(marked, extra)
        if any(row in removed for row in extra):
            causes += self._explain_removed(dead)
        if any(row in shown and row not in hidden and row not in removed for row in extra):
            repeated = Cause(_REPEATED, ("add.replaces-same-file", _RECONCILIATION))
            causes.append(Cause(_NOT_MATCHING) if self.is_filtered else repeated)
        if any(row not in hidden and row not in removed and row not in shown for row in extra):
            causes.append(Cause(_UNKNOWN_ROWS if self.origins else "rows that are not expected are returned"))
        return causes

    def explain_marked(self, files: Iterable[FileOrigin], extra: Collection[Row] = ()) -> list[Cause]:
        """Return why rows of these live files are returned that their vectors mark; `extra` are all such rows."""
        marked = [each for each in files if each.deleted]
        state, causes = self.version.state, []
        if any(_applies_earlier_vector(each, extra) for each in marked):
            breaks = ("add.logical-file-key", "reconciliation.file-under-several-vectors")
            causes.append(Cause(EARLIER_VECTOR, breaks))
        if marked and not state.is_enabled(DELETION_VECTORS):
            title = "deletion vectors are ignored while the property is not true"
            causes.append(Cause(title, ("deletion-vectors.honoured-without-property",)))
        return [*causes, *([Cause(MARKED_RETURNED, ("deletion-vectors.honoured",))] if marked else [])]

    def _explain_removed(self, dead: Sequence[FileOrigin]) -> list[Cause]:
        state = self.version.state
        tombstones = {path for path, _ in state.tombstones}
        causes = []
        if any(each.body["path"] not in tombstones for each in dead) and self.version is not self.subject.newest:
            causes.append(Cause("files of a later version are read", ("table.snapshot-isolation",)))
        return [*causes, Cause(REMOVED_LIVE, (_RECONCILIATION,))]

    def _explain_missing(self, missing: Counter[Row]) -> list[Cause]:
        if not missing:
            return []
        causes: list[Cause] = []
        if self.is_filtered:
            causes.append(Cause("matching rows are missing", ("statistics.skipping", _RECONCILIATION)))
        left = Counter(missing)
        for each in self.origins:
            lost = [missing[row] >= (1 if self.is_filtered else count) for row, count in each.visible.items()]
            if any(lost) if self.is_filtered else lost and all(lost):
                causes += self.explain_missing_file(each)
                left -= each.visible
        partly = [each for each in self.origins if any(row in left for row in each.visible)]
        if any(each.deleted or each.has_earlier_vector for each in partly):
            causes += [Cause(UNMARKED_MISSING, ("deletion-vectors.honoured", "add.logical-file-key"))]
        elif partly and not self.is_filtered:
            causes.append(Cause("some rows of a file are missing", ("parquet.listed-encodings", _RECONCILIATION)))
        return causes or [Cause("rows are missing", (_RECONCILIATION,))]

    def explain_missing_file(self, origin: FileOrigin) -> list[Cause]:
        """Return why all rows of a file may be missing."""
        return explain_missing_body(self.subject, self.version, origin.body)


def explain_missing_body(subject: TableUnderTest, version: ExpectedVersion, body: Body) -> list[Cause]:
    """Return why a live file may be missing from an answer, the rarest reason first."""
    path, state, causes = body["path"].removeprefix(TABLE_URI), version.state, []
    # a body that the table wrote has its own URI in place of TABLE_URI
    known = {each.removeprefix(TABLE_URI): each for each in state.live}
    original = next((name for plain, name in known.items() if path.endswith(plain)), body["path"])
    if any(dead == original for dead, _ in state.tombstones):
        breaks = ("add.logical-file-key", "reconciliation.file-under-several-vectors")
        causes.append(Cause("files whose deletion vector was replaced are missing", breaks))
    if _was_absent(subject, original):
        causes.append(Cause("files that were removed and added again are missing", (_RECONCILIATION,)))
    if original not in _list_committed(subject):
        causes += _explain_checkpoint(subject, version)
    if original.startswith(TABLE_URI):
        causes.append(Cause("files with an absolute path are missing", ("add.path",)))
    elif "%" in original:
        causes.append(Cause("files with an encoded path are missing", ("add.path-encoding",)))
    return causes or [Cause("live files are missing", (_RECONCILIATION, "log.replay-in-order"))]


def _was_absent(subject: TableUnderTest, path: str) -> bool:
    """Return whether a file was live, then was not, and is live again."""
    known = [path in each.state.live for each in subject.table.versions]
    first = known.index(True) if True in known else len(known)
    return False in known[first:] and True in known[known.index(False, first) :]


def _list_committed(subject: TableUnderTest) -> set[str]:
    """Return the paths that the remaining commits add."""
    lines = [line for commit in subject.table.files.commits.values() for line in commit if isinstance(line, dict)]
    return {line["add"]["path"] for line in lines if isinstance(line.get("add"), dict) and "path" in line["add"]}


def _explain_checkpoint(subject: TableUnderTest, version: ExpectedVersion) -> list[Cause]:
    """Return the kinds of the checkpoints from which a version can be read."""
    causes = []
    for each in subject.table.files.checkpoints:
        if each.version <= version.version:
            kind = "sidecars of a V2 checkpoint" if each.sidecars else _CHECKPOINTS[each.naming]
            required = "checkpoint.v2-files-in-one-place" if each.sidecars else "checkpoint.newest-preferred"
            causes.append(Cause(f"files in {kind} are missing", (required, _RECONCILIATION)))
    return list(dict.fromkeys(causes))


_CHECKPOINTS = {
    "classic": "a classic checkpoint",
    "multipart": "a multipart checkpoint",
    "uuid-json": "a V2 checkpoint in JSON",
    "uuid-parquet": "a V2 checkpoint in Parquet",
}


def _applies_earlier_vector(origin: FileOrigin, extra: Collection[Row]) -> bool:
    """Return whether, of the rows that a vector marks, only those are returned that an earlier vector does not mark."""
    before = [origin.rows[index] in extra for index in origin.deleted_before & origin.deleted]
    now = [origin.rows[index] in extra for index in origin.deleted - origin.deleted_before]
    return bool(before) and not any(before) and any(now)


def _count_equal(first: Row, second: Row) -> int:
    return sum(left == right for left, right in zip(first, second, strict=True))


def iter_changed_values(data_type: DataType, expected: Value, actual: Value) -> Iterator[tuple[str, Value, Value]]:
    """Yield the values at the deepest level at which two values differ, each with the name of its type."""
    if expected == actual:
        return
    match data_type, expected, actual:
        case Struct(fields), ("struct", *wanted), ("struct", *given):
            for field, left, right in zip(fields, wanted, given, strict=True):
                yield from iter_changed_values(field.type, left, right)
        case Array(element), ("list", *wanted), ("list", *given) if len(wanted) == len(given):
            for left, right in zip(wanted, given, strict=True):
                yield from iter_changed_values(element, left, right)
        case Map(key, value), ("map", wanted), ("map", given) if len(wanted) == len(given) == len(dict(wanted)):
            if dict(wanted).keys() == dict(given).keys():
                for name, left in dict(wanted).items():
                    yield from iter_changed_values(value, left, dict(given)[name])
            else:
                lost, new = (sorted(dict(one).keys() - dict(other).keys(), key=repr) for one, other in
                             ((wanted, given), (given, wanted)))  # fmt: skip
                for left, right in zip(lost, new, strict=True):
                    yield from iter_changed_values(key, left, right)
        case _:
            yield get_type_name(data_type).partition("(")[0], expected, actual


def _has_type_changes(field: Field) -> bool:
    return any(each.metadata.get(TYPE_CHANGES) for _, each in iter_fields(Struct((field,))))
