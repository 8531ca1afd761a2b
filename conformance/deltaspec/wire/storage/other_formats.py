"""Recognize locations that have no Delta log, and say what to do instead."""

import re
from collections.abc import Iterable
from itertools import islice

_MAX_NAMES = 2000
"""Names to look at; enough to recognize a format."""
_ONE_SLASH = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]+):/(?!/)(?P<rest>.*)", re.DOTALL)
_CATALOG_NAME = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)
_FORMATS = (
    (re.compile(r"metadata/[^/]*\.metadata\.json"), "it is an Apache Iceberg table, which deltaspec does not read"),
    (re.compile(r"\.hoodie/.*"), "it is an Apache Hudi table, which deltaspec does not read"),
    (
        re.compile(r"(?s:.*)\.parquet"),
        "it has Parquet files without a log; if they are to be a Delta table, CONVERT TO DELTA writes one",
    ),
)


def explain_missing_path(path: str) -> str | None:
    """Return what a missing path means if it is a URI or name of another system, and what to write instead."""
    if found := _ONE_SLASH.fullmatch(path):
        scheme, rest = found["scheme"].lower(), found["rest"]
        if scheme == "dbfs":
            return (
                f"DBFS exists only on Databricks: write /dbfs/{rest} there, or elsewhere the URI in object storage, "
                "which DESCRIBE DETAIL shows as location"
            )
        return f"write {scheme}://{rest}"
    if _CATALOG_NAME.fullmatch(path):
        return (
            "if it is a name in a catalog, use --backend spark, or write the location that DESCRIBE DETAIL shows; "
            "a path begins with / or ./"
        )
    return None


def recognize_format(names: Iterable[str]) -> str | None:
    """Return the format of a directory without a log, recognized by the names of its files relative to it."""
    listed = list(islice(names, _MAX_NAMES))
    for pattern, text in _FORMATS:
        if any(map(pattern.fullmatch, listed)):
            return text
    return None
