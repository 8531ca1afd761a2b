"""Prints the known bugs: id, area, level, what went wrong, and the rule that finds it or why none does.

python -m known_bugs.list_known_bugs      (in conformance/tests)
"""

from known_bugs.every_case import CASES, REASONS
from known_bugs.registry import Case

from deltaspec.rules import RULES


def outcome(case: Case) -> str:
    """The rules of a case, or why there is none."""
    if case.silent is not None:
        return f"silent: {case.silent}"
    return ", ".join(f"{code} {RULES[code].name} ({RULES[code].severity})" for code in sorted(case.finds))


def rows() -> list[tuple[str, str, str, str, str]]:
    """Id, area, level, words and outcome of each case and reason, by id."""
    found = [(case.id, case.area, case.level, case.words, outcome(case)) for case in CASES]
    found += [(each.id, each.area, "-", "", f"not expressed: {each.reason}") for each in REASONS]
    return sorted(found)


def main() -> None:
    """Print the table, and how many bugs have a rule."""
    for bug, area, level, words, said in rows():
        print(f"{bug:<10} {area:<18} {level:<8} {said}")
        if words:
            print(f"{'':<38} {words}")
    ruled = {case.id for case in CASES if case.silent is None}
    bugs = {row[0] for row in rows()}
    print(f"\n{len(bugs)} bugs: {len(ruled)} found by a rule, {len(bugs - ruled)} not; {len(CASES)} tables")


if __name__ == "__main__":
    main()
