"""`deltaspec doctor`."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from deltaspec import __version__
from deltaspec.commands.options import COLOR
from deltaspec.commands.printing import build_console, choose_allocator, encode_json, print_bytes
from deltaspec.exit_handling import translate_write_errors

PROBLEM = 2
"""Exit code where something hinders what was asked for."""


@click.command()
@click.argument("table", required=False)
@click.option(
    "--spark",
    is_flag=False,
    flag_value="",
    metavar="[=MASTER]",
    help="Start Spark as well, and look at its Java, its jars and its executors.",
)
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@COLOR
def doctor(table: str | None, spark: str | None, output_format: str, color: str) -> None:
    """Tell what is installed, what lacks, and what to do.

    With a TABLE also whether it can be reached; with --spark whether a run on Spark can begin: Java, pyspark, a
    session, deltaspec and its packages on the executors, and which way they reach the TABLE.

    Exits with 2 if anything is a problem.
    """
    choose_allocator()
    from deltaspec.report.diagnosis import DOCTOR_VERSION, Diagnosis, write_check

    table, master = _places(table, spark)
    console = build_console(sys.stdout, color)
    found = []
    for check in _checks(table, master):
        found.append(check)
        if output_format == "text":
            with translate_write_errors("stdout"):
                write_check(check, console)
    if output_format == "json":
        print_bytes(encode_json(Diagnosis(doctor_version=DOCTOR_VERSION, deltaspec=__version__, checks=found)))
    sys.exit(PROBLEM if any(each.status == "problem" for each in found) else 0)


def _places(table: str | None, spark: str | None) -> tuple[str | None, str | None]:
    """The table, and the master: None where Spark is not asked for, empty for the configured one.

    In `--spark TABLE` the value is the table's: no master of Spark looks like one.
    """
    from deltaspec.validation.engine_choice import check_master, is_master

    if spark and not is_master(spark):
        if table is None:
            return spark, ""
        check_master(spark)
    return table, spark


def _checks(table: str | None, master: str | None) -> Iterator[Any]:
    from deltaspec.installation_checks import check_installation

    if master is None:
        yield from check_installation(table)
        return
    from deltaspec.validation.spark.probe import check_spark

    yield from check_installation()
    yield from check_spark(master or None, table)
