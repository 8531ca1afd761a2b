"""The catalog of the kit: it decides in this process about staged commits. Source: Commit Protocol (current)."""

from pathlib import Path

import msgspec

from deltaspec.model.commit.catalog_managed import may_ratify
from deltaspec.model.decisions import Accepted
from deltaspec.protocol.features.catalog_managed import CatalogAnswer, RatifiedCommit, list_published_versions
from deltaspec.protocol.log.file_names import STAGED_COMMITS, StagedCommit, commit_name, parse_log_file_name
from deltaspec.suites.write_judging import LOG


class KitCatalog:
    """The catalog of one table.

    Args:
        table: directory of the table.
        answer: what it knows at first.
    """

    def __init__(self, table: Path, answer: CatalogAnswer) -> None:
        self.table, self.answer = table, answer

    @property
    def log(self) -> Path:
        return self.table / LOG

    def ratify(self, staged: str) -> bool:
        """Ratify a staged commit if its version is the next one; return whether it is the commit of its version."""
        name = parse_log_file_name(f"{STAGED_COMMITS}{staged}")
        if not isinstance(name, StagedCommit) or not (self.log / STAGED_COMMITS / staged).is_file():
            return False
        if RatifiedCommit(name.version, staged=staged) in self.answer.commits:
            return True  # the answer to the first request was lost
        if not isinstance(may_ratify(name.version, self.answer.latest_version), Accepted):
            return False
        commits = (*self.answer.commits, RatifiedCommit(name.version, staged=staged))
        self.answer = CatalogAnswer(name.version, commits)
        return True

    def read(self, commit: RatifiedCommit) -> bytes:
        """Return the content of a ratified commit."""
        if commit.content is not None:
            return commit.content.encode()
        return (self.log / STAGED_COMMITS / str(commit.staged)).read_bytes()

    def list_published(self) -> list[int]:
        """List the published versions, ascending."""
        return list_published_versions(path.name for path in self.log.iterdir())

    def find_publishing_fault(self) -> str | None:
        """Return what is wrong with the published files: an unpublished version, or other content; None if nothing."""
        for commit in self.answer.commits:
            path = self.log / commit_name(commit.version)
            if not path.is_file():
                return f"version {commit.version} was not published"
            if path.read_bytes() != self.read(commit):
                return f"the published file of version {commit.version} differs from the ratified commit"
        return None

    def forget_published(self) -> None:
        """Drop the ratified commits that are published."""
        published = self.list_published()
        kept = tuple(each for each in self.answer.commits if each.version not in published)
        self.answer = msgspec.structs.replace(self.answer, commits=kept)
