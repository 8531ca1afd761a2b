"""Rules over the checkpoint hint. Source: chapter Last Checkpoint File. A stale hint is no fault: it is a hint."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import last_checkpoint


@rule(
    "LCP001",
    requires=("last-checkpoint.form", "last-checkpoint.optional-fields", "last-checkpoint.tags"),
    view=last_checkpoint,
)
def malformed_hint() -> pl.Expr:
    """The checkpoint hint is not a JSON object with a version and a size.

    Readers fail on it, or list the whole log.
    Fix: delete `_last_checkpoint`; the next checkpoint writes it anew.

    Conforms::
        schema_error: null
    Violates::
        schema_error: "size missing"
    """
    return pl.col("schema_error").is_not_null()


@rule("LCP002", requires="last-checkpoint.no-repeated-keys", view=last_checkpoint)
def repeated_key_in_hint() -> pl.Expr:
    """The checkpoint hint has the same key twice in one object.

    The text calls such a file invalid: its checksum is not defined.
    Fix: delete `_last_checkpoint`; the next checkpoint writes it anew.

    Conforms::
        repeated_key: null
    Violates::
        repeated_key: "/version"
    """
    return pl.col("repeated_key").is_not_null()


@rule(
    "LCP003",
    requires=(
        "last-checkpoint.checksum",
        "last-checkpoint.digest",
        "last-checkpoint.canonical-leaves",
        "last-checkpoint.canonical-paths",
        "last-checkpoint.canonical-order",
        "last-checkpoint.percent-encoding",
        "last-checkpoint.canonical-sample",
    ),
    view=last_checkpoint,
)
def hint_checksum_differs() -> pl.Expr:
    """The checksum of the checkpoint hint is not that of its other fields.

    The hint was damaged or edited; readers that check it list the whole log. (The order of pairs that Delta Spark
    uses is accepted too, S18.)
    Fix: delete `_last_checkpoint`; the next checkpoint writes it anew.

    Conforms::
        checksum: matches
        checksum: "matches pair order"
        checksum: null
    Violates::
        checksum: differs
    """
    return pl.col("checksum") == "differs"


@rule("LCP004", requires="last-checkpoint.version", view=last_checkpoint)
def hint_beyond_checkpoints() -> pl.Expr:
    """The checkpoint hint names a later version than that of any complete checkpoint.

    Readers that trust it look for files that do not exist.
    Fix: delete `_last_checkpoint`; the next checkpoint writes it anew.

    Conforms::
        version: 10, newest_checkpoint: 20
        version: 20, newest_checkpoint: 20
    Violates::
        version: 20, newest_checkpoint: 10
        version: 20, newest_checkpoint: null
    """
    return pl.col("version") > pl.col("newest_checkpoint").fill_null(-1)


@rule("LCP005", requires=("last-checkpoint.version", "last-checkpoint.parts"), view=last_checkpoint)
def hint_parts_differ() -> pl.Expr:
    """The part count of the checkpoint hint is that of no complete checkpoint of its version.

    Readers that build part names from it look for files that do not exist.
    Fix: delete `_last_checkpoint`; the next checkpoint writes it anew.

    Conforms::
        parts: 2, listed_part_counts: [2], checkpoint_listed: true
        parts: null, listed_part_counts: [0], checkpoint_listed: true
        parts: 2, listed_part_counts: [], checkpoint_listed: false
    Violates::
        parts: 2, listed_part_counts: [3], checkpoint_listed: true
        parts: null, listed_part_counts: [2], checkpoint_listed: true
    """
    claimed = pl.col("parts").fill_null(0)
    one_file = (claimed == 1) & pl.col("listed_part_counts").list.contains(0)
    return pl.col("checkpoint_listed") & ~pl.col("listed_part_counts").list.contains(claimed) & ~one_file


@rule("LCP006", requires="last-checkpoint.size", view=last_checkpoint, divergence="S16")
def hint_size_differs() -> pl.Expr:
    """The size in the checkpoint hint is the number of actions of no checkpoint of its version.

    Whether actions in sidecars count is not said, so each way of counting is accepted. Readers plan memory by it.
    Fix: none is needed; the next checkpoint writes it anew.

    Conforms::
        size: 12, actual_sizes: [2, 12]
        size: 12, actual_sizes: null
        size: 12, actual_sizes: []
    Violates::
        size: 13, actual_sizes: [2, 12]
    """
    counted = pl.col("actual_sizes")
    claimed = pl.col("size")
    return claimed.is_not_null() & (counted.list.len() > 0) & ~counted.list.contains(claimed)


@rule("LCP007", requires="last-checkpoint.size-in-bytes", view=last_checkpoint, divergence="S16")
def hint_bytes_differ() -> pl.Expr:
    """The byte size in the checkpoint hint is that of no checkpoint of its version.

    The checkpoint was replaced or cut after the hint was written. Two writers may make one checkpoint of a version, and
    whether sidecars count is not said, so this is noted and not judged.
    Fix: none is needed if the checkpoint reads well; the next one writes the hint anew.

    Conforms::
        size_in_bytes: 900, actual_sizes_in_bytes: [900, 1800]
        size_in_bytes: null, actual_sizes_in_bytes: [900]
    Violates::
        size_in_bytes: 901, actual_sizes_in_bytes: [900, 1800]
    """
    counted = pl.col("actual_sizes_in_bytes")
    claimed = pl.col("size_in_bytes")
    return claimed.is_not_null() & (counted.list.len() > 0) & ~counted.list.contains(claimed)


@rule("LCP008", requires="last-checkpoint.add-files", view=last_checkpoint, divergence="S16")
def hint_add_files_differ() -> pl.Expr:
    """The number of add actions in the checkpoint hint is that of no checkpoint of its version.

    The checkpoint was replaced after the hint was written, or the writer counts wrongly. Two writers may make one
    checkpoint of a version, and whether sidecars count is not said, so this is noted and not judged.
    Fix: none is needed if the checkpoint reads well; the next one writes the hint anew.

    Conforms::
        num_of_add_files: 10, actual_add_file_counts: [10]
        num_of_add_files: null, actual_add_file_counts: [10]
    Violates::
        num_of_add_files: 11, actual_add_file_counts: [10]
    """
    counted = pl.col("actual_add_file_counts")
    claimed = pl.col("num_of_add_files")
    return claimed.is_not_null() & (counted.list.len() > 0) & ~counted.list.contains(claimed)


@rule("LCP009", requires="last-checkpoint.checksum", view=last_checkpoint)
def hint_without_checksum() -> pl.Expr:
    """The checkpoint hint was written over an older one and has no checksum.

    Readers cannot tell a hint that was damaged, or mixed of two writes, from a sound one. (That an older hint was
    overwritten shows where an older checkpoint is still there.)
    Fix: none is needed; the writer should put the checksum in the next one.

    Conforms::
        has_checksum: true, checkpoint_listed: true, older_checkpoint_listed: true
        has_checksum: false, checkpoint_listed: true, older_checkpoint_listed: false
        has_checksum: false, checkpoint_listed: false, older_checkpoint_listed: true
    Violates::
        has_checksum: false, checkpoint_listed: true, older_checkpoint_listed: true
    """
    return ~pl.col("has_checksum") & pl.col("checkpoint_listed") & pl.col("older_checkpoint_listed")


@rule("LCP010", requires="last-checkpoint.canonical-order", view=last_checkpoint, divergence="S18")
def hint_checksum_uses_pair_order() -> pl.Expr:
    """The checksum of the checkpoint hint is right only if whole pairs are sorted, and not their paths.

    The text sorts paths, Delta Spark pairs; the two part where an array has more than ten elements. Readers that go by
    the text take the hint for damaged and list the whole log.
    Fix: none is needed; the hint is sound.

    Conforms::
        checksum: matches
        checksum: differs
        checksum: null
    Violates::
        checksum: "matches pair order"
    """
    return pl.col("checksum") == "matches pair order"
