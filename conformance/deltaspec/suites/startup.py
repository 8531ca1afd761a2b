"""Start the candidate of a run."""

from deltaspec.candidates.host import Died, Host
from deltaspec.candidates.registry import open_candidate
from deltaspec.errors import DeltaspecError


class CandidateUnusable(DeltaspecError):
    """The candidate does not answer `hello`, so that nothing can be asked."""

    exit_code = 3


def start_candidate(spec: str, *, timeout_scale: float = 1.0) -> Host:
    """Start a candidate by its name on the command line.

    Raises:
        InvalidUsage: There is no such candidate, or it cannot run here.
        CandidateUnusable: It died before or during `hello`; the text has the last line of its stderr.
    """
    try:
        return open_candidate(spec, timeout_scale=timeout_scale)
    except Died as death:
        last = [
            f'; it wrote "{line.strip()[:300]}"' for line in [death.line, *death.stderr.splitlines()] if line.strip()
        ]
        raise CandidateUnusable(f"candidate {spec} does not start: {death}{''.join(last[-1:])}") from death
