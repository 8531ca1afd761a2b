"""The command line. It imports only what a command needs, so that `--help` is fast."""

import sys
from typing import Any

import click

from deltaspec import __version__
from deltaspec.commands.completion import complete_chapters, complete_codes, complete_names, complete_table
from deltaspec.commands.options import AT, CATALOG, COLOR, REVISIONS, parse_codes, parse_names
from deltaspec.commands.printing import (
    build_console,
    encode_json,
    print_bytes,
    print_text,
)
from deltaspec.commands.progress import show_progress
from deltaspec.commands.run_output import format_option
from deltaspec.commands.startup import choose_allocator, faster_imports, import_arrow_alone
from deltaspec.exit_codes import summarize_exit_codes
from deltaspec.exit_handling import CommandGroup, Commands
from deltaspec.output_files import translate_write_errors

_MODULES = {
    "baseline": "baseline",
    "compare": "compare",
    "discover": "discover",
    "doctor": "doctor",
    "extract": "extract",
    "faults": "faults",
    "golden": "golden",
    "known": "candidate_tests",
    "matrix": "matrix",
    "overview": "overview",
    "repair": "repair",
    "replay": "candidate_tests",
    "schema": "schema",
    "selftest": "selftest",
    "smoke": "smoke",
    "test": "candidate_tests",
    "validate": "validate",
}
"""Command to the module of `deltaspec.commands` that defines it."""


@click.group(
    cls=CommandGroup,
    epilog=f"Exit codes: {summarize_exit_codes()}.",
    commands=Commands(_MODULES),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="deltaspec")
def main() -> None:
    """Conformance and validation for the Delta transaction-log protocol."""
    from deltaspec.report.text import UNENCODABLE

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=UNENCODABLE)


@main.command()
@click.argument("name", metavar="CODE|REQUIREMENT|CHAPTER|NOTE", shell_complete=complete_names)
@format_option("text", "json", "markdown")
@COLOR
def explain(name: str, output_format: str, color: str) -> None:
    """Explain a rule or a requirement.

    Name a rule by its code (FIL001) or name, or a requirement by its id (add.path-encoding). A chapter (add) lists its
    requirements, and a prefix of codes (FIL) lists its rules. The number of an erratum (E04) or of a point on which the
    protocol is silent (S21) shows how it is read; `errata` (or E) and `silent` (or S) list all of them.
    """
    if output_format != "text":
        from deltaspec.explanation_records import render_record

        print_text(render_record(name, output_format))
        return
    from deltaspec.rule_pages import render_explanation

    with translate_write_errors("stdout"):
        console = build_console(sys.stdout, color)
        console.print(render_explanation(name, console.width))


@main.command()
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True
)
def features(output_format: str) -> None:
    """List table features: status, engines that know them, and what is checked.

    The status is accepted (in the protocol), proposed (in a proposal), preview, engine-only, superseded, or earlier
    (only in earlier revisions). A table with a feature that is not checked completely is at best incomplete.
    """
    from deltaspec.feature_list import render_feature_list

    print_text(render_feature_list(output_format))


@main.command()
@click.option(
    "--select",
    multiple=True,
    callback=parse_codes,
    shell_complete=complete_codes,
    metavar="CODES",
    help="List only these rules, such as LOG,FIL001.",
)
@click.option(
    "--revision", type=REVISIONS, help="List only rules that this revision defines, with their severity in it."
)
@format_option("text", "json")
def rules(select: list[str], revision: str | None, output_format: str) -> None:
    """List rules: code, severity, level, name.

    CODES are rule codes or prefixes of codes, separated by commas.
    """
    from deltaspec.rule_pages import render_rule_list

    print_text(render_rule_list(output_format, select, revision))


@main.command()
@click.option(
    "--chapter",
    "chapters",
    multiple=True,
    callback=parse_names,
    shell_complete=complete_chapters,
    metavar="NAMES",
    help="List only these chapters.",
)
@click.option("--revision", type=REVISIONS, help="List only requirements of this revision.")
@click.option("--uncovered", is_flag=True, help="List only requirements that nothing tests in at least one revision.")
@format_option("text", "json")
@COLOR
def requirements(chapters: list[str], revision: str | None, uncovered: bool, output_format: str, color: str) -> None:
    """List requirements and what covers them.

    The columns are strength (must, should, may, or is for a definition), actor, where a violation shows (in the log, in
    data files, or only in behavior), revisions, and the rules that check the requirement. `permitted` marks definitions
    and permissions: valid tables in the tests use them, and no rule reports them. `suites` marks what `deltaspec test`
    asks engines. `--uncovered` gives the reason why no test from outside can show a requirement.

    NAMES are chapters, separated by commas.
    """
    from deltaspec.requirement_pages import render_requirement_list

    console = build_console(sys.stdout, color)
    listed = render_requirement_list(
        chapters=chapters, revision=revision, uncovered=uncovered, output_format=output_format, width=console.width
    )
    if output_format == "json":
        print_bytes(listed.encode() + b"\n")
    else:
        with translate_write_errors("stdout"):
            console.print(listed)


@main.command()
@click.argument("table", shell_complete=complete_table)
@click.option("--files", is_flag=True, help="Show the distribution of live data files instead.")
@AT
@CATALOG
@format_option("text", "json")
@COLOR
def show(table: str, files: bool, at: str | None, catalog: str | None, output_format: str, color: str) -> None:
    """Show a TABLE: state, schema, files, and a chart of its log.

    The chart has one row each for commits, checkpoints, compactions and version checksums.

    --files shows a histogram of file sizes, small files, skew by partition, and rows deleted by deletion vectors. Only
    the log is read. uc://catalog.schema.table is a table of the Unity Catalog at --catalog.
    """
    choose_allocator()
    with faster_imports():
        import_arrow_alone()
        from deltaspec.validation.describe.file_description import describe_files
        from deltaspec.validation.describe.table_description import describe_table

    with show_progress() as progress:
        describe: Any = describe_files if files else describe_table
        description: Any = describe(table, at=at, progress=progress, catalog=catalog)
    if output_format == "json":
        print_bytes(encode_json(description))
    else:
        from deltaspec.report.files_chart import write_files
        from deltaspec.report.table_chart import write_description

        write = write_files if files else write_description
        with translate_write_errors("stdout"):
            write(description, build_console(sys.stdout, color))
