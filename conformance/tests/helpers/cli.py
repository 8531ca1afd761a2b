"""Run the command line in the test process."""

from click.testing import CliRunner, Result

from deltaspec.cli import main


def run(*args: object, columns: int | None = None) -> Result:
    """Run `deltaspec` with these arguments; `columns` sets the width of the terminal."""
    return CliRunner().invoke(main, [str(arg) for arg in args], env={"COLUMNS": str(columns)} if columns else {})


def single_error_line(result: Result) -> str:
    """Return the error message; assert that it is a single line and that stdout is empty."""
    (line,) = result.stderr.splitlines()
    assert result.stdout == ""
    return line
