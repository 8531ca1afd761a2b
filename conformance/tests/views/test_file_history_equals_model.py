"""`file_history` equals the definitions of its columns, computed in plain Python."""

from collections import Counter
from typing import Any

from helpers.hypothesis_settings import example_settings
from helpers.recording_run import DecodedLog, RecordingRun, compute_path_key, convert_action
from hypothesis import given
from views.model_expectations import Row, arbitrary_commits, compute_snapshots, list_actions, sort_rows

from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.tables.strategies import logs


def history_of_model(run: RecordingRun, decoded: DecodedLog) -> list[tuple[Any, ...]]:
    """Compute the rows of `file_history` for the base and the commits from the definitions of its columns."""
    snapshots = compute_snapshots(run, decoded)
    written = [
        (version, "checkpoint" if run.plan.base and version == run.plan.base.version else "commit", line, kind, body)
        for version, _, line, kind, body in list_actions(run, decoded)
        if kind in ("add", "remove", "cdc")
    ]
    paths = Counter(compute_path_key(body) for *_, body in written)
    encodings: dict[str, str] = {}
    counted: set[tuple[Any, ...]] = set()
    found = []
    for version, source, line, kind, body in written:
        key, vector = compute_path_key(body), _vector(kind, body)
        if paths[key] == 1:
            continue
        previous, encodings[key] = encodings.get(key, body["path"]), body["path"]
        together = [
            (other, _vector(other, each))
            for at, of, _, other, each in written
            if (at, of) == (version, source) and compute_path_key(each) == key
        ]
        opposite = {"add": "remove", "remove": "add"}.get(kind)
        group, file = (version, source, key, kind), (version, source, key, kind, vector)
        is_first, is_first_of_file = group not in counted, file not in counted
        counted |= {group, file}
        before = snapshots[version - 1].files if source == "commit" and version - 1 in snapshots else {}
        live = [get_vector_id(add) for (path, _), add in before.items() if path == key]
        kept = [each for each in live if each != vector and ("remove", each) not in together]
        is_compared = kind == "add" or (kind == "remove" and "add" not in [other for other, _ in together])
        found.append(
            (
                version,
                line,
                kind,
                body["path"],
                key,
                vector,
                sum(other == kind for other, _ in together) if is_first else None,
                sum((other, each) == (kind, vector) for other, each in together) if is_first_of_file else None,
                sum((other, each) == (opposite, vector) for other, each in together) if is_first_of_file else None,
                (kept[0] or "none") if is_compared and kept else None,
                previous if body["path"] != previous else None,
            )
        )
    return sort_rows(found)


def _vector(kind: str, body: Row) -> str | None:
    return None if kind == "cdc" else get_vector_id(convert_action(kind, body))


_HISTORY = (
    *("version", "line", "kind", "path", "path_key", "deletion_vector_id", "same_path_same_kind"),
    *("same_file_same_kind", "same_file_other_kind", "unremoved_live_vector", "other_path_encoding"),
)


def history_of_run(run: RecordingRun) -> list[tuple[Any, ...]]:
    replayed = run.recorded.frames["file_history"][0]  # frames of derived files follow
    return sort_rows(replayed.select(_HISTORY).iter_rows())


@example_settings(25)
@given(files=logs())
def test_file_history_of_valid_logs_follows_its_definition(files: TableFiles) -> None:
    run = RecordingRun(files)
    assert history_of_run(run) == history_of_model(run, DecodedLog.decode(files))


@example_settings(60)
@given(files=arbitrary_commits())
def test_file_history_of_arbitrary_commits_follows_its_definition(files: TableFiles) -> None:
    run = RecordingRun(files)
    assert history_of_run(run) == history_of_model(run, DecodedLog.decode(files))
