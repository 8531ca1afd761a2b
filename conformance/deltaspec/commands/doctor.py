"""`deltaspec doctor`."""

import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

import click

from deltaspec import __version__
from deltaspec.commands.options import COLOR
from deltaspec.commands.printing import build_console, encode_json, print_bytes
from deltaspec.commands.run_output import format_option
from deltaspec.commands.startup import choose_allocator
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import translate_write_errors


@click.command()
@click.argument("table", required=False)
@click.option(
    "--spark",
    is_flag=False,
    flag_value="",
    metavar="[=MASTER]",
    help="Also start Spark and check its Java, its jars and its executors.",
)
@format_option("text", "json")
@COLOR
def doctor(table: str | None, spark: str | None, output_format: str, color: str) -> None:
    """Check what is installed and what is missing, and say how to fix it.

    With a TABLE, also check that it can be read. With --spark, first check that a run on Spark can start: Java,
    pyspark, a session, deltaspec and its packages on the executors, and how the executors read the TABLE.

    Exits with 2 if any check finds a problem.
    """
    choose_allocator()
    from deltaspec.report.diagnosis import DOCTOR_VERSION, Diagnosis, write_check

    table, master = _split_table_and_master(table, spark)
    console = build_console(sys.stdout, color)
    found = []
    for check in _run_checks(table, master):
        found.append(check)
        if output_format == "text":
            with translate_write_errors("stdout"):
                write_check(check, console)
    if output_format == "json":
        print_bytes(encode_json(Diagnosis(doctor_version=DOCTOR_VERSION, deltaspec=__version__, checks=found)))
    sys.exit(ExitCode.USAGE if any(each.status == "problem" for each in found) else ExitCode.OK)


def _split_table_and_master(table: str | None, spark: str | None) -> tuple[str | None, str | None]:
    """Return the table and the master: None without --spark, empty for the configured master.

    In `--spark TABLE` the option's value is the table, because no Spark master looks like a path.
    """
    from deltaspec.validation.backend_choice import check_master, is_master

    if spark and not is_master(spark):
        if table is None:
            return spark, ""
        check_master(spark)
    return table, spark


def _run_checks(table: str | None, master: str | None) -> Iterator[Any]:
    from deltaspec.installation_checks import check_installation

    if master is None:
        yield from check_installation(table)
        return
    from deltaspec.report.diagnosis import name_fixes_once
    from deltaspec.validation.spark.probe import check_spark

    yield from name_fixes_once(chain(check_spark(master or None, table), check_installation()))
