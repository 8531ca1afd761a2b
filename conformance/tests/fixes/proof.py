"""Prove the commands of a fix: execute them on a table with the defect, and compare the table before and after."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from helpers.drawn_tables import draw_table
from planted_faults.caught_by import CAUGHT_BY
from spark.session import checkpoint

import deltaspec
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.serve import EngineError
from deltaspec.fix_cases import DELTA_RS, DELTA_SPARK, FixCase, fill_commands, select_case
from deltaspec.report.report_types import CATALOG, Finding, Report
from deltaspec.rules import RULES
from deltaspec.scales import Level
from deltaspec_generators.table_files import write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = {DELTA_SPARK: "delta-spark", DELTA_RS: "deltalake"}
"""Packages by engine."""
_COMMIT = re.compile(r"\d{20}")


class Subject(msgspec.Struct, frozen=True):
    """A table with a defect, and the case of the fix that applies to it."""

    rule: str
    case: int
    table: str
    """Name of a planted fault."""


class Outcome(msgspec.Struct, frozen=True):
    """What the commands of a case did to a table with the defect."""

    rule: str
    case: int
    commands: tuple[str, ...]
    """Templates of the commands, as the rule has them."""
    engine: str
    version: str
    """Version of the engine."""
    table: str
    """Name of a planted fault."""
    failure: str = ""
    """Why the commands do not prove the fix; empty if they do."""
    gone: str = ""
    """When the finding is gone: `at once`, or `in the new version` if the old commit still shows it."""
    rows: int | None = None
    """Number of rows of the repaired table, all of them as before; None if the table has no data files, so that its
    live files were compared."""
    versions: int = 0
    """Number of earlier versions that are readable and whose content is as before."""


class Content(msgspec.Struct, frozen=True):
    """Live files of a version, and its rows if all files exist; nothing if the reference reader refuses the version."""

    files: list[str] | None
    rows: list[str] | None


def iter_command_cases() -> Iterator[tuple[str, int, FixCase]]:
    """Yield the code of the rule, the index and the case of every fix with commands."""
    for code, rule in RULES.items():
        for number, case in enumerate(rule.fix_cases):
            if case.commands:
                yield code, number, case


def list_subjects(codes: Collection[str] = ()) -> list[Subject]:
    """Return the planted faults of every case with commands, except those that evidence assigns to another case.

    Args:
        codes: only these rules; empty for all.
    """
    return [
        Subject(code, number, name)
        for code, number, _ in iter_command_cases()
        if not codes or code in codes
        for name, caught_by in CAUGHT_BY.items()
        if caught_by == code and _applies(code, number, name)
    ]


def _applies(code: str, number: int, name: str) -> bool:
    """Return whether the current revision reports a planted fault, and whether the case may apply to the finding."""
    fault = PLANTED_FAULTS[name]
    files = draw_table(fault)
    with tempfile.TemporaryDirectory() as folder:
        write_table(files, Path(folder) / name)
        finding = _find(validate(Path(folder) / name, fault.level), code)
    cases = RULES[code].fix_cases
    return finding is not None and select_case(cases, finding.evidence) in (cases[number], None)


def prove(spark: SparkSession, subject: Subject, folder: Path) -> Outcome:
    """Execute the commands of a case on a table with the defect.

    Args:
        spark: a session with Delta Spark, for its commands and for checkpoints.
        subject: the table and the case.
        folder: an empty folder for the table.
    """
    path = folder / subject.table
    fault = PLANTED_FAULTS[subject.table]
    write_table(draw_table(fault), path)
    return prove_table(spark, subject, path, fault.level)


def prove_table(spark: SparkSession, subject: Subject, table: Path, level: Level) -> Outcome:
    """Execute the commands of a case on a table that exists."""
    case = RULES[subject.rule].fix_cases[subject.case]
    engine = version(_PACKAGES[case.engine])
    outcome = Outcome(subject.rule, subject.case, case.commands, case.engine, engine, subject.table)
    before = validate(table, level)
    finding = _find(before, subject.rule)
    if finding is None or before.version is None:
        return msgspec.structs.replace(outcome, failure=f"the table does not violate the rule: {before.totals}")
    left_out = finding.column if any(each.startswith("UPDATE") for each in case.commands) else None
    contents = [read_content(table, number, left_out) for number in range(before.version + 1)]
    commands = fill_commands(case, str(table), finding.evidence | {"column": finding.column})
    existing = [each for each in contents[-1].files or () if (table / each.rpartition(" ")[0]).exists()]
    execute = _execute_with_delta_rs if case.engine == DELTA_RS else partial(_execute, spark)
    failure = execute(commands) if commands else "a value cannot be in a command"
    if failure:
        return msgspec.structs.replace(outcome, failure=failure)
    after = validate(table, level)
    gone = "at once"
    if subject.rule in after.totals:
        gone, after = "in the new version", _validate_without_history(spark, table, level)
    new = _list_violated(after) - _list_violated(before) | ({subject.rule} & after.totals.keys())
    earlier = [read_content(table, number, left_out) for number in range(before.version + 1)]
    now = read_content(table, None, left_out)
    if new:
        failure = f"{', '.join(sorted(new))} found afterwards"
    elif earlier != contents:
        failure = "earlier versions have other rows than before"
    elif now.files is None:
        failure = "the reference reader refuses the new version"
    elif case.loses:
        failure = "" if now.files == existing and now.rows is not None else "rows of existing files are lost"
    elif now.rows is not None and now.rows != _find_last_rows(contents):
        failure = "the new version has other rows than before"
    elif now.rows is None and contents[-1].files not in (None, now.files):
        failure = "the new version has other files than before"
    rows = None if now.rows is None else len(now.rows)
    readable = sum(each.files is not None for each in earlier)
    return msgspec.structs.replace(outcome, failure=failure, gone=gone, rows=rows, versions=readable)


def _find_last_rows(contents: list[Content]) -> list[str] | None:
    """Return the rows of the newest version before the commands that is readable."""
    return next((each.rows for each in reversed(contents) if each.files is not None), None)


def validate(table: Path, level: Level) -> Report:
    """Validate the newest version of a table."""
    return deltaspec.validate(str(table), level=level, history="latest", accept_unchecked=[CATALOG])


def read_content(table: Path, number: int | None, left_out: str | None = None) -> Content:
    """Read a version with the reference reader.

    Args:
        table: the table.
        number: the version; None for the newest.
        left_out: column that is not compared, because it gets new values.
    """
    engine, at = Engine(), None if number is None else {"version": number}
    try:
        files = engine.snapshot(str(table), at=at, want=["files"], app_ids=[])["files"]
    except EngineError:
        return Content(None, None)
    names = sorted(f"{each['path']} {each['deletion_vector_id']}" for each in files)
    if not all((table / each["path"]).exists() for each in files):
        return Content(names, None)
    options: dict[str, Any] = dict.fromkeys(("columns", "predicate", "predicate_tree"))
    rows = engine.scan(str(table), at=at, row_ids=False, **options)["rows"]
    rows = rows.drop_columns([left_out]) if left_out in rows.column_names else rows
    return Content(names, sorted(map(repr, rows.to_pylist())))


def _find(report: Report, code: str) -> Finding | None:
    return next((each for each in report.findings if each.rule == code), None)


def _list_violated(report: Report) -> set[str]:
    return {each.rule for each in report.findings if each.severity == "violation"}


def _execute(spark: SparkSession, commands: list[str]) -> str:
    """Execute the commands; return why the engine refused one, or an empty text."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    gateway: Any = spark
    gateway._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    for command in commands:
        try:
            spark.sql(command).collect()
        except (PySparkException, Py4JError) as refusal:
            reason = re.search(r"\[[A-Z_.]{8,}\]", str(refusal))
            return f"refused: {reason[0] if reason else str(refusal).splitlines()[0]}"
    return ""


def _execute_with_delta_rs(commands: list[str]) -> str:
    """Execute expressions of Python; return why delta-rs refused one, or an empty text."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    for command in commands:
        try:
            eval(command, {"DeltaTable": DeltaTable})
        except (DeltaError, OSError) as refusal:
            return f"refused: {str(refusal).splitlines()[0]}"
    return ""


def _validate_without_history(spark: SparkSession, table: Path, level: Level) -> Report:
    """Validate a copy that starts from a checkpoint of the newest version, as after log cleanup."""
    copy = table.with_name(f"{table.name}-cleaned")
    shutil.copytree(table, copy)
    checkpoint(spark, str(copy))
    log = copy / "_delta_log"
    newest = max(each.name for each in log.glob("*.json") if _COMMIT.match(each.name))[:20]
    for file in log.iterdir():
        if _COMMIT.match(file.name) and file.name[:20] < newest:
            file.unlink()
    return validate(copy, level)
