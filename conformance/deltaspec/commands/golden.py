"""`deltaspec golden`: the golden tables."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from deltaspec import __version__
from deltaspec.commands.printing import encode_json, print_bytes, print_text
from deltaspec.commands.run_output import format_option
from deltaspec.errors import InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.output_files import translate_write_errors, write_file

if TYPE_CHECKING:
    from deltaspec.golden.corpus import GoldenCorpus
    from deltaspec.golden.drawn_output import DrawnLayout
    from deltaspec.golden.writers.output import WrittenCases

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
    """Print which requirements the golden cases and the cases for writers cover, and why the others are not."""
    from deltaspec.golden.coverage import compute_coverage, render_coverage
    from deltaspec.rules import RULES
    from deltaspec.suites.all_checks import CHECKS

    found = compute_coverage()
    further = {
        "case for writers": {each for check in CHECKS.values() if check.suite == "write" for each in check.requires},
        "case for validators": {each for rule in RULES.values() for each in rule.requires},
    }
    print_text(render_coverage(found, further, show_all=show_all))
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
    type=click.Choice(["dat", "acceptance", "archive", "folder", "writers"]),
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
    writers     cases for writers, from the written histories; CASES are their names

    CASES are ids, globs over ids, or chapters; all if there are none.
    """
    from deltaspec.golden.export.archive import build_archive, name_archive, write_release
    from deltaspec.golden.export.layouts import fill_new_directory, write_layout

    target = Path(directory)
    if layout == "writers":
        from deltaspec.golden.writers.output import select_written, write_written_cases

        _print_writer_cases(write_written_cases(select_written(patterns), target))
        return
    corpus = _load(root)
    cases = corpus.select(patterns)
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


def _print_writer_cases(found: WrittenCases) -> None:
    lines = [f"not in a write spec: {number:,}: {reason}" for reason, number in found.outside.items()]
    total = f"{found.cases:,} cases written, {found.commits:,} of {found.operations:,} operations in their write specs"
    print_text("\n".join([*lines, total]))


def _split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Split a list of names at commas."""
    return None if value is None else tuple(name.strip() for name in value.split(",") if name.strip())


def _parse_versions(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    low, _, high = value.partition("-")
    if not (low.isdecimal() and (high or low).isdecimal()):
        raise click.BadParameter("is N or N-M, such as 3 or 2-8")
    return int(low), int(high or low)


def _parse_share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    number = value.removesuffix("%")
    if not (value.endswith("%") and number.isdecimal() and int(number) <= 100):
        raise click.BadParameter("is a percentage from 0% to 100%")
    return int(number) / 100


def _names_option(name: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, metavar="NAMES", callback=_split_names, help=text)


@golden.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--tables", type=click.IntRange(1, 1_000_000), default=100, show_default=True, help="Tables to draw.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@click.option(
    "--format",
    "layout",
    type=click.Choice(["acceptance", "dat", "folder", "writers"]),
    default="folder",
    show_default=True,
    help="Layout to write, as for `deltaspec golden export`; `writers` draws histories instead of tables.",
)
@_names_option("--features", "Features that every table supports, separated by commas.")
@_names_option("--allow", "Further features that tables may support. [default: all]")
@_names_option("--forbid", "Features that no table supports.")
@_names_option("--types", "Types of columns: primitive types, decimal, struct, array, map. [default: all]")
@click.option("--depth", type=click.IntRange(0, 3), help="Maximum nesting depth. [default: 3]")
@click.option("--partitioned/--not-partitioned", default=None, help="Only tables with, or without, partitions.")
@_names_option("--checkpoints", "Kinds of checkpoints; every table has one of them, such as v2-sidecars.")
@_names_option("--encodings", "Properties of Parquet files; every table has one of them, such as int96 or page-v2.")
@click.option("--versions", metavar="N-M", callback=_parse_versions, help="Minimum and maximum number of versions.")
@click.option("--revision", type=click.Choice(["r1", "r2", "r3", "current"]), default="current", show_default=True)
@click.option(
    "--refuse",
    "refused",
    metavar="P%",
    default="0%",
    show_default=True,
    callback=_parse_share,
    help="Share of the tables that get a broken sibling, which a reader must refuse.",
)
@click.option(
    "--cover",
    type=click.Choice(["pairs"]),
    help="Choose at most --tables tables so that every pair of features, and of feature and checkpoint, occurs.",
)
@_names_option(
    "--operations",
    "Operations of drawn histories besides append, or `form` for all that a write spec can express; only with "
    "`--format writers`. [default: all]",
)
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Number of processes.")
@click.option(
    "--scale",
    metavar="SIZES",
    help="Write one large table instead, such as rows=10000000,files=1000; sizes are rows, files, commits, columns, "
    "depth, deleted and sidecars.",
)
def draw(
    directory: Path,
    tables: int,
    seed: int,
    layout: DrawnLayout | Literal["writers"],
    cover: str | None,
    scale: str | None,
    operations: tuple[str, ...] | None,
    **given: Any,
) -> None:
    """Draw golden cases into DIRECTORY, which must be empty or absent.

    Each is a random valid table with the answers that a correct reader gives. It is validated before it is written. The
    same seed, options and release of the generator, which the ids name, give the same logs and answers everywhere.
    """
    from deltaspec.golden.drawing import DrawnCases
    from deltaspec.golden.drawn_output import write_drawn_cases
    from deltaspec.golden.pair_coverage import cover_pairs
    from deltaspec.report.text import count
    from deltaspec_generators.tables.restrictions import Restrictions

    if scale is not None:
        _write_scale_case(directory, scale)
        return
    if layout == "writers":
        _write_histories(directory, tables, seed, operations, given, cover)
        return
    if operations is not None:
        raise InvalidUsage("--operations needs --format writers")
    restrictions = Restrictions(
        required=given["features"] or (),
        allowed=given["allow"],
        forbidden=given["forbid"] or (),
        types=given["types"],
        depth=given["depth"],
        partitioned=given["partitioned"],
        checkpoints=given["checkpoints"] or (),
        encodings=given["encodings"] or (),
        versions=given["versions"],
        revision=given["revision"],
    )
    if fault := restrictions.describe_fault():
        raise InvalidUsage(fault)
    cases = DrawnCases(seed, restrictions, given["refused"])
    lines = []
    plan = [(cases, number) for number in range(tables)]
    if cover is not None:
        covered = cover_pairs(cases, tables)
        plan = covered.chosen
        lines += [f"no table with {first} and {second}" for first, second in covered.missing]
    found = write_drawn_cases(plan, layout, directory, given["jobs"])
    lines += [f"left out: {count(number, 'case')}: {reason}" for reason, number in found.left_out.items()]
    print_text("\n".join([*lines, f"{count(found.written, 'case')} written, ids {cases.prefix}-..."]))


_ONLY_TABLES = ("types", "depth", "partitioned", "checkpoints", "encodings", "versions")


def _write_histories(
    directory: Path,
    count: int,
    seed: int,
    operations: tuple[str, ...] | None,
    given: dict[str, Any],
    cover: str | None,
) -> None:
    """Write drawn histories. Raises `InvalidUsage`."""
    from deltaspec.golden.writers.expressing import EXPRESSIBLE_KINDS, INEXPRESSIBLE_FEATURES
    from deltaspec.golden.writers.output import DrawnHistories, write_drawn_histories

    unusable = [name for name in _ONLY_TABLES if given[name] is not None]
    unusable += ["refuse"] * bool(given["refused"]) + ["revision"] * (given["revision"] != "current")
    unusable += ["cover"] * (cover is not None)
    if unusable:
        raise InvalidUsage(f"--{unusable[0]} restricts tables, and --format writers draws histories")
    forbidden = given["forbid"] or ()
    if operations == ("form",):
        operations, forbidden = EXPRESSIBLE_KINDS, (*forbidden, *INEXPRESSIBLE_FEATURES)
    drawn = DrawnHistories(seed, given["features"] or (), given["allow"], forbidden, operations)
    if fault := drawn.describe_fault():
        raise InvalidUsage(fault)
    _print_writer_cases(write_drawn_histories(drawn, count, directory, given["jobs"]))


def _write_scale_case(directory: Path, sizes: str) -> None:
    from deltaspec.golden.scale.case import write_scale_case
    from deltaspec.golden.scale.options import parse_scale

    print_text(f"case {write_scale_case(parse_scale(sizes), directory)} written")


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
