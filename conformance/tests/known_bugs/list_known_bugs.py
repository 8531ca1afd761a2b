"""Prints the known bugs: id, area, level, what went wrong, and the rule that finds it or why none does.

python -m known_bugs.list_known_bugs      (in conformance/tests)
"""

from known_bugs.all_cases import BUGS_WITHOUT_TABLE, CASES
from known_bugs.registry import Case

from deltaspec.rules import RULES


def outcome(case: Case) -> str:
    """The rules of a case, or why there is none."""
    if case.no_finding is not None:
        return f"silent: {case.no_finding}"
    return ", ".join(f"{code} {RULES[code].name} ({RULES[code].severity})" for code in sorted(case.expected_findings))


def rows() -> list[tuple[str, str, str, str, str]]:
    """Id, area, level, words and outcome of each case and reason, by id."""
    found = [(case.id, case.area, case.level, case.description, outcome(case)) for case in CASES]
    found += [(each.id, each.area, "-", "", f"not expressed: {each.reason}") for each in BUGS_WITHOUT_TABLE]
    return sorted(found)


def main() -> None:
    """Print the table, and how many bugs have a rule."""
    for bug, area, level, description, said in rows():
        print(f"{bug:<10} {area:<18} {level:<8} {said}")
        if description:
            print(f"{'':<38} {description}")
    ruled = {case.id for case in CASES if case.no_finding is None}
    bugs = {row[0] for row in rows()}
    print(f"\n{len(bugs)} bugs: {len(ruled)} found by a rule, {len(bugs - ruled)} not; {len(CASES)} tables")


if __name__ == "__main__":
    main()
