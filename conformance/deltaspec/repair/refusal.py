"""The error of a plan that is not applied."""

from deltaspec.errors import DeltaspecError
from deltaspec.exit_codes import ExitCode


class PlanRefused(DeltaspecError):
    """The plan does not fit the table as it is now, or does more than a repair may do; the message says why."""

    exit_code = ExitCode.INCOMPLETE
