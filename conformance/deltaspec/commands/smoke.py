"""`deltaspec smoke`."""

import sys

import click

from deltaspec.commands.options import COLOR, NumberRange
from deltaspec.commands.printing import build_console
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import translate_write_errors


@click.command()
@click.argument("candidate")
@click.option(
    "--timeout-scale",
    type=NumberRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    metavar="FACTOR",
    help="Multiply all deadlines by this factor.",
)
@COLOR
def smoke(candidate: str, timeout_scale: float, color: str) -> None:
    """Check that a harness keeps the candidate protocol.

    CANDIDATE is the name of an adapter (deltalake), a command ('cmd:java -jar harness.jar') or a Python class
    (py:acme.harness:Engine). One tiny table is read; whether the engine reads other tables correctly is not checked.

    Exits with 1 if a check finds a problem, and with 3 if a check could not run.
    """
    from deltaspec.candidates.host import MEMORY_LIMIT
    from deltaspec.candidates.registry import find_launch
    from deltaspec.candidates.smoke import check_harness
    from deltaspec.report.diagnosis import Check, write_check

    launch = find_launch(candidate)
    console = build_console(sys.stdout, color)
    found = set()
    for result in check_harness(launch, timeout_scale=timeout_scale, memory_limit=MEMORY_LIMIT):
        found.add(result.status)
        if result.status == "unchecked":
            check = Check("note", result.name, f"not checked: {result.message}", result.fix)
        else:
            check = Check(result.status, result.name, result.message, result.fix)
        with translate_write_errors("stdout"):
            write_check(check, console)
    if "problem" in found:
        sys.exit(ExitCode.FAILED)
    sys.exit(ExitCode.INCOMPLETE if "unchecked" in found else ExitCode.OK)
