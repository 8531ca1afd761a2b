"""Findings that one cause explains: rules that report the same damage of a table."""

from typing import Literal

import msgspec

Subject = Literal["path", "version", "file", "table"]


class Cause(msgspec.Struct, frozen=True):
    """A rule whose finding explains findings of other rules, and whose fix ends them."""

    rule: str
    """Code of the rule that has the fix."""
    effects: tuple[str, ...]
    """Codes of the rules that it explains."""
    subject: Subject
    """What both findings must be about."""


CAUSES = (
    Cause("FIL037", ("CKP030", "CKP031", "FIL030"), "path"),
    Cause("FIL037", ("COM020", "COM022"), "version"),
    Cause("FIL053", ("COM020", "COM022"), "version"),
    Cause("FIL071", ("FIL007", "FIL008"), "table"),
    Cause("FIL072", ("FIL009",), "table"),
    Cause("FIL073", ("FIL007", "FIL008"), "table"),
    Cause("PRO008", ("FIL070",), "version"),
    Cause("FIL070", ("PRO006",), "version"),
    Cause("FIL070", ("FIL014",), "table"),
    Cause("FIL007", ("FIL008",), "path"),
    Cause("CKP030", ("FIL053",), "path"),
    Cause("DAT002", ("PQT001", "PQT002", "ROW001"), "path"),
    Cause("PQT001", ("ROW001",), "path"),
    Cause("PQT002", ("COM020", "COM021"), "version"),
    Cause("ROW002", ("STA019",), "path"),
    Cause("COM013", ("CRC002", "CRC003", "CRC006", "CRC007", "CRC009"), "version"),
    Cause("CRC002", ("CRC003",), "version"),
    Cause("MET008", ("CRC010",), "table"),
    Cause("RID004", ("RID005",), "path"),
    Cause("LOG004", ("LOG005",), "version"),
)
"""In the order in which they are tried: the first that explains a finding is its cause."""
