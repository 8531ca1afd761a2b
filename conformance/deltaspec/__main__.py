"""The commands `deltaspec` and `python -m deltaspec`."""

import atexit
import os
import sys

from deltaspec.cli import main


def run() -> None:
    """Run the command line and end the process.

    Objects and modules are not freed, which would take a tenth of the time of a short run. Functions registered with
    `atexit` are called. A debugger, a profiler and a failed flush need the usual end.
    """
    _replace_closed_streams()
    try:
        main()
    except SystemExit as end:
        if sys.gettrace() or sys.getprofile() or not isinstance(end.code, int):
            raise
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            raise end from None
        atexit._run_exitfuncs()
        os._exit(end.code)


def _replace_closed_streams() -> None:
    """Send the output of a stream that was closed before the start to nowhere: files would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - it lives as long as the process


if __name__ == "__main__":  # worker processes import this module
    run()
