"""`deltaspec matrix`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deltaspec.commands.run_output import render_report, write_report
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import translate_write_errors, write_file

if TYPE_CHECKING:
    from deltaspec.commands.run_output import Renderers
    from deltaspec.matrix.model import Matrix

NAMES = {"json": "matrix.json", "markdown": "matrix.md", "html": "matrix.html"}


@click.command("matrix")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Write matrix.json, matrix.md and matrix.html here.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(NAMES)),
    help="Print this format, or write only this one. [default: markdown; with --output all]",
)
@click.option(
    "--compare", "earlier", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="An earlier matrix.json."
)
def matrix(reports: tuple[str, ...], output: str | None, output_format: str | None, earlier: str | None) -> None:
    """Show REPORTS as a matrix: features × engines × suites.

    REPORTS are JSON reports of `deltaspec test` and `deltaspec faults`. Each failure has its cause, requirements,
    history, expected and actual rows, and the command that repeats it. The HTML page is one file that loads nothing.

    --compare marks what changed since an earlier matrix: failures that are new, gone, or were not run again.
    """
    from deltaspec.matrix.builder import build_matrix
    from deltaspec.matrix.comparison import compare_matrices
    from deltaspec.matrix.markdown import render_markdown
    from deltaspec.matrix.matrix_file import encode_matrix, read_matrix
    from deltaspec.matrix.page import render_html

    before = read_matrix(Path(earlier)) if earlier else None
    found = build_matrix([Path(each) for each in reports])
    if before is not None and earlier is not None:
        found = compare_matrices(found, before, Path(earlier).name)
    renderers: Renderers[Matrix] = {"json": encode_matrix, "markdown": render_markdown, "html": render_html}
    if output is None:
        write_report(found, renderers, output_format or "markdown", None, ExitCode.OK)
        return
    rendered = {
        NAMES[each]: render_report(found, renderers, each) for each in ([output_format] if output_format else NAMES)
    }
    with translate_write_errors(output):
        Path(output).mkdir(parents=True, exist_ok=True)
        for name, data in rendered.items():
            write_file(Path(output) / name, data)
