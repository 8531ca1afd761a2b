"""Faults in reading tables that a catalog manages."""

from typing import Any

from msgspec.structs import replace

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.protocol.features.catalog_managed import CatalogAnswer, RatifiedCommit
from deltaspec.protocol.log.file_names import STAGED_COMMITS, StagedCommit, parse_log_file_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.local import LocalStore

ASKED, DECIDES = "catalog-managed.catalog-asked-first", "catalog-managed.catalog-decides"
FOUND, STAGED = "catalog-managed.found-by-readers", "log.staged-not-interpreted"


@mutant(Engine.check_catalog, FOUND, ASKED, suites=("refuse",))
def path_alone_read(original: Method, engine: Engine, log: LogReader, state: LoadedTable) -> None:
    """Reads a catalog-managed table by its path alone, as far as it is published."""


@mutant((LogReader.open_store, LogReader.choose_segment), ASKED, suites=("catalog",))
def tail_ignored(original: Method, log: LogReader, argument: Any) -> Any:
    """Asks the catalog, but reads only what is published."""
    if original is LogReader.open_store:
        return argument
    known, log.catalog = log.catalog, None
    try:
        return original(log, argument)
    finally:
        log.catalog = known


def _open(original: Method, log: LogReader, store: LocalStore, known: CatalogAnswer) -> Store:
    log.catalog = known
    return original(log, store)  # type: ignore[no-any-return]


@mutant(LogReader.open_store, STAGED, suites=("catalog",))
def staged_commits_listed(original: Method, log: LogReader, store: LocalStore) -> Store:
    """Reads the staged commits that it lists, not those that the catalog names; of two of one version, the last."""
    known = log.catalog
    if known is not None:
        listed = (entry.log_name for entry in store.list_log())
        staged = [name for name in listed if isinstance(name, StagedCommit)]
        found = {name.version: f"{name.version:020d}.{name.uuid}.json" for name in staged}
        commits = [replace(each, staged=found[each.version]) if each.staged else each for each in known.commits]
        return _open(original, log, store, replace(known, commits=tuple(commits)))
    return original(log, store)  # type: ignore[no-any-return]


@mutant(LogReader.open_store, STAGED, suites=("catalog",))
def next_staged_commit_read(original: Method, log: LogReader, store: LocalStore) -> Store:
    """Reads a complete staged commit of the next version as if it were ratified."""
    known = log.catalog
    if known is not None:
        latest = known.latest_version + 1
        names = (entry.name for entry in store.list_log())
        for name in names:
            parsed = parse_log_file_name(name)
            if isinstance(parsed, StagedCommit) and parsed.version == latest:
                commit = RatifiedCommit(latest, staged=name.removeprefix(STAGED_COMMITS))
                return _open(original, log, store, CatalogAnswer(latest, (*known.commits, commit)))
    return original(log, store)  # type: ignore[no-any-return]


@mutant(LogReader.open_store, DECIDES, suites=("catalog",))
def published_commits_preferred(original: Method, log: LogReader, store: LocalStore) -> Store:
    """Reads the published file of a version although the catalog returns its commit."""
    known = log.catalog
    if known is not None:
        published = {entry.name for entry in store.list_log()}
        commits = tuple(each for each in known.commits if f"{each.version:020d}.json" not in published)
        return _open(original, log, store, replace(known, commits=commits))
    return original(log, store)  # type: ignore[no-any-return]


@mutant(LogReader.open_store, DECIDES, suites=("catalog",))
def later_versions_read(original: Method, log: LogReader, store: LocalStore) -> Store:
    """Reads published versions after the one that the catalog calls the latest."""
    known = log.catalog
    if known is not None:
        versions = [int(entry.name[:20]) for entry in store.list_log() if entry.name[20:] == ".json"]
        latest = max([known.latest_version, *versions])
        return _open(original, log, store, replace(known, latest_version=latest))
    return original(log, store)  # type: ignore[no-any-return]
