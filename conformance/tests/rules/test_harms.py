"""The harm of each rule, and the order of findings that follows from it."""

from collections import Counter

from helpers.reports import make_finding

from deltaspec.rules import RULES
from deltaspec.rules.harms import CODES_OF_HARMS
from deltaspec.scales import HARMS
from deltaspec.validation.findings import order_by_harm


def test_every_rule_has_one_harm() -> None:
    codes = Counter(code for listed in CODES_OF_HARMS.values() for code in listed.split())
    assert sorted(codes.elements()) == list(RULES)
    assert CODES_OF_HARMS.keys() == HARMS.keys()


def test_wrong_rows_come_before_everything_else_of_a_severity() -> None:
    found = [
        make_finding(rule=code, severity=severity, line=line)
        for code, severity, line in [
            ("CRC007", "violation", 1),
            ("LIN013", "violation", 1),
            ("RID008", "violation", 2),
            ("RID008", "violation", 1),
            ("DAT001", "warning", 1),
            ("FIL035", "divergence", 1),
        ]
    ]
    assert [(each.rule, each.line) for each in order_by_harm(reversed(found))] == [
        *(("RID008", 1), ("RID008", 2), ("LIN013", 1), ("CRC007", 1), ("DAT001", 1), ("FIL035", 1))
    ]
