"""Text of strangers made fit for a terminal: a table's names and values may hold anything."""

import unicodedata

_INVISIBLE = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")


def safe(text: str, width: int | None = None) -> str:
    """Text with control, format and bidirectional characters shown as escapes, cut in the middle to `width`."""
    shown = "".join(_escape(c) if unicodedata.category(c) in _INVISIBLE else c for c in text)
    if width is not None and len(shown) > width:
        tail = max((width - 1) // 3, 1)
        shown = f"{shown[: width - 1 - tail]}…{shown[-tail:]}"
    return shown


def _escape(character: str) -> str:
    point = ord(character)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 rule`, `1,204 rules`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: int) -> str:
    """Bytes for people: `812 B`, `1.4 GiB`."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024 or unit == "TiB":
            return f"{number} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")
