"""Draw corpora of tables to read: the same seed gives the same tables in every program.

What "the same" means for one seed, index and release of the kit:

| part | same for |
|-|-|
| choices, history, dimensions, expected rows, ids and changes | every platform, Python, library |
| log lines, apart from sizes of Parquet files (also in sidecars, checksums and hints) | as above |
| bytes of Parquet files, and so their sizes in the log | one release of pyarrow, which writes its name into each file |
| absolute paths | one directory, because they contain its URI |
"""

from collections.abc import Collection, Iterator
from functools import partial

from deltaspec_generators.choices import Choices, SeededChoices
from deltaspec_generators.tables.dimensions import observe
from deltaspec_generators.tables.history import GeneratedTable, draw_generated_table
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.table_specs import ALL_FEATURES, EXTRAS, TableOptions
from deltaspec_generators.values.arrow_values import PRIMITIVES

GENERATOR_VERSION = 2
"""Increases when a seed gives other tables than before; ids of drawn golden cases name it."""
_RARE_FEATURES = ("typeWidening", "variantType")
"""Features that many engines do not support; a small share of the tables has them."""


def draw_table(choices: Choices, options: TableOptions | None = None) -> ReadableTable:
    """Draw a table to read, with the expected result of reading each of its versions.

    Args:
        choices: source of choices.
        options: options of drawn tables; None draws them too, so that a corpus has tables of very different kinds.
    """
    if options is None:
        with choices.span():
            options = draw_options(choices)
    drawn = draw_generated_table(choices, options)
    return build_readable_table(drawn, tuple(choices.sequence))


def draw_options(choices: Choices, features: Collection[str] = ALL_FEATURES) -> TableOptions:
    """Draw the options of a table. Each table leaves out many features and types, so that rare ones occur together.

    Args:
        choices: source of choices.
        features: features that tables may use, a subset of `ALL_FEATURES`.
    """
    allowed = [name for name in ALL_FEATURES if name in features]
    common = [name for name in allowed if name not in _RARE_FEATURES]
    used = choices.sample(common, 0, len(common))
    used += [name for name in _RARE_FEATURES if choices.chance(1, 8) and name in allowed]
    focus, required, extras, nesting = choices.pick([each for each in _FOCUSES if {*each[1]} <= {*allowed}])
    names = choices.sample(PRIMITIVES, 3, len(PRIMITIVES))
    names += ["variant"] * 3 if "variantType" in used else []
    names += ["void"] if choices.chance(1, 12) else []
    return TableOptions(
        max_commits=choices.pick((5, 2, 7, 10) if focus != "schema" else (8, 12)),
        features=tuple(used),
        required=required,
        extras=tuple(dict.fromkeys((*choices.sample(EXTRAS, 0, len(EXTRAS)), *extras))),
        focus=focus,
        names=tuple(names),
        depth=choices.pick((1, 0, 2, 3)) if nesting == 1 else choices.pick((2, 3)),
        nesting=nesting,
        max_rows=choices.pick((5, 8, 12, 25)),
        max_columns=choices.pick((3, 2, 5, 8)),
        times=("micros", "int96") if choices.chance(1, 6) else ("micros",),
        rare_encodings=choices.chance(1, 12),
        endings=True,
    )


_FOCUSES: tuple[tuple[str, tuple[str, ...], tuple[str, ...], int], ...] = (
    ("", (), (), 1),
    ("", (), (), 3),
    ("row", (), (), 1),
    ("row", ("deletionVectors",), (), 1),
    ("replacing", ("deletionVectors",), ("rows",), 1),
    ("row", ("changeDataFeed",), (), 1),
    ("schema", ("columnMapping",), ("nested",), 3),
    ("schema", ("columnMapping", "typeWidening"), ("nested",), 3),
    ("schema", ("changeDataFeed",), ("nested",), 1),
    ("table", ("domainMetadata",), ("properties", "layout"), 1),
    ("", ("v2Checkpoint",), ("layout",), 1),
    ("replacing", ("rowTracking",), ("rows",), 1),
)
"""Operations drawn more often, required features and extras, weight of nested types."""


def read_corpus(seed: int, count: int) -> Iterator[ReadableTable]:
    """Yield the tables of a seed. Table `index` depends only on seed and index."""
    for index in range(count):
        yield draw_table(SeededChoices(seed, index))


def build_readable_table(drawn: GeneratedTable, choices: tuple[int, ...] = ()) -> ReadableTable:
    """Build the expected results of a generated table; `choices` produced it."""
    versions = [each for each in drawn.versions if each.version in drawn.files.commits]  # others are cleaned up
    return ReadableTable(drawn.files, tuple(versions), tuple(drawn.history), choices, partial(observe, drawn))
