"""Path columns of `file_actions`: constants for plain paths, results of `protocol.files.paths` for all others."""

from collections.abc import Callable
from string import ascii_letters, digits
from typing import Any
from urllib.parse import unquote

import polars as pl

from deltaspec.protocol.files import paths
from deltaspec.wire import arrow_compute as pc

_UNUSUAL = r"[^A-Za-z0-9_\-./=]|^/|\.\.|//|(^|/)\.(/|$)|^$"
_USUAL_CHARACTERS = f"{ascii_letters}{digits}_-./="
FEW_PATHS = 50
"""Fewer paths are parsed faster one by one than with a query, which takes 0.1 ms for each step."""
_CLOSE_SEPARATORS = "[./][./]"
"""All paths with `..`, an empty segment or a segment `.` contain this, except `.` and those that begin with `/`."""
_PLAIN_ESCAPE = r"%(2[0-9A-Da-d]|[3-7][0-9A-Fa-f])"
"""Escaped ASCII character other than a control character, dot or slash: decoding it is unambiguous."""
_HIDDEN_DIRECTORY = r"(?:^|/)(_[^/=]*)/"


def columns(texts: Any, table_root: str | None) -> list[pl.Series]:
    """Return `path_key`, the `path_*` columns, `colon_in_first_segment` and `hidden_directory`.

    Args:
        texts: paths as the actions have them, an Arrow array or chunked array of strings; null without one.
        table_root: as for `deltaspec.protocol.files.paths.path_key`.
    """
    path, name = pc.to_series(texts), pl.col("path")
    if len(path) < FEW_PATHS:
        return _build_each(path.to_list(), table_root)
    # these conditions take half of the time of `_UNUSUAL`, and hold for few paths more, like `a./b`
    rest = pc.to_series(pc.trim_left(texts, _USUAL_CHARACTERS))
    found = pl.DataFrame([path.alias("path"), rest.alias("rest")]).select(
        is_unusual=(pl.col("rest") != "")
        | name.str.contains(_CLOSE_SEPARATORS)
        | name.str.starts_with("/")
        | name.is_in(["", "."]),
        may_be_hidden=name.str.contains("/_", literal=True) | name.str.starts_with("_"),
    )
    decoded, rows = _decode_plain_escapes(path, found["is_unusual"])
    unusual = path.gather(rows).to_list()

    def evaluate(judge: Callable[[str], Any], plain: pl.Series) -> pl.Series:
        results = pl.Series([judge(text) for text in unusual], dtype=plain.dtype)
        judged = plain.clone().scatter(rows, results) if unusual else plain
        return judged.set(path.is_null(), None) if path.null_count() else judged

    no_fault, no = (
        pl.Series([value], dtype=dtype).new_from_index(0, len(path))
        for value, dtype in ((None, pl.String), (False, pl.Boolean))
    )
    key = evaluate(lambda text: paths.path_key(text, table_root), decoded)
    is_absolute = evaluate(paths.is_absolute, no)
    may_be_hidden = found["may_be_hidden"] | found["is_unusual"]
    return [
        key.alias("path_key"),
        evaluate(paths.find_path_fault, no_fault).alias("path_fault"),
        evaluate(paths.has_non_ascii, no).alias("path_has_non_ascii"),
        evaluate(paths.escapes_table, no).alias("path_escapes_table"),
        evaluate(paths.has_colon_in_first_segment, no).alias("colon_in_first_segment"),
        is_absolute.alias("path_is_absolute"),
        _find_hidden_directories(key, may_be_hidden & ~is_absolute).alias("hidden_directory"),
    ]


def _build_each(texts: list[str | None], table_root: str | None) -> list[pl.Series]:
    """Return the same columns of few paths, which are not sorted into plain and unusual ones."""

    def evaluate(name: str, judge: Callable[[str], Any], dtype: Any) -> pl.Series:
        return pl.Series(name, [None if text is None else judge(text) for text in texts], dtype=dtype)

    return [
        evaluate("path_key", lambda text: paths.path_key(text, table_root), pl.String),
        evaluate("path_fault", paths.find_path_fault, pl.String),
        evaluate("path_has_non_ascii", paths.has_non_ascii, pl.Boolean),
        evaluate("path_escapes_table", paths.escapes_table, pl.Boolean),
        evaluate("colon_in_first_segment", paths.has_colon_in_first_segment, pl.Boolean),
        evaluate("path_is_absolute", paths.is_absolute, pl.Boolean),
        evaluate("hidden_directory", paths.find_hidden_directory, pl.String),
    ]


def _decode_plain_escapes(path: pl.Series, is_unusual: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Decode the paths in which plain escapes are all that is unusual; also return the rows of all others."""
    rows = is_unusual.arg_true()
    if not len(rows):
        return path, rows
    texts = path.gather(rows)
    is_plain = ~texts.str.replace_all(_PLAIN_ESCAPE, "").str.contains(_UNUSUAL)
    if not is_plain.any():
        return path, rows
    escaped = texts.filter(is_plain)
    escapes = escaped.str.extract_all(_PLAIN_ESCAPE).explode().drop_nulls().unique().to_list()
    if not escapes:
        return path, rows.filter(~is_plain)
    decoded = escaped.str.replace_many(escapes, [unquote(escape) for escape in escapes])
    return path.clone().scatter(rows.filter(is_plain), decoded), rows.filter(~is_plain)


def _find_hidden_directories(key: pl.Series, may_have_one: pl.Series) -> pl.Series:
    """Return the outermost hidden directory of each relative path."""
    found = pl.Series([None], dtype=pl.String).new_from_index(0, len(key))
    rows = may_have_one.arg_true()
    if not len(rows):
        return found
    return found.scatter(rows, key.gather(rows).str.strip_prefix("_change_data/").str.extract(_HIDDEN_DIRECTORY))
