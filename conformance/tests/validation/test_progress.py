"""Progress of a run, and the time of its phases."""

from pathlib import Path
from typing import Any

import deltaspec
from deltaspec.validation.progress import PhaseTimer
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import write_table


def test_run_reports_its_phases_in_order(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    timer = PhaseTimer(lambda *each: calls.append(each))
    write_table(build_table_with_data(), tmp_path)
    deltaspec.validate(str(tmp_path), progress=timer)
    seconds = timer.finish()
    assert list(seconds) == [
        *(
            "start",
            "commits",
            "replay",
            "derived files",
            "listing",
            "data files",
            "deletion vectors",
            "rows of commits",
        ),
    ]
    assert list(dict.fromkeys(phase for phase, _, _ in calls)) == list(seconds)[1:]
    assert {phase: each for phase, each in seconds.items() if each < 0} == {}


def test_phase_that_returns_is_measured_once(monkeypatch: Any) -> None:
    times = iter([0.0, 1.0, 3.0, 6.0, 10.0])
    monkeypatch.setattr("deltaspec.validation.progress.time.perf_counter", lambda: next(times))
    timer = PhaseTimer(lambda *_: None)
    for phase in ("a", "a", "b", "a"):
        timer(phase, 0, None)
    assert timer.finish() == {"start": 1.0, "a": 2.0 + 4.0, "b": 3.0}
