"""`deltaspec golden`: the golden tables."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deltaspec import __version__
from deltaspec.commands.printing import encode_json, print_bytes, print_text
from deltaspec.commands.run_output import format_option
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import translate_write_errors, write_file

if TYPE_CHECKING:
    from deltaspec.golden.corpus import GoldenCorpus

_CASES = click.option(
    "--cases",
    "root",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Golden tables to use. [default: the tables of the installed checkout, or of the package deltaspec-golden]",
)
_FORMAT = format_option("text", "json")


@click.group()
def golden() -> None:
    """Build, verify, list, show, export and import golden tables: small tables with known answers."""


def _load(root: str | None) -> GoldenCorpus:
    from deltaspec.golden.corpus import load_corpus

    return load_corpus(None if root is None else Path(root))


_DEFINITIONS = click.option(
    "--cases",
    "root",
    type=click.Path(file_okay=False, exists=True),
    metavar="DIR",
    help="Directory with the definitions. [default: golden-tables of the checkout]",
)


@golden.command()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option("--rewrite", is_flag=True, help="Write all Parquet files with the installed release of pyarrow.")
@click.option("--release", metavar="VERSION", help="Also record the cases as released, in released.json.")
@_DEFINITIONS
def build(check: bool, rewrite: bool, release: str | None, root: str | None) -> None:
    """Build the golden tables of a checkout from their definitions."""
    from deltaspec.golden import build as builder
    from deltaspec.golden.definition import ROOT

    directory = ROOT if root is None else Path(root)
    old = builder.load_manifest(directory)
    built, manifest = builder.build_all(directory)
    existing = builder.read_built_files(directory)
    size = sum(map(len, built.values()))
    summary = f"{len(manifest.cases):,} cases, {len(built):,} files, {size / 1e6:.1f} MB"
    problems = [] if old is None else builder.check_permanence(old, manifest)
    if check:
        if old is not None and old.pyarrow != manifest.pyarrow:
            built, existing = builder.select_comparable(built), builder.select_comparable(existing)
            summary += f"; Parquet files not compared, pyarrow {old.pyarrow} wrote them"
        problems += builder.find_differences(built, existing)
        print_text("\n".join([*problems, f"{summary}, {len(problems)} problems"]))
        sys.exit(ExitCode.FAILED if problems else ExitCode.OK)
    if problems:
        print_text("\n".join(problems))
        raise InvalidUsage("ids and their expectations are permanent; increase `meaning` of a case that has changed")
    if not rewrite:
        builder.require_release(directory)
    with translate_write_errors(str(directory)):
        builder.write_files(directory, built, existing)
        if release is not None:
            write_file(directory / builder.RELEASED, builder.encode_released(release, manifest))
    print_text(f"{summary}, {len(builder.find_differences(built, existing)):,} written or deleted")


@golden.command()
@click.argument("patterns", nargs=-1, metavar="[CASES]...")
@click.option("--part", default="1/1", metavar="N/M", show_default=True, help="Only every M-th case, from the N-th.")
@_CASES
def verify(patterns: tuple[str, ...], part: str, root: str | None) -> None:
    """Verify golden cases: each valid table conforms, and the reference reader gives every expected answer.

    A broken table must be refused by the reference reader, or violate the named requirement.
    """
    from deltaspec.golden.verification import verify_case
    from deltaspec.report.text import count

    first, _, step = part.partition("/")
    if not (first.isdecimal() and step.isdecimal() and 1 <= int(first) <= int(step)):
        raise InvalidUsage(f"--part is N/M with N from 1 to M, not {part}")
    cases = _load(root).select(patterns)[int(first) - 1 :: int(step)]
    failed = questions = 0
    not_asked: Counter[str] = Counter()
    for case in cases:
        found = verify_case(case)
        questions += found.questions
        failed += bool(found.problems)
        not_asked.update([found.not_asked] if found.not_asked else [])
        for problem in found.problems:
            print_text(f"{case.id}: {problem}")
    for reason, number in not_asked.items():
        print_text(f"not asked, only validated: {count(number, 'case')}: {reason}")
    totals = (count(len(cases), "case"), count(questions, "question"), f"{count(failed, 'case')} with problems")
    print_text(", ".join(totals))
    sys.exit(ExitCode.FAILED if failed else ExitCode.OK)


@golden.command()
@click.option("--all", "show_all", is_flag=True, help="Also list requirements that are covered or outside of reading.")
def coverage(show_all: bool) -> None:
    """Print which requirements the golden cases cover, and why the others are not."""
    from deltaspec.golden.coverage import compute_coverage, render_coverage

    found = compute_coverage()
    print_text(render_coverage(found, show_all=show_all))
    sys.exit(ExitCode.FAILED if found.unexplained else ExitCode.OK)


@golden.command("list")
@click.argument("patterns", nargs=-1, metavar="[CASES]...")
@_CASES
@_FORMAT
def list_cases(patterns: tuple[str, ...], root: str | None, output_format: str) -> None:
    """List golden cases: what a reader must do, id, and title.

    CASES are ids, globs over ids, or chapters.
    """
    cases = _load(root).select(patterns)
    if output_format == "json":
        print_bytes(encode_json([case.description for case in cases]))
        return
    width = max(len(case.id) for case in cases)
    print_text(
        "\n".join(f"{case.description.expect.kind:<9}  {case.id:<{width}}  {case.description.title}" for case in cases)
    )


@golden.command()
@click.argument("case")
@_CASES
@_FORMAT
def show(case: str, root: str | None, output_format: str) -> None:
    """Show a golden CASE: the question, the expected answer, and its files."""
    from deltaspec.golden.case_page import render_case

    found = next((each for each in _load(root).cases if each.id == case), None)
    if found is None:
        raise InvalidUsage(f"unknown golden case {case}; `deltaspec golden list` lists all")
    if output_format == "json":
        print_bytes(encode_json({"case": found.description, "path": str(found.folder), "sha256": found.listed.sha256}))
    else:
        print_text(render_case(found))


@golden.command()
@click.argument("directory", type=click.Path())
@click.argument("patterns", nargs=-1, metavar="[CASES]...")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["dat", "acceptance", "archive", "folder"]),
    required=True,
    help="Layout to write.",
)
@_CASES
def export(directory: str, patterns: tuple[str, ...], layout: str, root: str | None) -> None:
    """Write golden cases for other clients into DIRECTORY, which must be empty or absent.

    \b
    dat         Delta acceptance tests (DAT) 0.0.3; cases that a reader must refuse are left out
    acceptance  acceptance workloads, as the harness of delta-kernel-rs reads them
    archive     one file, deltaspec-golden-<version>.tar.zst, with an index
    folder      the content of the archive

    CASES are ids, globs over ids, or chapters; all if there are none.
    """
    from deltaspec.golden.export.archive import build_archive, name_archive, write_release
    from deltaspec.golden.export.layouts import fill_new_directory, write_layout

    corpus = _load(root)
    cases = corpus.select(patterns)
    target = Path(directory)
    match layout:
        case "archive":
            with fill_new_directory(target) as content:
                (content / name_archive(__version__)).write_bytes(build_archive(corpus, cases, __version__))
        case "folder":
            write_release(corpus, cases, __version__, target)
        case "dat" | "acceptance":
            written, left_out = write_layout(cases, layout, target)
            lines = [f"{len(written)} of {len(cases)} cases written"]
            lines += [f"left out: {identity}: {reason}" for identity, reason in left_out.items()]
            print_text("\n".join(lines))
            return
    print_text(f"{len(cases)} of {len(cases)} cases written")


@golden.command("import")
@click.argument("directory", type=click.Path(file_okay=False))
@_FORMAT
def import_cases(directory: str, output_format: str) -> None:
    """List the cases of others in DIRECTORY that `deltaspec test NAME --import DIRECTORY` asks.

    DIRECTORY has Delta acceptance tests (DAT) 0.0.3, acceptance workloads, or folders of tables such as
    connectors/golden-tables of delta-io/delta, at any depth.
    """
    from deltaspec.golden.importing.cases import read_cases
    from deltaspec.golden.importing.listing import describe_cases, render_cases

    cases = read_cases(Path(directory))
    if output_format == "json":
        print_bytes(encode_json(describe_cases(cases)))
    else:
        print_text(render_cases(cases))
