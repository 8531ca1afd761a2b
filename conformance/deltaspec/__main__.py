"""The commands `deltaspec` and `python -m deltaspec`."""

import atexit
import os
import sys

from deltaspec.cli import main
from deltaspec.commands.startup import defer_package_metadata, leave_out_numpy


def run() -> None:
    """Run the command line and end the process.

    Objects and modules are not freed, because that takes about a tenth of the time of a short run. Functions registered
    with `atexit` are called. Debuggers, profilers and a failed flush need the usual end.
    """
    _replace_closed_streams()
    leave_out_numpy()
    defer_package_metadata()
    try:
        main()
    except SystemExit as end:
        if _is_observed() or not isinstance(end.code, int):
            raise
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            raise end from None
        os._exit(end.code)


def _is_observed() -> bool:
    """Return whether a debugger or profiler follows the process."""
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    return any([sys.gettrace(), sys.getprofile(), *tools])


def _replace_closed_streams() -> None:
    """Open the null device for each standard stream that is closed: the next opened file would get its descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


if __name__ == "__main__":  # worker processes import this module
    run()
