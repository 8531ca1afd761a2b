"""Draw staged commits of catalog-managed tables."""

from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import LOG
from deltaspec_generators.tables.builder import TableBuilder


def draw_staged_commits(builder: TableBuilder, timestamp_ms: int) -> dict[str, bytes]:
    """Draw staged commits: copies of published commits, and perhaps an unpublished one with this timestamp."""
    found: dict[str, bytes] = {}
    commits = builder.files.commits
    for version in builder.choices.sample(sorted(commits), 0, 2):
        found[_build_staged_path(builder, version)] = encode_lines(commits[version])
    if builder.choices.chance(1, 2):
        info = {"inCommitTimestamp": timestamp_ms, "operation": "WRITE", "txnId": build_uuid(builder.next_number())}
        found[_build_staged_path(builder, builder.version)] = encode_lines([{"commitInfo": info}])
    return found


def _build_staged_path(builder: TableBuilder, version: int) -> str:
    return f"{LOG}_staged_commits/{version:020d}.{build_uuid(builder.next_number())}.json"
