"""Rows of `file_history`: file actions compared with other actions of their path. Paths with one action have no row."""

from collections.abc import Mapping, Sequence

import polars as pl

from deltaspec.views.files.few_file_actions import compare_few_actions, describe_changed_value
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.file_replay import FEW_ROWS, has_shared_path
from deltaspec.views.table.enablement import EnablementHistory

_ROW_IDS = ("base_row_id", "default_row_commit_version")
_OF_REMOVED_ADD = ("had_tags", "added_size", "changed_partition_value")
_OF_EARLIER_ADD = (*(f"{name}_before" for name in _ROW_IDS), *_OF_REMOVED_ADD)
_GROUP = ("_group", "version", "path_key")


def build_commit_file_history(
    chain: pl.DataFrame,
    cdcs: pl.DataFrame,
    row_tracking: EnablementHistory,
    table_replacements: Sequence[int] = (),
    shared: pl.Series | None = None,
) -> pl.DataFrame:
    """Return the rows of `file_history` for a base checkpoint and the commits after it.

    Args:
        chain: adds and removes with the columns of `file_replay.REPLAY_COLUMNS`; `until` is optional.
        cdcs: cdc actions with the same columns.
        row_tracking: versions at which support or suspension of row tracking changed.
        table_replacements: versions that change the table id.
        shared: the result of `find_shared_paths`, if it is known.
    """
    shared = find_shared_paths(chain, cdcs) if shared is None else shared
    if not shared.any():
        return file_history.frame([])
    chain = chain.drop("until", strict=False).filter(shared.head(len(chain)))
    rows = pl.concat([chain, cdcs.filter(shared.tail(len(cdcs)))]).sort("version", "file", "line")
    if len(rows) < FEW_ROWS:
        return file_history.frame(compare_few_actions(rows.to_dicts(), row_tracking, table_replacements))
    return _with_live_vector(
        _with_removed_add(_with_row_ids_before(_with_counts(rows), row_tracking, table_replacements))
    )


def find_shared_paths(chain: pl.DataFrame, cdcs: pl.DataFrame) -> pl.Series:
    """Return for each row of `chain`, then of `cdcs`, whether it may share its path with another row of both frames."""
    return has_shared_path(pl.concat([chain[["path_key"]], cdcs[["path_key"]]]))


def build_derived_file_history(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `file_history` for one checkpoint or compaction that is compared with replay."""
    rows = rows.filter(has_shared_path(rows)).sort("version", "file", "line")
    if rows.is_empty():
        return file_history.frame([])
    if len(rows) < FEW_ROWS:
        return file_history.frame(compare_few_actions(rows.to_dicts(), [], ()))
    blank = {
        name: pl.lit(None, file_history.columns[name].dtype) for name in (*_OF_EARLIER_ADD, "unremoved_live_vector")
    }
    return _select_view_columns(_with_counts(rows).with_columns(**blank))


def _with_counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that compare an action with other actions of its path, for rows sorted by location."""
    vector = pl.col("deletion_vector_id").fill_null("")
    rows = rows.with_columns(
        _vector=vector,
        _group=pl.when(pl.col("source") == "sidecar").then(pl.lit("checkpoint")).otherwise(pl.col("source")),
        path=pl.coalesce("path", "path_key"),
    )
    file = (*_GROUP, "_vector")
    others = (
        rows.group_by(*file, "kind")
        .len("_others")
        .with_columns(
            kind=pl.when(pl.col("kind") == "add")
            .then(pl.lit("remove"))
            .when(pl.col("kind") == "remove")
            .then(pl.lit("add"))
        )
    ).filter(pl.col("kind").is_not_null())
    previous_encoding = pl.col("path").shift(1).over("path_key")
    version_before, size_before = (pl.col(name).shift(1).over("path_key", "kind") for name in ("version", "size"))
    is_added_again = (pl.col("kind") == "add") & (pl.col("source") == "commit") & (version_before < pl.col("version"))
    return (
        rows.join(others, on=[*file, "kind"], how="left")
        .with_columns(
            same_path_same_kind=_in_first_row(pl.len(), *_GROUP, "kind"),
            same_file_same_kind=_in_first_row(pl.len(), *file, "kind"),
            same_file_other_kind=_in_first_row(pl.col("_others").fill_null(0).first(), *file, "kind"),
            other_path_encoding=pl.when(pl.col("path") != previous_encoding).then(previous_encoding),
            size_before=pl.when(is_added_again).then(size_before),
        )
        .drop("_others")
    )


def _in_first_row(number: pl.Expr, *group: str) -> pl.Expr:
    """Return a number of each group in its first row, and null in the others: one defect is one finding."""
    return pl.when(pl.int_range(pl.len()).over(*group) == 0).then(number.over(*group)).cast(pl.Int64)


def _with_row_ids_before(
    rows: pl.DataFrame, row_tracking: EnablementHistory, table_replacements: Sequence[int]
) -> pl.DataFrame:
    """Add the row ids of the last add of the path in an earlier version, for commit actions that must keep them."""
    if not any(supported for _, supported, _ in row_tracking):
        return rows.with_columns(pl.lit(None, pl.Int64).alias(f"{name}_before") for name in _ROW_IDS)
    assigns: pl.Expr = pl.lit(False)
    for version, supported, suspended in row_tracking:
        assigns = pl.when(pl.col("version") >= version).then(pl.lit(supported and not suspended)).otherwise(assigns)
    is_new = (pl.col("kind") == "add") & pl.col("version").is_in(list(table_replacements))
    is_compared = assigns & (pl.col("kind") != "cdc") & (pl.col("source") == "commit") & ~is_new
    earlier = {f"{name}_before": pl.col(name) for name in _ROW_IDS}
    found = _join_earlier_adds(rows, ["path_key"], earlier)
    return found.with_columns(pl.when(is_compared).then(pl.col(name)).alias(name) for name in earlier)


def _with_removed_add(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the values of the last add of the logical file in an earlier version, for removes in commits."""
    is_compared = (pl.col("kind") == "remove") & (pl.col("source") == "commit")
    if not rows.select(is_compared.any()).item():
        return rows.with_columns(pl.lit(None, file_history.columns[name].dtype).alias(name) for name in _OF_REMOVED_ADD)
    earlier = {"had_tags": pl.col("has_tags"), "added_size": pl.col("size"), "_added_values": pl.col("partition_text")}
    found = _join_earlier_adds(rows, ["path_key", "_vector"], earlier)
    found = found.with_columns(pl.when(is_compared).then(pl.col(name)).alias(name) for name in earlier)
    return found.with_columns(_find_changed_values(found["_added_values"], found["partition_text"])).drop(
        "_added_values"
    )


def _join_earlier_adds(rows: pl.DataFrame, key: list[str], columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Add columns of the last add with the same key in an earlier version; null without one."""
    adds = rows.filter(pl.col("kind") == "add").select(*key, _added=pl.col("version"), **columns)
    last_adds = adds.unique([*key, "_added"], keep="last", maintain_order=True).sort("_added")
    found = rows.sort("version").join_asof(
        last_adds,
        left_on="version",
        right_on="_added",
        by=key,
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    return found.drop("_added")


def _find_changed_values(added: pl.Series, removed: pl.Series) -> pl.Series:
    """Return `changed_partition_value` for texts as in `partition_text`. Equal pairs are compared once."""
    pairs = pl.DataFrame([added.alias("added"), removed.alias("removed")])
    differing = pairs.filter(pl.col("added") != pl.col("removed")).unique()
    described = [describe_changed_value(*pair) for pair in differing.iter_rows()]
    found = differing.with_columns(changed_partition_value=pl.Series(described, dtype=pl.String))
    return pairs.join(found, on=["added", "removed"], how="left", maintain_order="left")["changed_partition_value"]


def _with_live_vector(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the other vector under which the path is live before the commit and which the commit does not remove.

    A remove has it only if the commit does not add the path; otherwise the add has it.
    """
    with_vector = rows.filter(pl.col("_vector") != "")["path_key"].unique()
    if with_vector.is_empty():
        return _select_view_columns(rows.with_columns(unremoved_live_vector=pl.lit(None, pl.String)))
    own = pl.when(pl.col("_vector") == "").then(pl.lit("none")).otherwise(pl.col("_vector"))
    files = rows.filter(pl.col("kind") != "cdc")
    may_miss = (pl.col("kind") == "remove") & pl.col("path_key").is_in(with_vector.implode())
    is_added = (pl.col("kind") == "add").any().over("version", "path_key")
    is_compared = (pl.col("kind") == "add") | (may_miss & (pl.col("source") == "commit") & ~is_added)
    rows = rows.with_columns(_is_compared=is_compared.fill_null(False))  # an action may have no path
    compared = rows.filter("_is_compared")
    before = (
        files.filter(pl.col("kind") == "add")
        .select("path_key", _live_vector=own, _from=pl.col("version"))
        .unique(subset=["path_key", "_from"], keep="last", maintain_order=True)
        .sort("_from")
    )
    removed = files.filter(pl.col("kind") == "remove").select(
        "path_key", "version", _live_vector=own, _removed=pl.lit(True)
    )
    earlier_removed = files.filter(pl.col("kind") == "remove").select(
        "path_key", _live_vector=own, _removed_at=pl.col("version")
    )
    compared = compared.sort("version").join_asof(
        before,
        left_on="version",
        right_on="_from",
        by="path_key",
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    compared = compared.join(removed.unique(), on=["path_key", "version", "_live_vector"], how="left")
    compared = compared.sort("version").join_asof(
        earlier_removed.sort("_removed_at"),
        left_on="version",
        right_on="_removed_at",
        by=["path_key", "_live_vector"],
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    still_live = pl.col("_removed_at").is_null() | (pl.col("_removed_at") <= pl.col("_from"))
    unremoved = still_live & pl.col("_removed").is_null() & (pl.col("_live_vector") != own)
    compared = compared.with_columns(unremoved_live_vector=pl.when(unremoved).then(pl.col("_live_vector")))
    others = rows.filter(~pl.col("_is_compared"))
    others = others.with_columns(unremoved_live_vector=pl.lit(None, pl.String))
    return _select_view_columns(pl.concat([compared.select(others.columns), others]))


def _select_view_columns(rows: pl.DataFrame) -> pl.DataFrame:
    return rows[list(file_history.columns)].sort("version", "file", "line")
