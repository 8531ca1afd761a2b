"""Fills `file_history`: file actions beside the others of their path. Paths with one action need no row."""

from collections.abc import Sequence

import polars as pl

from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.file_replay import build_intervals, has_shared_path
from deltaspec.views.table.enablement import EnablementHistory

_ROW_IDS = ("base_row_id", "default_row_commit_version")
_GROUP = ("_group", "version", "path_key")


def build_commit_file_history(
    chain: pl.DataFrame,
    cdcs: pl.DataFrame,
    row_tracking: EnablementHistory,
    find_table_replacements: Sequence[int] = (),
) -> pl.DataFrame:
    """Rows of `file_history` for a base checkpoint and the commits after it.

    Args:
        chain: rows of `file_replay.REPLAY_COLUMNS`, `until` included or not.
        cdcs: the same columns for cdc actions.
        row_tracking: from which version on row tracking was supported, and from which on suspended.
        find_table_replacements: versions that make another table, by its id.
    """
    rows = pl.concat([chain.drop("until", strict=False), cdcs])
    rows = rows.filter(has_shared_path(rows)).sort("version", "file", "line")
    if rows.is_empty():
        return file_history.frame([])
    return _with_live_vector(
        _with_tags_before(_with_row_ids_before(_counted(rows), row_tracking, find_table_replacements))
    )


def build_derived_file_history(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of `file_history` for the rows of one checkpoint or compaction that is compared with replay."""
    rows = rows.filter(has_shared_path(rows))
    if rows.is_empty():
        return file_history.frame([])
    blank = {f"{name}_before": pl.lit(None, pl.Int64) for name in _ROW_IDS} | {"had_tags": pl.lit(None, pl.Boolean)}
    return _shaped(_counted(rows).with_columns(unremoved_live_vector=pl.lit(None, pl.String), **blank))


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
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
    spelling = pl.col("path").sort().first().over("path_key")
    last_spelling = pl.col("path").sort().last().over("path_key")
    return (
        rows.join(others, on=[*file, "kind"], how="left")
        .with_columns(
            same_path_same_kind=pl.len().over(*_GROUP, "kind").cast(pl.Int64),
            same_file_same_kind=pl.len().over(*file, "kind").cast(pl.Int64),
            same_file_other_kind=pl.col("_others").fill_null(0).cast(pl.Int64),
            other_path_encoding=pl.when(pl.col("path") != spelling)
            .then(spelling)
            .when(pl.col("path") != last_spelling)
            .then(last_spelling),
        )
        .drop("_others")
    )


def _with_row_ids_before(
    rows: pl.DataFrame, row_tracking: EnablementHistory, find_table_replacements: Sequence[int]
) -> pl.DataFrame:
    """For an action of a commit that has to keep row ids: those of the last add of its path in an earlier version."""
    assigns: pl.Expr = pl.lit(False)
    for version, supported, suspended in row_tracking:
        assigns = pl.when(pl.col("version") >= version).then(pl.lit(supported and not suspended)).otherwise(assigns)
    is_new = (pl.col("kind") == "add") & pl.col("version").is_in(list(find_table_replacements))
    asked = assigns & (pl.col("kind") != "cdc") & (pl.col("source") == "commit") & ~is_new
    adds = rows.filter(pl.col("kind") == "add").select(
        "path_key", _added=pl.col("version"), **{f"{name}_before": pl.col(name) for name in _ROW_IDS}
    )
    last = adds.unique(subset=["path_key", "_added"], keep="last", maintain_order=True).sort("_added")
    found = rows.sort("version").join_asof(
        last,
        left_on="version",
        right_on="_added",
        by="path_key",
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    return found.with_columns(
        pl.when(asked).then(pl.col(f"{name}_before")).alias(f"{name}_before") for name in _ROW_IDS
    ).drop("_added")


def _with_tags_before(rows: pl.DataFrame) -> pl.DataFrame:
    """For a remove of a commit: whether the last add of its logical file in an earlier version has tags."""
    asked = (pl.col("kind") == "remove") & (pl.col("source") == "commit")
    if not rows.select((asked & pl.col("extended_file_metadata")).any()).item():
        return rows.with_columns(had_tags=pl.lit(None, pl.Boolean))
    adds = rows.filter(pl.col("kind") == "add").select(
        "path_key", "_vector", _added=pl.col("version"), had_tags=pl.col("has_tags")
    )
    last = adds.unique(["path_key", "_vector", "_added"], keep="last", maintain_order=True).sort("_added")
    found = rows.sort("version").join_asof(
        last,
        left_on="version",
        right_on="_added",
        by=["path_key", "_vector"],
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    return found.with_columns(had_tags=pl.when(asked).then(pl.col("had_tags"))).drop("_added")


def _with_live_vector(rows: pl.DataFrame) -> pl.DataFrame:
    """For an add of a commit: another vector under which its path is live just before and that the commit keeps."""
    files = rows.filter(pl.col("kind") != "cdc")
    adds = files.filter(pl.col("kind") == "add")
    before = (
        _without_helpers(build_intervals(files.drop("_vector")))
        .filter(pl.col("kind") == "add")
        .select("path_key", _live_vector=pl.col("deletion_vector_id").fill_null("none"), _from=pl.col("version"))
        .unique(subset=["path_key", "_from"], keep="last", maintain_order=True)
        .sort("_from")
    )
    removed = files.filter(pl.col("kind") == "remove").select(
        "path_key", "version", _live_vector=pl.col("deletion_vector_id").fill_null("none"), _removed=pl.lit(True)
    )
    earlier_removed = files.filter(pl.col("kind") == "remove").select(
        "path_key", _live_vector=pl.col("deletion_vector_id").fill_null("none"), _removed_at=pl.col("version")
    )
    last = adds.sort("version").join_asof(
        before,
        left_on="version",
        right_on="_from",
        by="path_key",
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    last = last.join(removed.unique(), on=["path_key", "version", "_live_vector"], how="left")
    last = last.sort("version").join_asof(
        earlier_removed.sort("_removed_at"),
        left_on="version",
        right_on="_removed_at",
        by=["path_key", "_live_vector"],
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    still_live = pl.col("_removed_at").is_null() | (pl.col("_removed_at") <= pl.col("_from"))
    own = pl.when(pl.col("_vector") == "").then(pl.lit("none")).otherwise(pl.col("_vector"))
    unremoved = still_live & pl.col("_removed").is_null() & (pl.col("_live_vector") != own)
    last = last.with_columns(unremoved_live_vector=pl.when(unremoved).then(pl.col("_live_vector")))
    others = rows.filter(pl.col("kind") != "add").with_columns(unremoved_live_vector=pl.lit(None, pl.String))
    return _shaped(pl.concat([last.select(others.columns), others]))


def _without_helpers(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop([name for name in frame.columns if name.startswith("_")])


def _shaped(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(list(file_history.columns)).sort("version", "file", "line")
