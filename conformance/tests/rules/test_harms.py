"""The harm of each rule, and the order of findings that follows from it."""

from collections import Counter

from helpers.reports import make_finding

from deltaspec.rules import RULES
from deltaspec.rules.harms import CODES_OF_HARMS, HARMS_OF_RULES
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


def test_rules_about_the_same_defect_have_the_same_harm() -> None:
    """Whether a checkpoint or a data file ignores a property, and where a damaged file or a wrong value is."""
    for codes in (
        "CKP084 CKP085 PQT050 PQT051 PQT052 PQT053",
        "CKP007 CKP008",
        "LOG004 LOG011 CAT004",
        "DAT001 PQT001",
        "DVX005 DVX009 DVX013",
        "FIL009 FIL010 FIL060 FIL064 FIL065 FIL066 FIL072",
        "DOM003 LIN020 CKP038 CKP091",
        "CMP001 CMP020",
        "ICE010 ICE020 ICE023 PQT036",
        "ROW001 VAR005",
        "FIL035 FIL053",
        "WID001 WID015",
    ):
        assert len({HARMS_OF_RULES[code] for code in codes.split()}) == 1, codes
