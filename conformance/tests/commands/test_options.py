"""Options of several commands: what Python reads as a number is not always one."""

import pytest
from click.testing import CliRunner

from deltaspec.cli import main


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0", "many"])
@pytest.mark.parametrize(
    "arguments", [("validate", "t", "--max-requests-per-second"), ("smoke", "reference", "--timeout-scale")]
)
def test_number_out_of_range_is_refused(arguments: tuple[str, ...], value: str) -> None:
    result = CliRunner().invoke(main, [*arguments, value])
    assert result.exit_code == 2
    assert f"Invalid value for '{arguments[-1]}'" in result.stderr
