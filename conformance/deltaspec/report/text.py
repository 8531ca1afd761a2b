"""Render untrusted text: names and values of a table may contain any characters, and any number of them."""

import codecs
import re
import textwrap
import unicodedata
from datetime import UTC, datetime, timedelta

_INVISIBLE = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")
_PLAIN = {"·": "-", "…": "...", "–": "-", "—": "-", "×": "x", "→": "->", "≤": "<=", "≥": ">=", "µ": "u"}
_BACKTICKS = re.compile("`+")
UNENCODABLE = "deltaspec.unencodable"
"""Name of the error handler for streams that cannot encode a character: writes an ASCII substitute or an escape."""
TEXT_LIMIT = 4_000
"""Maximum length of one value in a report: more than any path that a file system or object store accepts."""


def escape_text(text: str, width: int | None = None) -> str:
    """Replace control, format and bidirectional characters by escapes; shorten to `width` in the middle, if given."""
    if width is not None and len(text) > 2 * width:  # escaping never makes the text shorter
        text = f"{text[:width]}{text[-width:]}"
    shown = text if text.isascii() and text.isprintable() else "".join(map(_escape_invisible, text))
    if width is not None and len(shown) > width:
        tail = max((width - 1) // 3, 1)
        shown = f"{shown[: width - 1 - tail]}…{shown[-tail:]}"
    return shown


def bound_text(text: str) -> str:
    """Return the text, or its first `TEXT_LIMIT` characters and its length if it is longer."""
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}… ({len(text):,} characters)"


def _escape_invisible(character: str) -> str:
    return _escape(character) if unicodedata.category(character) in _INVISIBLE else character


def _escape(character: str) -> str:
    point = ord(character)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unencodable = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _escape(each) for each in unencodable), error.end


codecs.register_error(UNENCODABLE, _substitute)


def wrap_text(text: str, width: int, *, indent: str = "", break_words: bool = True) -> list[str]:
    """Split prose into lines of at most `width` characters, without breaking words at hyphens.

    Args:
        text: the prose; runs of white space at a line end are dropped.
        width: at least 30 is used.
        indent: begins every line but the first.
        break_words: whether a word longer than a line is broken; otherwise its line is longer than `width`.
    """
    return textwrap.wrap(
        text, max(width, 30), subsequent_indent=indent, break_on_hyphens=False, break_long_words=break_words
    )


def split_text(text: str, width: int) -> list[str]:
    """Split a value into lines of at most `width` characters that add up to the value, white space included."""
    return textwrap.wrap(
        text, max(width, 30), break_on_hyphens=False, drop_whitespace=False, replace_whitespace=False, expand_tabs=False
    ) or [""]


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 rule`, `1,204 rules`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: int) -> str:
    """Return a number of bytes with a binary unit: `812 B`, `1.4 GiB`."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024 or unit == "TiB":
            return f"{number} B" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")


def format_code(text: str, width: int | None = None) -> str:
    """Return an untrusted text as a code span of Markdown, in which nothing is markup, a link or a mention."""
    shown = escape_text(text, width) or " "
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    if not longest:
        return f"`{shown}`"
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}"


def format_instant(ms: int) -> str:
    """Return milliseconds since the epoch as ISO 8601 in UTC, with milliseconds if there are any."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    except OverflowError:  # of a damaged log
        return f"{ms} ms after 1970"
    return moment.isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")


def format_duration(seconds: float) -> str:
    """Return seconds as `20 ms`, `0.4 s`, `12 s`, `3 min 20 s` or `2 h 5 min`."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
