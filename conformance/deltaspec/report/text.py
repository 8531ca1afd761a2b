"""Text of strangers made fit for a terminal: a table's names and values may hold anything."""

import codecs
import textwrap
import unicodedata

_INVISIBLE = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")
_PLAIN = {"·": "-", "…": "...", "–": "-", "—": "-", "×": "x", "→": "->", "≤": "<=", "≥": ">=", "µ": "u"}
UNENCODABLE = "deltaspec.unencodable"
"""Error handler for streams whose encoding lacks a character: a plain spelling of it, or its escape."""


def escape_text(text: str, width: int | None = None) -> str:
    """Text with control, format and bidirectional characters shown as escapes, cut in the middle to `width`."""
    if width is not None and len(text) > 2 * width:  # an escape only makes it longer
        text = f"{text[:width]}{text[-width:]}"
    shown = text if text.isascii() and text.isprintable() else "".join(map(_shown, text))
    if width is not None and len(shown) > width:
        tail = max((width - 1) // 3, 1)
        shown = f"{shown[: width - 1 - tail]}…{shown[-tail:]}"
    return shown


def _shown(character: str) -> str:
    return _escape(character) if unicodedata.category(character) in _INVISIBLE else character


def _escape(character: str) -> str:
    point = ord(character)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _plainly(fault: UnicodeError) -> tuple[str, int]:
    if not isinstance(fault, UnicodeEncodeError):
        raise fault
    missing = fault.object[fault.start : fault.end]
    return "".join(_PLAIN.get(each) or _escape(each) for each in missing), fault.end


codecs.register_error(UNENCODABLE, _plainly)


def wrap_text(text: str, width: int, *, indent: str = "") -> list[str]:
    """Lines of at most `width`, words with hyphens kept whole where they fit; further lines begin with `indent`."""
    return textwrap.wrap(text, max(width, 30), subsequent_indent=indent, break_on_hyphens=False)


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 rule`, `1,204 rules`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: int) -> str:
    """Bytes for people: `812 B`, `1.4 GiB`."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024 or unit == "TiB":
            return f"{number} B" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")
