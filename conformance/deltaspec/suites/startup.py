"""Start the candidate of a run."""

from deltaspec.candidates.host import Died, Host
from deltaspec.candidates.registry import open_candidate
from deltaspec.errors import DeltaspecError
from deltaspec.exit_codes import ExitCode


class CandidateUnusable(DeltaspecError):
    """The candidate does not answer `hello`, so that nothing can be asked."""

    exit_code = ExitCode.INCOMPLETE


def start_candidate(spec: str, *, timeout_scale: float = 1.0) -> Host:
    """Start a candidate by its name on the command line.

    Raises:
        InvalidUsage: There is no such candidate, or it cannot run here.
        CandidateUnusable: It died before or during `hello`; the text has a line of its stderr: the exception of a Java
            process, or the last one.
    """
    try:
        return open_candidate(spec, timeout_scale=timeout_scale)
    except Died as death:
        lines = [line.strip() for line in [death.line, *death.stderr.splitlines()] if line.strip()]
        # PySpark says only that Java ended; Java has said why
        reasons = [line for line in lines if line.startswith("Exception in thread")] or lines
        wrote = f'; it wrote "{reasons[-1][:300]}"' if reasons else ""
        raise CandidateUnusable(f"candidate {spec} does not start: {death}{wrote}") from death
