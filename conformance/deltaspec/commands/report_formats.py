"""The formats of a validation report: one table from the name of a format to its renderer.

Renderers are imported when they are called, because a run needs few of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.commands.printing import build_console, encode_json
from deltaspec.errors import DeltaspecError, InvalidUsage, suggest_name

if TYPE_CHECKING:
    from deltaspec.pages.validation import Charts
    from deltaspec.report.report_types import Report
    from deltaspec.wire.storage.settings import StorageSettings


class RenderSettings(msgspec.Struct, frozen=True):
    """Settings for rendering a report. They do not change the report."""

    samples: int
    """Findings that text shows of each rule."""
    color: str
    """`auto`, `always` or `never`, for text."""
    exit_code: int
    """Exit code of the command."""
    quiet: bool = False
    """Whether text has only the verdict."""
    verbose: bool = False
    """Whether text has also accepted findings, and more about requirements."""
    seconds: float = 0.0
    """How long the run took."""
    storage: StorageSettings | None = None
    """Settings of storage clients, for charts of the data files; None for the environment."""


Renderer = Callable[["Report", RenderSettings], bytes]


def write_text(report: Report, settings: RenderSettings, stream: Any) -> None:
    """Write a report as text to a stream; `auto` colors only stdout, and only if it is a terminal."""
    from deltaspec.report import terminal

    color = "never" if settings.color == "auto" and stream is not sys.stdout else settings.color
    console = build_console(stream, color)
    if settings.quiet:
        terminal.write_verdict(report, console, settings.exit_code)
    else:
        terminal.write(report, console, settings.samples, settings.exit_code, verbose=settings.verbose)


def _render_text(report: Report, settings: RenderSettings) -> bytes:
    text = StringIO()
    write_text(report, settings, text)
    return text.getvalue().encode()


def _render_json(report: Report, _: RenderSettings) -> bytes:
    return encode_json(report)


def _render_junit(report: Report, _: RenderSettings) -> bytes:
    from deltaspec.report.junit import render_junit

    return render_junit(report).encode()


def _render_html(report: Report, settings: RenderSettings) -> bytes:
    from deltaspec.pages.validation import render_validation

    return render_validation(report, _describe_files(report, settings.storage)).encode()


def _render_markdown(report: Report, settings: RenderSettings) -> bytes:
    from deltaspec.report.markdown import render_markdown

    return render_markdown(report, settings.exit_code).encode()


def _render_sarif(report: Report, settings: RenderSettings) -> bytes:
    from deltaspec.report.sarif import render_sarif

    return render_sarif(report, settings.exit_code).encode()


def _render_github(report: Report, settings: RenderSettings) -> bytes:
    from deltaspec.report.github import render_github

    return render_github(report, settings.exit_code).encode()


def _render_parquet(report: Report, _: RenderSettings) -> bytes:
    from deltaspec.report.parquet import render_parquet

    return render_parquet(report)


FORMATS: dict[str, Renderer] = {
    "text": _render_text,
    "json": _render_json,
    "junit": _render_junit,
    "html": _render_html,
    "markdown": _render_markdown,
    "sarif": _render_sarif,
    "github": _render_github,
    "parquet": _render_parquet,
}
"""Renderers by name of the format. The bytes of text formats are UTF-8."""


DELTA, OPENMETRICS, OTLP = "delta", "openmetrics", "otlp"
"""Names of formats that are not rendered by table: results go to a Delta table, to a file with metrics, or to a
collector of metrics."""


def require_format(name: str) -> None:
    """Check before a run that a report can be rendered in a format.

    Raises:
        InvalidUsage: the format is unknown, or its library is not installed.
    """
    known = [*FORMATS, DELTA, OPENMETRICS, OTLP]
    if name not in known:
        raise InvalidUsage(f"unknown report format {name!r} ({suggest_name(name, known)})")
    if name == "html":
        from deltaspec.pages.renderer import require_jinja

        require_jinja()


def _describe_files(report: Report, storage: StorageSettings | None) -> Charts:
    """Describe the data files of the validated version, from the log; return the reason if this is not possible."""
    from deltaspec.pages.validation import Charts
    from deltaspec.validation.describe.file_description import describe_files
    from deltaspec.wire.storage.settings import ENVIRONMENT

    if report.version is None:
        return Charts(None, "the table has no version that can be read")
    if report.engine != "embedded":
        return Charts(None, "the run was on Spark; `deltaspec show TABLE --files` reads the log in one process")
    try:
        return Charts(describe_files(report.table, at=report.version, storage=storage or ENVIRONMENT))
    except DeltaspecError as error:
        return Charts(None, str(error))
