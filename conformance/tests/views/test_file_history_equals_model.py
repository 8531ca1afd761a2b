"""`file_history` says of every file that several actions speak of what its definition says."""

from typing import Any

from examples import drawn
from hypothesis import given
from views.model_answers import Row, ordered, table_actions, versions_of, wild_commits
from views.observed import Decoded, ObservedRun, body_key, known

from deltaspec.model.reconciliation import vector_id
from deltaspec_generators.builder import TableFiles
from deltaspec_generators.logs import logs


def history_of_model(run: ObservedRun, decoded: Decoded) -> list[tuple[Any, ...]]:
    """Rows of `file_history` for the base and the commits, from the definitions of its columns."""
    snapshots = versions_of(run, decoded)
    written = [
        (version, "checkpoint" if run.plan.base and version == run.plan.base.version else "commit", line, kind, body)
        for version, _, line, kind, body in table_actions(run, decoded)
        if kind in ("add", "remove", "cdc")
    ]
    spellings: dict[str, list[str]] = {}
    for *_, body in written:
        spellings.setdefault(body_key(body), []).append(body["path"])
    found = []
    for version, source, line, kind, body in written:
        key, vector = body_key(body), _vector(kind, body)
        if len(spellings[key]) == 1:
            continue
        together = [
            (other, _vector(other, each))
            for at, of, _, other, each in written
            if (at, of) == (version, source) and body_key(each) == key
        ]
        opposite = {"add": "remove", "remove": "add"}.get(kind)
        low, high = min(spellings[key]), max(spellings[key])
        before = snapshots[version - 1].files if source == "commit" and version - 1 in snapshots else {}
        live = [vector_id(add) for (path, _), add in before.items() if path == key]
        kept = [each for each in live if each != vector and ("remove", each) not in together]
        found.append(
            (
                version,
                line,
                kind,
                body["path"],
                key,
                vector,
                sum(other == kind for other, _ in together),
                sum((other, each) == (kind, vector) for other, each in together),
                sum((other, each) == (opposite, vector) for other, each in together),
                (kept[0] or "none") if kind == "add" and kept else None,
                low if body["path"] != low else high if body["path"] != high else None,
            )
        )
    return ordered(found)


def _vector(kind: str, body: Row) -> str | None:
    return None if kind == "cdc" else vector_id(known(kind, body))


_HISTORY = (
    *("version", "line", "kind", "path", "path_key", "deletion_vector_id", "same_path_same_kind"),
    *("same_file_same_kind", "same_file_other_kind", "live_vector_unremoved", "other_spelling"),
)


def history_of_run(run: ObservedRun) -> list[tuple[Any, ...]]:
    replayed = run.seen.frames["file_history"][0]  # those of claims follow
    return ordered(replayed.select(_HISTORY).iter_rows())


@drawn(25)
@given(files=logs())
def test_file_history_of_valid_logs_follows_its_definition(files: TableFiles) -> None:
    run = ObservedRun(files)
    assert history_of_run(run) == history_of_model(run, Decoded.of(files))


@drawn(60)
@given(files=wild_commits())
def test_file_history_of_wild_commits_follows_its_definition(files: TableFiles) -> None:
    run = ObservedRun(files)
    assert history_of_run(run) == history_of_model(run, Decoded.of(files))
