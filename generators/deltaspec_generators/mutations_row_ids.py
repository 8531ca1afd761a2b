"""Tables broken in row ids; level `log` and `rows` shows it."""

import json

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.bases import action
from deltaspec_generators.builder import TableFiles, domain_action, protocol_action
from deltaspec_generators.mutations import mutation, pick

ROW_ID, ROW_COMMIT_VERSION = "_row-id-col-1", "_row-commit-version-col-1"
COLUMNS = {
    "delta.rowTracking.materializedRowIdColumnName": ROW_ID,
    "delta.rowTracking.materializedRowCommitVersionColumnName": ROW_COMMIT_VERSION,
}
ENABLED = {"delta.enableRowTracking": "true", **COLUMNS}
PROTOCOL = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])


def mark(highest: int, key: str = "rowIdHighWaterMark") -> dict[str, object]:
    """The domain of the high-water mark."""
    return domain_action("delta.rowTracking", json.dumps({key: highest}))


def tracked(*, enabled: bool = True) -> TableFiles:
    """`bases.plain` with row tracking: a and b have the ids 0 to 19, c has 20 to 29."""
    files = bases.plain(protocol=PROTOCOL, configuration=ENABLED if enabled else {})
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        action(files, version, "add", which).update(baseRowId=base, defaultRowCommitVersion=version)
    action(files, 2, "remove").update(baseRowId=0, defaultRowCommitVersion=1)
    files.commits[1].append(mark(19))
    files.commits[2].append(mark(29))
    return files


def _tracked(draw: st.DrawFn) -> TableFiles:
    return tracked(enabled=draw(st.booleans()))


@mutation("row-tracking.unique-default-ids")
def row_ids_given_twice(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    action(files, 2, "add")["baseRowId"] = draw(st.integers(1, 19))  # b has 10 to 19
    return files


@mutation("row-tracking.high-water-mark")
def high_water_mark_behind(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    files.commits[2][-1] = mark(draw(st.integers(0, 28)), pick(draw, "rowIdHighWaterMark", "highWaterMark"))
    return files


@mutation("row-tracking.mark-in-domain")
def high_water_mark_absent(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    for version in (1, 2):
        files.commits[version].pop()
    return files


@mutation("row-tracking.base-row-id")
def base_row_id_absent(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    del action(files, 2, "add")["baseRowId"]
    return files


@mutation("row-tracking.commit-version")
def default_row_commit_version_absent(draw: st.DrawFn) -> TableFiles:
    files = _tracked(draw)
    del action(files, 2, "add")["defaultRowCommitVersion"]
    return files


@mutation("row-tracking.column-names")
def hidden_column_without_a_name(draw: st.DrawFn) -> TableFiles:
    files = tracked()
    del action(files, 0, "metaData")["configuration"][pick(draw, *COLUMNS)]
    return files


@mutation("row-tracking.column-names-unique")
def hidden_column_of_a_taken_name(draw: st.DrawFn) -> TableFiles:
    files = tracked()
    action(files, 0, "metaData")["configuration"][pick(draw, *COLUMNS)] = pick(draw, "id", "name")
    return files
