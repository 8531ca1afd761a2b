"""Split the message of a failure, which `candidates.row_comparison` writes, so that a page can show rows as lists."""

import msgspec

_CHARACTERS = 2_000
"""Longest line that is shown."""


class Explanation(msgspec.Struct):
    """A message in parts."""

    text: list[str] = msgspec.field(default_factory=list)
    """The first line, and every line that is none of the others."""
    condition: str = ""
    """Predicate of the scan."""
    columns: str = ""
    missing: list[str] = msgspec.field(default_factory=list)
    """Expected rows that the answer does not have."""
    surplus: list[str] = msgspec.field(default_factory=list)
    """Rows of the answer that are not expected."""


def explain_message(message: str) -> Explanation:
    """Return the parts of a message; its lines are escaped later."""
    found = Explanation()
    for line in message.split("\n"):
        shown = line if len(line) <= _CHARACTERS else f"{line[:_CHARACTERS]}…"
        head, rest = shown[:4], shown[4:]
        if head == "  - ":
            found.missing.append(rest)
        elif head == "  + ":
            found.surplus.append(rest)
        elif shown.startswith("  columns: ") and not found.columns:
            found.columns = shown.removeprefix("  columns: ")
        elif shown.startswith("  where ") and not found.condition:
            found.condition = shown.removeprefix("  where ")
        elif shown:
            found.text.append(shown)
    return found
