"""Write the table of exit codes into README.md.

Run `nox -s exit_codes`, or `python -m project.exit_code_table` in conformance/tests.
"""

import re
from pathlib import Path

from deltaspec.exit_codes import ExitCode

README = Path(__file__).parents[3] / "README.md"
_TABLE = re.compile(r"^\| exit code \|.*\n(?:\|.*\n)+", re.MULTILINE)


def render_table() -> str:
    """Return the table in Markdown, in the order of the numbers."""
    lines = ["| exit code | verdict of `validate` | other commands |", "|-|-|-|"]
    lines += [f"| {each} | {each.verdict} | {each.other_commands or 'the same'} |" for each in sorted(ExitCode)]
    return "\n".join(lines) + "\n"


def replace_table(page: str) -> str:
    """Return a page with the current table."""
    replaced, number = _TABLE.subn(lambda _: render_table(), page)
    assert number == 1, "README.md has exactly one table of exit codes"
    return replaced


if __name__ == "__main__":
    README.write_text(replace_table(README.read_text("utf-8")), "utf-8")
