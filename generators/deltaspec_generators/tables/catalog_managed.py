"""Draw catalog-managed tables with data: created, upgraded or downgraded, with published and unpublished commits.

A drawn table becomes catalog-managed at one of its versions. Then it is drawn up to which version its commits are
published, how the catalog stores the others, and which staged commits of losers remain.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.catalog_managed import (
    add_feature,
    build_txn_id,
    copy_table,
    keep_published,
    stage,
    withhold,
)
from deltaspec_generators.choices import Choices
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables.corpus import build_readable_table, draw_options
from deltaspec_generators.tables.features import DATA_FEATURES
from deltaspec_generators.tables.history import draw_generated_table
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable

_NOT_DRAWN = ("absolute", "cleanup", "unknown")
"""Extras that change what this module has to read: verbatim lines, deleted commits, URIs in inline commits."""


class _Plan(msgspec.Struct, frozen=True):
    """When a catalog manages the table, and what is published."""

    since: int
    """The first catalog-managed version."""
    until: int
    """The first version that is not catalog-managed any more; larger than any version if there is none."""
    published: int
    """The newest published version; -1 for none."""

    def is_managed(self, version: int) -> bool:
        return self.since <= version < self.until

    @property
    def is_downgraded(self) -> bool:
        return self.until <= self.published


def draw_catalog_managed_table(choices: Choices) -> ReadableTable:
    """Draw a table that a catalog manages or managed, with the expected result of reading each version."""
    options = draw_options(choices)
    options = replace(
        options,
        features=tuple(name for name in DATA_FEATURES if name in {*options.features, "inCommitTimestamp"}),
        required=tuple(dict.fromkeys((*options.required, "inCommitTimestamp"))),
        extras=tuple(name for name in options.extras if name not in _NOT_DRAWN),
        endings=False,
    )
    drawn = build_readable_table(draw_generated_table(choices, options))
    last = drawn.versions[-1].version
    plan = _draw_plan(choices, last)
    files = copy_table(drawn.files)
    _manage_versions(files, drawn.versions, plan)
    keep_published(files, plan.published, changed=(plan.since, plan.until) if plan.since or plan.is_downgraded else ())
    versions = tuple(_describe(each, plan) for each in drawn.versions)
    history = (*drawn.history, _describe_plan(plan, last))
    if plan.is_downgraded:
        _draw_losers(choices, files, last)
        known: CatalogAnswer | None = None
        versions = tuple(each for each in versions if each.version >= plan.until)
    else:
        files, known, versions = _draw_answer(choices, files, versions, plan)
    return replace(drawn, files=files, versions=versions, history=history, catalog=known,
                   choices=tuple(choices.sequence))  # fmt: skip


def _draw_plan(choices: Choices, last: int) -> _Plan:
    """Draw a plan: mostly a table that was created with the feature, and has unpublished commits."""
    never = last + 2
    since = choices.integer(1, last) if last and choices.chance(1, 4) else 0
    if last > since and choices.chance(1, 8):
        return _Plan(since, choices.integer(since + 1, last), last)
    match choices.choose(4):
        case 0:
            return _Plan(since, never, last)
        case 1:
            return _Plan(since, never, since - 1)
    return _Plan(since, never, choices.integer(since - 1, max(since - 1, last - 1)))


def _describe_plan(plan: _Plan, last: int) -> str:
    ends = f", not any more since version {plan.until}" if plan.is_downgraded else ""
    published = f"published up to version {plan.published}" if plan.published >= 0 else "nothing is published"
    return f"a catalog manages the table since version {plan.since}{ends}; {published} of {last}"


def _manage_versions(files: TableFiles, versions: tuple[ExpectedVersion, ...], plan: _Plan) -> None:
    """Change protocols and commit information; a version at which the management changes also gets a protocol."""
    protocols = {each.version: each.state.protocol for each in versions}
    for version, lines in files.commits.items():
        bodies: list[Any] = [line for line in lines if isinstance(line, dict)]
        if version in (plan.since, plan.until) and not any("protocol" in body for body in bodies):
            lines.append({"protocol": protocols[version]})
        files.commits[version] = [_manage_line(version, line, plan) for line in lines]
    for checkpoint in files.checkpoints:
        checkpoint.rows = [_manage_line(checkpoint.version, row, plan) for row in checkpoint.rows]
    for (start, _), lines in files.compactions.items():
        files.compactions[start, _] = [_manage_line(start, line, plan) for line in lines]
    for version, checksum in files.checksums.items():
        assert isinstance(checksum, dict)
        files.checksums[version] = {**checksum, "protocol": _manage_protocol(version, checksum["protocol"], plan)}


def _manage_line(version: int, line: Any, plan: _Plan) -> Any:
    if "protocol" in line:
        return {"protocol": _manage_protocol(version, line["protocol"], plan)}
    if "commitInfo" in line and plan.is_managed(version):
        return {"commitInfo": {**line["commitInfo"], "txnId": build_txn_id(version)}}
    return line


def _manage_protocol(version: int, protocol: Body, plan: _Plan) -> Body:
    return add_feature(protocol) if plan.is_managed(version) else protocol


def _describe(expected: ExpectedVersion, plan: _Plan) -> ExpectedVersion:
    state = expected.state
    return replace(expected, state=replace(state, protocol=_manage_protocol(expected.version, state.protocol, plan)))


def _draw_answer(
    choices: Choices, files: TableFiles, versions: tuple[ExpectedVersion, ...], plan: _Plan
) -> tuple[TableFiles, CatalogAnswer, tuple[ExpectedVersion, ...]]:
    """Draw what the catalog knows; sometimes it is behind the published commits, so readers must ignore the newest."""
    last = versions[-1].version
    first = max(plan.since, plan.published + 1 - choices.integer(0, 2))
    style = choices.pick(("staged", "staged", "inline", "mixed"))
    kinds = {version: "inline" if style == "inline" or (style == "mixed" and choices.chance(1, 2)) else "staged"
             for version in range(first, last + 1)}  # fmt: skip
    files, known = withhold(files, plan.published, kinds=kinds, first=first)  # type: ignore[arg-type]
    if plan.published == last > plan.since and choices.chance(1, 3):
        known = CatalogAnswer(last - 1, tuple(each for each in known.commits if each.version < last))
        versions = versions[:-1]
    _draw_losers(choices, files, last)
    return files, known, versions


def _draw_losers(choices: Choices, files: TableFiles, last: int) -> None:
    """Draw staged commits that the catalog does not know: complete or partial, of any version up to the next one."""
    for attempt in range(1, 1 + choices.integer(0, 2)):
        version = choices.integer(0, last + 1)
        info = {"operation": "WRITE", "inCommitTimestamp": 1, "txnId": f"loser-{attempt}"}
        add = {"path": f"loser-{attempt}.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1}
        data = encode_lines([{"commitInfo": info}, {"add": {**add, "dataChange": True}}])
        stage(files, version, data if choices.chance(1, 2) else data[:-20], attempt=attempt)
