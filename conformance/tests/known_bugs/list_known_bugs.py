"""Print the known bugs: id, area, level, description, and the rule that finds the bug or why none does.

Run `python -m known_bugs.list_known_bugs` in conformance/tests.
"""

from known_bugs.all_cases import BUGS_WITHOUT_TABLE, CASES
from known_bugs.registry import Case

from deltaspec.rules import RULES


def format_outcome(case: Case) -> str:
    """Format the rules of a case, or why there is none."""
    if case.no_finding is not None:
        return f"no finding: {case.no_finding}"
    return ", ".join(f"{code} {RULES[code].name} ({RULES[code].severity})" for code in sorted(case.expected_findings))


def rows() -> list[tuple[str, str, str, str, str]]:
    """Return id, area, level, description and outcome of each case and of each bug without table, sorted by id."""
    found = [(case.id, case.area, case.level, case.description, format_outcome(case)) for case in CASES]
    found += [(each.id, each.area, "-", "", f"no table: {each.reason}") for each in BUGS_WITHOUT_TABLE]
    return sorted(found)


def main() -> None:
    """Print all rows, and how many bugs a rule finds."""
    for bug, area, level, description, outcome in rows():
        print(f"{bug:<10} {area:<18} {level:<8} {outcome}")
        if description:
            print(f"{'':<38} {description}")
    found = {case.id for case in CASES if case.no_finding is None}
    bugs = {row[0] for row in rows()}
    print(f"\n{len(bugs)} bugs: {len(found)} found by a rule, {len(bugs - found)} not; {len(CASES)} tables")


if __name__ == "__main__":
    main()
