"""The command in this process, for tests of what it says."""

from click.testing import CliRunner, Result

from deltaspec.cli import main


def run(*args: object, columns: int | None = None) -> Result:
    """Run `deltaspec` with these arguments, on a terminal of so many columns if any."""
    return CliRunner().invoke(main, [str(arg) for arg in args], env={"COLUMNS": str(columns)} if columns else {})


def single_error_line(result: Result) -> str:
    """The one line of a refusal."""
    (line,) = result.stderr.splitlines()
    assert result.stdout == ""
    return line
