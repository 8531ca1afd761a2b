"""Compare the commits up to the base with the base: it contains the last action of every logical file and key.

Their start state is unknown, so they are not replayed, and only files and keys that they mention are compared.
"""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from deltaspec.protocol.revisions import Revision
from deltaspec.validation.aggregates import TableActionKey
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.file_history_rows import build_commit_file_history
from deltaspec.views.files.file_replay import COMPARISON_ONLY_COLUMNS, REPLAY_COLUMNS, build_intervals
from deltaspec.views.log.checkpoints import replay_differences
from deltaspec.views.log.replay_differences import (
    DerivedFile,
    collect_last_actions,
    compare_files,
    compare_table_actions,
)
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_LOGICAL_FILE = ("path_key", "_vector")


def check_earlier_files(
    facts: LogFacts, findings: Findings, earlier: pl.DataFrame, cdcs: pl.DataFrame, chain: pl.DataFrame
) -> pl.Series:
    """Check the file actions of the earlier commits in a bucket, and compare them with the file actions of the base.

    Replay from a wrong base is wrong for the same files.

    Args:
        facts: of the log.
        findings: receives what is found.
        earlier: adds and removes of the earlier commits, with `REPLAY_COLUMNS`.
        cdcs: their cdc actions.
        chain: adds and removes of the base and of later commits.

    Returns:
        The path keys of the files whose state in the base is wrong.
    """
    none = pl.Series("path_key", [], earlier.schema["path_key"])
    if earlier.is_empty():
        return none
    if findings.has_rules_for(file_history):
        findings.evaluate(file_history, build_commit_file_history(earlier, cdcs, []))
    base, known = facts.plan.base, earlier.filter(pl.col("version") >= facts.earlier_known_from)
    if base is None or not facts.base_is_complete or known.is_empty():
        return none
    revision = facts.options.revision
    last = build_intervals(known, revision).filter(pl.col("until").is_null()).drop("until")
    _, context = facts.compared_states[base.version]
    stated = _select_same_files(chain.filter(pl.col("source") != "commit").select(list(REPLAY_COLUMNS)), last, revision)
    if not facts.compares_files:  # level `rows` keeps some of these columns of the base alone
        stated = stated.with_columns(pl.lit(None, REPLAY_COLUMNS[name]).alias(name) for name in COMPARISON_ONLY_COLUMNS)
    differences = compare_files(
        DerivedFile("checkpoint", f"{LOG_DIRECTORY}/{base.files[0]}", base.version),
        stated,
        last,
        context.partition_columns,
        tombstones_complete=False,
        revision=revision,
        columns=context.leaf_columns or (),
    )
    wrong: set[str] = set()
    for batch in differences:
        findings.evaluate_rows(replay_differences, batch)
        wrong |= {row["path"] for row in batch if row["kind"] == "add" or row["difference"] == "differs"}
    if not wrong:
        return none
    both = pl.concat([each.select("path", "path_key") for each in (stated, last)])
    is_wrong = pl.coalesce("path", "path_key").is_in(list(wrong)) | pl.col("path_key").is_in(list(wrong))
    return both.filter(is_wrong)["path_key"].unique()


def _select_same_files(rows: pl.DataFrame, last: pl.DataFrame, revision: Revision) -> pl.DataFrame:
    """Return the rows of logical files that have a last action, and adds of paths whose last add is known."""
    rows = rows.join(last.select("path_key").unique(), on="path_key", how="semi")
    rows, last = (each.with_columns(_vector=pl.col("deletion_vector_id").fill_null("")) for each in (rows, last))
    is_known = pl.struct(_LOGICAL_FILE).is_in(last.select(pl.struct(_LOGICAL_FILE)).to_series().implode())
    if revision is Revision.CURRENT:  # [Changed in current] an add is identified by its path alone
        added = last.filter(pl.col("kind") == "add")["path_key"]
        is_known |= (pl.col("kind") == "add") & pl.col("path_key").is_in(added.implode())
    return rows.filter(is_known).drop("_vector")


def check_earlier_table_actions(facts: LogFacts, findings: Findings, read: ParsedCheckpoint) -> set[TableActionKey]:
    """Compare the table actions of the earlier commits with the table actions of the base, which has been read.

    Return the actions that are wrong in the base.
    """
    known = [action for version, action in facts.earlier_table_actions if version >= facts.earlier_known_from]
    if not known or not read.is_complete:
        return set()
    file = f"{LOG_DIRECTORY}/{read.checkpoint.files[0]}"
    if read.undecoded_kinds:
        findings.mark_undecided((replay_differences,), "an action of the checkpoint cannot be decoded", file)
        return set()
    stated, expected = collect_last_actions(facts.base_actions), collect_last_actions(known)
    replayed, _ = facts.compared_states[read.checkpoint.version]
    transactions, domains = expected.transactions or {}, expected.domains or {}
    expected = replace(
        expected,
        domains={name: each for name, each in domains.items() if not each.removed},
        row_id_high_water_marks=expected.row_id_high_water_marks or None,
        transactions_may_expire=replayed.transactions_may_expire,
    )
    stated = replace(
        stated,
        transactions={name: each for name, each in (stated.transactions or {}).items() if name in transactions},
        domains={name: each for name, each in (stated.domains or {}).items() if name in domains and not each.removed},
    )
    derived_file = DerivedFile("checkpoint", file, read.checkpoint.version)
    differences = compare_table_actions(derived_file, stated, expected)
    findings.evaluate_rows(replay_differences, differences)
    return {(row["kind"], row["path"]) for row in differences if not row["may_have_expired"]}
