"""Rules over the `_last_checkpoint` file. Source: chapter Last Checkpoint File. An outdated file is not an error."""

import polars as pl

from deltaspec.rules.fixes import (
    DELETE_HINT,
    DELETE_HINT_IF_NO_CHECKPOINT_WAS_LOST,
    DELETE_HINT_IF_READERS_FAIL,
    KEEP_HINT,
)
from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import last_checkpoint


@rule(
    "LCP001",
    requires=("last-checkpoint.form", "last-checkpoint.optional-fields", "last-checkpoint.tags"),
    view=last_checkpoint,
    fix=DELETE_HINT,
)
def malformed_hint() -> pl.Expr:
    """The `_last_checkpoint` file is not a JSON object with a version and a size.

    Readers fail on it, or list the complete log.

    Conforms::
        schema_error: null
    Violates::
        schema_error: "size missing"
    """
    return pl.col("schema_error").is_not_null()


@rule("LCP002", requires="last-checkpoint.no-repeated-keys", view=last_checkpoint, fix=DELETE_HINT)
def repeated_key_in_hint() -> pl.Expr:
    """The `_last_checkpoint` file has the same key twice in one object.

    The protocol calls such a file invalid, because its checksum is undefined.

    Conforms::
        repeated_key: null
    Violates::
        repeated_key: "/version"
    """
    return pl.col("repeated_key").is_not_null()


@rule(
    "LCP003",
    requires=(
        "last-checkpoint.digest",
        "last-checkpoint.checksum",
        "last-checkpoint.canonical-leaves",
        "last-checkpoint.canonical-paths",
        "last-checkpoint.canonical-order",
        "last-checkpoint.percent-encoding",
        "last-checkpoint.canonical-sample",
    ),
    view=last_checkpoint,
    fix=DELETE_HINT,
)
def hint_checksum_differs() -> pl.Expr:
    """The checksum in the `_last_checkpoint` file does not match its other fields.

    The file was damaged or edited. Readers that check it list the complete log. (The pair order of Delta Spark is
    accepted, S18.)

    Conforms::
        checksum: matches
        checksum: "matches pair order"
        checksum: null
    Violates::
        checksum: differs
    """
    return pl.col("checksum") == "differs"


@rule("LCP004", requires="last-checkpoint.version", view=last_checkpoint, fix=DELETE_HINT_IF_NO_CHECKPOINT_WAS_LOST)
def hint_beyond_checkpoints() -> pl.Expr:
    """The `_last_checkpoint` file names a later version than any complete checkpoint.

    Readers that trust it look for files that do not exist.

    Conforms::
        version: 10, newest_checkpoint: 20
        version: 20, newest_checkpoint: 20
    Violates::
        version: 20, newest_checkpoint: 10
        version: 20, newest_checkpoint: null
    """
    return pl.col("version") > pl.col("newest_checkpoint").fill_null(-1)


@rule("LCP005", requires=("last-checkpoint.version", "last-checkpoint.parts"), view=last_checkpoint, fix=DELETE_HINT)
def hint_parts_differ() -> pl.Expr:
    """The number of parts in the `_last_checkpoint` file matches no complete checkpoint of its version.

    Readers that build part names from it look for files that do not exist.

    Conforms::
        parts: 2, listed_part_counts: [2], checkpoint_listed: true
        parts: null, listed_part_counts: [0], checkpoint_listed: true
        parts: 1, listed_part_counts: [0], checkpoint_listed: true
        parts: 2, listed_part_counts: [], checkpoint_listed: false
    Violates::
        parts: 2, listed_part_counts: [3], checkpoint_listed: true
        parts: null, listed_part_counts: [2], checkpoint_listed: true
        parts: 0, listed_part_counts: [0], checkpoint_listed: true
    """
    listed = pl.col("listed_part_counts")
    matches = listed.list.contains(pl.col("parts").fill_null(0)) & (pl.col("parts") != 0).fill_null(True)
    return pl.col("checkpoint_listed") & ~matches & ~_states_one_part()


def _states_one_part() -> pl.Expr:
    return ((pl.col("parts") == 1) & pl.col("listed_part_counts").list.contains(0)).fill_null(False)


@rule(
    "LCP011", requires="last-checkpoint.parts", view=last_checkpoint, divergence="S27", fix=DELETE_HINT_IF_READERS_FAIL
)
def hint_states_one_part() -> pl.Expr:
    """The `_last_checkpoint` file states one part, but the checkpoint is a single file without parts.

    Only checkpoints of two or more files have parts. Readers that build part names from the number look for a file that
    does not exist; others ignore the number.

    Conforms::
        parts: null, listed_part_counts: [0], checkpoint_listed: true
        parts: 2, listed_part_counts: [0], checkpoint_listed: true
        parts: 1, listed_part_counts: [], checkpoint_listed: false
    Violates::
        parts: 1, listed_part_counts: [0], checkpoint_listed: true
    """
    return pl.col("checkpoint_listed") & _states_one_part()


@rule("LCP006", requires="last-checkpoint.size", view=last_checkpoint, divergence="S16")
def hint_size_differs() -> pl.Expr:
    """The size in the `_last_checkpoint` file matches the number of actions of no checkpoint with sidecars of its version.

    Readers plan memory with it. The protocol does not say whether actions in sidecars count, so every way of counting
    is accepted.
    Fix (none): No repair is needed; the next checkpoint writes the file again.

    Conforms::
        size: 12, has_sidecars: true, actual_sizes: [2, 12]
        size: 12, has_sidecars: true, actual_sizes: null
        size: 12, has_sidecars: false, actual_sizes: []
        size: 13, has_sidecars: false, actual_sizes: [12]
    Violates::
        size: 13, has_sidecars: true, actual_sizes: [2, 12]
    """
    return pl.col("has_sidecars") & _size_differs()


def _size_differs() -> pl.Expr:
    actual = pl.col("actual_sizes")
    stated = pl.col("size")
    return stated.is_not_null() & (actual.list.len() > 0) & ~actual.list.contains(stated)


@rule("LCP013", requires="last-checkpoint.size", view=last_checkpoint, fix=DELETE_HINT)
def hint_size_wrong() -> pl.Expr:
    """The size in the `_last_checkpoint` file is not the number of actions of any checkpoint of its version.

    No checkpoint of the version has sidecars, so there is one way to count its actions. Writers that state bytes, or
    only the number of files, make readers plan too much or too little memory.

    Conforms::
        size: 12, has_sidecars: false, actual_sizes: [12]
        size: 12, has_sidecars: false, actual_sizes: null
        size: 13, has_sidecars: true, actual_sizes: [2, 12]
    Violates::
        size: 13, has_sidecars: false, actual_sizes: [12]
    """
    return ~pl.col("has_sidecars") & _size_differs()


@rule(
    "LCP014", requires="last-checkpoint.form", view=last_checkpoint, divergence="S72", fix=DELETE_HINT_IF_READERS_FAIL
)
def hint_is_empty() -> pl.Expr:
    """The `_last_checkpoint` file is empty.

    The protocol does not say what an empty file means. Engines ignore it, read it again several times, or fail; those
    that ignore it list the complete log. Stores without atomic writes leave such files after an interrupted write.

    Conforms::
        is_empty: null
    Violates::
        is_empty: true
    """
    return pl.col("is_empty")


@rule("LCP007", requires="last-checkpoint.size-in-bytes", view=last_checkpoint, divergence="S16", fix=KEEP_HINT)
def hint_bytes_differ() -> pl.Expr:
    """The byte size in the `_last_checkpoint` file matches no checkpoint of its version.

    The checkpoint was replaced or truncated after the file was written. Two writers may write the same checkpoint, and
    the protocol does not say whether sidecars count, so this is not a violation.

    Conforms::
        size_in_bytes: 900, actual_sizes_in_bytes: [900, 1800]
        size_in_bytes: null, actual_sizes_in_bytes: [900]
    Violates::
        size_in_bytes: 901, actual_sizes_in_bytes: [900, 1800]
    """
    actual = pl.col("actual_sizes_in_bytes")
    stated = pl.col("size_in_bytes")
    return stated.is_not_null() & (actual.list.len() > 0) & ~actual.list.contains(stated)


@rule("LCP008", requires="last-checkpoint.add-files", view=last_checkpoint, divergence="S16", fix=KEEP_HINT)
def hint_add_files_differ() -> pl.Expr:
    """The number of add actions in the `_last_checkpoint` file matches no checkpoint of its version.

    The checkpoint was replaced after the file was written, or the writer counts wrongly. Two writers may write the same
    checkpoint, and the protocol does not say whether sidecars count, so this is not a violation.

    Conforms::
        num_of_add_files: 10, actual_add_file_counts: [10]
        num_of_add_files: null, actual_add_file_counts: [10]
    Violates::
        num_of_add_files: 11, actual_add_file_counts: [10]
    """
    actual = pl.col("actual_add_file_counts")
    stated = pl.col("num_of_add_files")
    return stated.is_not_null() & (actual.list.len() > 0) & ~actual.list.contains(stated)


@rule(
    "LCP012", requires="last-checkpoint.schema", view=last_checkpoint, divergence="S16", fix=DELETE_HINT_IF_READERS_FAIL
)
def hint_schema_differs() -> pl.Expr:
    """The checkpointSchema in the `_last_checkpoint` file matches the columns of no checkpoint of its version.

    Readers that plan with the schema look for columns that do not exist, or ignore others. Two writers may write the
    same checkpoint, so this is not a violation.

    Conforms::
        schema_difference: null
    Violates::
        schema_difference: "add.tags is missing from the file"
    """
    return pl.col("schema_difference").is_not_null()


@rule("LCP009", requires="last-checkpoint.checksum", view=last_checkpoint)
def hint_without_checksum() -> pl.Expr:
    """The `_last_checkpoint` file replaced an older one and has no checksum.

    Readers cannot detect a file that was damaged or mixed from two writes. (The replacement is visible when an older
    checkpoint still exists.)
    Fix (none): No repair is needed. Use a writer that stores the checksum.

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
    """The checksum in the `_last_checkpoint` file matches only the pair order of Delta Spark.

    The protocol sorts paths, Delta Spark sorts complete pairs. The two differ for arrays of more than ten elements.
    Readers that follow the protocol treat the file as damaged and list the complete log.
    Fix (none): No repair is needed; the content of the file is correct.

    Conforms::
        checksum: matches
        checksum: differs
        checksum: null
    Violates::
        checksum: "matches pair order"
    """
    return pl.col("checksum") == "matches pair order"
