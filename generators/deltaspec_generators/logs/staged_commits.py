"""Draw staged commits of catalog-managed tables."""

from hypothesis import strategies as st

from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.logs.builder import LogBuilder
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import LOG, TableFiles


def draw_staged_commits(builder: LogBuilder, files: TableFiles) -> dict[str, bytes]:
    """Draw staged commits: copies of published commits, and perhaps one unpublished commit."""
    found: dict[str, bytes] = {}
    published = builder.draw(st.lists(st.sampled_from(sorted(files.commits)), unique=True, max_size=2))
    for version in published:
        found[_draw_staged_path(builder, version)] = encode_lines(files.commits[version])
    if builder.draw(st.booleans()):
        timestamp = builder.next_in_commit_timestamp(builder.state.timestamp_ms)
        info = {"inCommitTimestamp": timestamp, "operation": "WRITE", "txnId": build_uuid(builder.next_number())}
        found[_draw_staged_path(builder, builder.version)] = encode_lines([{"commitInfo": info}])
    return found


def _draw_staged_path(builder: LogBuilder, version: int) -> str:
    return f"{LOG}_staged_commits/{version:020d}.{build_uuid(builder.next_number())}.json"
