"""Columnar replay of file actions: the validity interval of every logical file.

This is the columnar implementation of `deltaspec.model.log.reconciliation` for millions of files; tests prove the two
equal. Most paths have a single action and need no work, so only the paths with several actions are sorted and joined.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from deltaspec.protocol.revisions import Revision

REPLAY_COLUMNS: dict[str, Any] = {
    "source": pl.String,
    "file": pl.String,
    "version": pl.Int64,
    "line": pl.Int64,
    "kind": pl.String,
    "path": pl.String,
    "path_key": pl.String,
    "deletion_vector_id": pl.String,
    "size": pl.Int64,
    "modification_time": pl.Int64,
    "deletion_timestamp": pl.Int64,
    "cardinality": pl.Int64,
    "num_records": pl.Int64,
    "base_row_id": pl.Int64,
    "default_row_commit_version": pl.Int64,
    "data_change": pl.Boolean,
    "extended_file_metadata": pl.Boolean,
    "has_tags": pl.Boolean,
    "partition_text": pl.String,
    "null_columns": pl.String,
    "stats": pl.String,
    "stats_are_typed": pl.Boolean,
    "rare_fields": pl.String,
}
"""Columns of file actions that replay keeps. `path` is null where it equals `path_key`. `partition_text` is described
in `partition_facts.columns`, `null_columns` in `statistics_facts.columns`. `stats_are_typed` says that `stats` has
values of `stats_parsed`; null if it has none.
`rare_fields` is a JSON object of fields that few actions have, null without any."""

DATA_REPLAY_COLUMNS: dict[str, Any] = {
    **REPLAY_COLUMNS,
    "dv_storage_type": pl.String,
    "dv_path_or_inline": pl.String,
    "dv_offset": pl.Int64,
    "dv_size_in_bytes": pl.Int64,
    "partition_values": pl.List(pl.Struct({"key": pl.String, "value": pl.String})),
}
"""Columns that replay keeps if the run also reads files outside the log."""

FEW_ROWS = 500
"""Fewer rows are compared faster one by one than with a query, which takes 0.1 ms for each step."""
COMPARISON_ONLY_COLUMNS = ("stats", "stats_are_typed", "modification_time", "deletion_timestamp", "rare_fields")
"""Columns that only the comparison with a derived file needs."""


def build_empty_replay_frame(schema: Mapping[str, Any] = REPLAY_COLUMNS) -> pl.DataFrame:
    """Return an empty frame with the columns of `REPLAY_COLUMNS` or `DATA_REPLAY_COLUMNS`."""
    return _build_empty_frame(tuple(schema.items()))


@cache
def _build_empty_frame(columns: tuple[tuple[str, Any], ...]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(columns))


def select_replay_columns(
    facts: pl.DataFrame,
    *,
    compared: bool,
    cdc: bool = False,
    schema: Mapping[str, Any] = REPLAY_COLUMNS,
    values: bool = False,
    timed: bool = False,
) -> pl.DataFrame:
    """Return the columns that replay needs of the rows of `build_file_facts`.

    Args:
        facts: file actions.
        compared: whether to fill the columns that only a comparison with a derived file needs; null otherwise.
        cdc: whether to return cdc actions instead of adds and removes.
        schema: `REPLAY_COLUMNS` or `DATA_REPLAY_COLUMNS`.
        values: whether to fill statistics and partition values, which only level `rows` needs; null otherwise.
        timed: whether to fill `deletion_timestamp` even if `compared` is false.
    """
    is_cdc = facts["kind"] == "cdc"
    if is_cdc.any():
        facts = facts.filter(is_cdc if cdc else ~is_cdc)
    elif cdc:
        return build_empty_replay_frame(schema)
    dropped = set() if compared else {*COMPARISON_ONLY_COLUMNS} - ({"deletion_timestamp"} if timed else set())
    dropped = dropped - {"stats"} if values else dropped | {"partition_values"}
    columns = [
        _select_encoded_paths(facts)
        if name == "path"
        else pl.lit(None, dtype).alias(name)
        if name in dropped
        else _encode_rare_fields(facts)
        if name == "rare_fields"
        else pl.col(name)
        for name, dtype in schema.items()
    ]
    return facts.select(columns)


def _select_encoded_paths(facts: pl.DataFrame) -> pl.Series:
    """Return each path that differs from its key, else null. `when` would keep the bytes of the others in memory."""
    path = facts["path"]
    rows = path.ne_missing(facts["path_key"]).arg_true()
    found = pl.Series("path", [None], dtype=pl.String).new_from_index(0, len(facts))
    return found.scatter(rows, path.gather(rows)) if len(rows) else found


def _encode_rare_fields(facts: pl.DataFrame) -> pl.Series:
    """Encode `tags` (sorted by key), `clusteringProvider` and `deletionVector.sizeInBytes` of the actions with any."""
    has_tags = pl.col("tags").list.len() > 0
    rows = facts.select(
        (has_tags | pl.col("clustering_provider").is_not_null() | pl.col("dv_size_in_bytes").is_not_null())
        .fill_null(False)
        .alias("any")
    )["any"].arg_true()
    found = pl.Series("rare_fields", [None], dtype=pl.String).new_from_index(0, len(facts))
    if rows.is_empty():
        return found
    entries = pl.col("tags").list.eval(pl.element().struct.json_encode()).list.sort().list.join(",")
    provider = pl.struct(clusteringProvider="clustering_provider").struct.json_encode()
    members = (
        pl.when(has_tags).then('"tags":[' + entries + "]"),
        pl.when(pl.col("clustering_provider").is_not_null()).then(provider.str.slice(1).str.head(-1)),
        '"deletionVector.sizeInBytes":' + pl.col("dv_size_in_bytes").cast(pl.String),
    )
    text = pl.concat_str(members, separator=",", ignore_nulls=True)
    return found.scatter(rows, facts[rows].select("{" + text + "}").to_series())


def decode_rare_fields(text: str | None) -> dict[str, Any]:
    """Return the fields of `rare_fields` by wire name."""
    found: dict[str, Any] = json.loads(text) if text else {}
    if "tags" in found:
        found["tags"] = {each["key"]: each["value"] for each in found["tags"]}
    return found


def build_intervals(
    chain: pl.DataFrame, revision: Revision = Revision.CURRENT, shared: pl.Series | None = None
) -> pl.DataFrame:
    """Compute the validity interval of every add and remove.

    Args:
        chain: rows of the base checkpoint, if there is one, and of every commit after it, in any order.
        revision: protocol revision, which defines the identity of an add.
        shared: whether each row may share its path with another, if that is known.

    Returns:
        The rows of `chain` with `until` (Int64): the first version in which the action is no longer valid; null if it
        stays valid. An add ends when its path (in r1 to r3: its logical file) is added again, or its logical file is
        removed. A remove ends when its logical file is added or removed again. Within a commit, removes come first.
    """
    several = has_shared_path(chain) if shared is None else shared
    if not several.any():
        return chain.with_columns(until=pl.lit(None, pl.Int64))
    if len(chain) < FEW_ROWS:
        return chain.with_columns(pl.Series("until", _find_ends(chain, revision), dtype=pl.Int64))
    single = chain.filter(~several).with_columns(until=pl.lit(None, pl.Int64))
    many = chain.filter(several).with_columns(
        _vector=pl.col("deletion_vector_id").fill_null(""), _is_add=pl.col("kind") == "add"
    )
    many = many.sort("path_key", "version", "_is_add", "file", "line").with_row_index("_order")
    # [Changed in current] an add is identified by its path alone
    key = ("path_key",) if revision is Revision.CURRENT else ("path_key", "_vector")
    adds = many.filter("_is_add").with_columns(_next_add=pl.col("version").shift(-1).over(*key))
    removes = many.filter(~pl.col("_is_add")).with_columns(
        _next_remove=pl.col("version").shift(-1).over("path_key", "_vector")
    )
    adds = _next_of_other(adds, removes, "_removed_at").with_columns(
        until=pl.min_horizontal("_next_add", "_removed_at")
    )
    removes = _next_of_other(removes, adds, "_added_at", same_version=True).with_columns(
        until=pl.min_horizontal("_next_remove", "_added_at")
    )
    columns = [*chain.columns, "until"]
    return pl.concat([single.select(columns), adds.select(columns), removes.select(columns)])


def _find_ends(chain: pl.DataFrame, revision: Revision) -> list[int | None]:
    """Return `until` of few actions. They are read backwards, so that the next actions of a file are known."""
    columns = chain.select("version", pl.col("kind") == "add", "file", "line", "path_key", "deletion_vector_id")
    ends: list[int | None] = [None] * len(chain)
    nearest: dict[tuple[Any, ...], int] = {}
    for number, (version, is_add, *_, path, vector) in sorted(enumerate(columns.rows()), key=_get_place, reverse=True):
        file = (path, vector or "")
        same = path if is_add and revision is Revision.CURRENT else file
        others = [(not is_add, file)] if path is not None else []
        ends[number] = min((nearest[key] for key in [(is_add, same), *others] if key in nearest), default=None)
        nearest[is_add, same] = nearest[is_add, file] = version
    return ends


def _get_place(row: tuple[int, tuple[Any, ...]]) -> tuple[Any, ...]:
    version, is_add, file, line, *_ = row[1]
    return version, is_add, file, line


def has_shared_path(rows: pl.DataFrame) -> pl.Series:
    """Return which rows share their path with other rows, compared by hash: false positives are possible."""
    if len(rows) < FEW_ROWS:
        keys = rows["path_key"].to_list()
        counts = Counter(keys)
        return pl.Series("path_key", [counts[key] > 1 for key in keys], dtype=pl.Boolean)
    hashes = rows["path_key"].hash()
    ordered = hashes.sort()  # `is_duplicated` takes more than twice as long, and more memory
    shared = ordered.filter((ordered == ordered.shift()).fill_null(False)).unique()
    return hashes.is_in(shared.implode())


def _next_of_other(left: pl.DataFrame, right: pl.DataFrame, name: str, *, same_version: bool = False) -> pl.DataFrame:
    """Add to each row of `left` the version of the next row of `right` with the same logical file.

    Within one commit a remove precedes an add.
    """
    others = right.select("path_key", "_vector", pl.col("version").alias(name)).sort(name)
    return left.sort("version").join_asof(
        others,
        left_on="version",
        right_on=name,
        by=["path_key", "_vector"],
        strategy="forward",
        allow_exact_matches=same_version,
        check_sortedness=False,
    )


def number_repeated_adds(adds: pl.DataFrame, *unchanged: str) -> pl.DataFrame:
    """Find adds that only repeat a live file: the file is the same from the first of them to the end of the last.

    Args:
        adds: with validity intervals.
        unchanged: columns in which a repetition equals the add before it, next to the logical file.

    Returns:
        The adds with `since` (Int64), the version of the first add of a series, and `_series`. The adds of a series
        have the same number and are in order.
    """
    if not has_shared_path(adds).any():
        return adds.with_columns(since=pl.col("version")).with_row_index("_series")
    adds = adds.sort("path_key", "deletion_vector_id", "version")
    same = ("path_key", "deletion_vector_id", *unchanged)
    repeats = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in same)
    repeats &= (pl.col("until").shift(1) == pl.col("version")).fill_null(False)
    adds = adds.with_columns(_series=(~repeats).cum_sum())
    return adds.with_columns(since=pl.col("version").first().over("_series"))


def find_live_files(intervals: pl.DataFrame, version: int, kind: str = "add") -> pl.DataFrame:
    """Return the actions of one kind that are valid at a version: live files for `add`, tombstones for `remove`."""
    is_valid = (pl.col("version") <= version) & (pl.col("until").is_null() | (pl.col("until") > version))
    return intervals.filter((pl.col("kind") == kind) & is_valid)


def flag_paths_changed_after(intervals: pl.DataFrame, version: int) -> pl.Series:
    """Return which rows have a path with an action of a version after this one."""
    changed = intervals.filter(pl.col("version") > version)["path_key"].unique()
    return intervals["path_key"].is_in(changed.implode())


def find_first_added_paths(intervals: pl.DataFrame, versions: Sequence[int]) -> pl.Series:
    """Return the keys of the paths that one of these commits adds and that no earlier action has.

    Args:
        intervals: adds and removes with validity intervals, from `build_intervals`.
        versions: versions of the commits.
    """
    written = pl.col("version").is_in(versions) & (pl.col("source") == "commit") & (pl.col("kind") == "add")
    added = intervals.filter(written).select("path_key", "version")
    if added.is_empty():
        return added["path_key"]
    seen = intervals.select("path_key", "version").join(added.select("path_key").unique(), on="path_key", how="semi")
    first = seen.group_by("path_key").agg(first=pl.col("version").min())
    return added.join(first, on="path_key").filter(pl.col("version") == pl.col("first"))["path_key"]
