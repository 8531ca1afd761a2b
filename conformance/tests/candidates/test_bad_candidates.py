"""Every bad candidate ends in the documented outcome, the next request works, and no process survives."""

import os
import select
import sys
import time
import tracemalloc
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from candidates import bad_candidates

from deltaspec.candidates.host import Died, GivenUp, Host
from deltaspec.candidates.messages import Apply, Scan, Snapshot
from deltaspec.candidates.process import STDERR_BYTES, CandidateProcess, Launch, ProcessFault, kill_candidate
from deltaspec.candidates.process_groups import measure_group_memory, measure_with_ps
from deltaspec.candidates.session import DEADLINE_SECONDS
from deltaspec.candidates.write_operations import Append

SCRIPT = Path(bad_candidates.__file__)
SHORT = 0.01
"""Factor with which the deadline of a scan is 1.2 seconds, of `apply` 1.8 seconds."""
SLACK_SECONDS = 3.0
"""Time that a busy machine may need in addition to a deadline."""
HOST_MEMORY = 48 * 1024 * 1024
"""Bytes that the host may allocate during a request of a bad candidate."""


@pytest.fixture(scope="session")
def rows_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.arrow"
    table = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", None, "c"]})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


@contextmanager
def open_host(candidate: type, rows_file: Path, **options: Any) -> Iterator[Host]:
    """Start a candidate; assert at the end that no process, directory or open file of it is left."""
    descriptors = os.listdir("/proc/self/fd")
    mark = uuid.uuid4().hex
    command = (sys.executable, "-I", "-S", str(SCRIPT), candidate.__name__, str(rows_file))
    hello_seconds = 20 / options.get("timeout_scale", 1.0)
    with Host(Launch(command, {"TEST_MARK": mark}, hello_seconds), **options) as host:
        directory = host.directory
        groups = [host.session.process.pid] if host.session is not None else []
        yield host
        groups += [host.session.process.pid] if host.session is not None else []
    assert list_survivors(mark, groups) == []
    assert not directory.exists()
    assert os.listdir("/proc/self/fd") == descriptors


def list_survivors(mark: str, groups: list[int]) -> list[str]:
    """Return the command lines of running processes with the mark in their environment, or in a group."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            environment = Path(f"/proc/{name}/environ").read_bytes()
            fields = Path(f"/proc/{name}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            command = Path(f"/proc/{name}/cmdline").read_text("utf-8", "replace")
        except OSError:
            continue
        if fields[0] != "Z" and (mark.encode() in environment or int(fields[2]) in groups):
            found.append(command)
    return found


def get_process(host: Host) -> CandidateProcess:
    assert host.session is not None
    return host.session.process


def scan(host: Host, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = host.scan(Scan(table=table, out="")).table.to_pylist()
    return rows


def assert_next_request_works(host: Host) -> None:
    assert scan(host, "/good") == [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}]


def test_good_candidate_answers(rows_file: Path) -> None:
    with open_host(bad_candidates.Good, rows_file) as host:
        assert host.capabilities.name == "bad"
        assert_next_request_works(host)
        assert host.snapshot(Snapshot(table="/good")).version == 4


BROKEN = {
    bad_candidates.PrintsToStdout: "a line that is not JSON to stdout; print to stderr during scan",
    bad_candidates.SendsWrongSeq: r"answered with seq 3; expected 2",
    bad_candidates.AnswersTwice: "wrote to stdout after the answer; print to stderr",
    bad_candidates.SendsLongLine: "a line longer than 8,388,608 bytes",
    bad_candidates.SendsEndlessLine: "a line longer than 8,388,608 bytes",
    bad_candidates.SendsInvalidUtf8: "a line that is not UTF-8",
    bad_candidates.SendsJsonArray: "an invalid answer: Expected `object`, got `array`",
    bad_candidates.SendsNotANumber: "wrote NaN, which JSON does not have; write null or a string",
    bad_candidates.SendsInfinity: "wrote Infinity, which JSON does not have; write null or a string",
    bad_candidates.SendsDeepJson: "the answer to scan is invalid: maximum recursion|not JSON",
    bad_candidates.SendsNothingInTheAnswer: "exactly one of ok, error and progress",
    bad_candidates.SendsOkAndError: "exactly one of ok, error and progress",
    bad_candidates.SendsUnknownCategory: "an invalid answer: Invalid enum value 'strange'",
    bad_candidates.SendsWrongTypes: r"Expected `int`, got `str` - at `\$.num_rows`",
    bad_candidates.SendsNegativeCount: r"Expected `int` >= 0 - at `\$.num_rows`",
    bad_candidates.SendsHugeVersion: "missing required field `path`",
    bad_candidates.SendsWrongNumRows: "the answer says num_rows 4; the file has 3 rows",
    bad_candidates.SendsAnotherPath: "expected the rows at .*, found the path /etc/passwd",
    bad_candidates.WritesNoFile: "the rows cannot be opened: No such file",
    bad_candidates.TruncatesTheFile: "the rows are not a complete Arrow IPC file",
    bad_candidates.WritesAPipe: "the rows are not a regular file",
    bad_candidates.WritesALink: "the rows cannot be opened: Too many levels of symbolic links",
    bad_candidates.WritesASparseFile: "the rows have 1,099,511,627,776 bytes",
}


@pytest.mark.parametrize("candidate", BROKEN, ids=[each.__name__ for each in BROKEN])
def test_broken_answer_is_a_harness_error(candidate: type, rows_file: Path) -> None:
    with open_host(candidate, rows_file) as host:
        tracemalloc.start()
        try:
            with pytest.raises(Died, match=BROKEN[candidate]) as caught:
                host.scan(Scan(table="/bad", out=""))
            assert tracemalloc.get_traced_memory()[1] < HOST_MEMORY
        finally:
            tracemalloc.stop()
        assert caught.value.reason == "harness"
        assert len(caught.value.line) <= 400
        assert_next_request_works(host)


@pytest.mark.parametrize(
    ("candidate", "reason", "message", "exit_code", "stderr"),
    [
        (bad_candidates.ExitsAtOnce, "crash", "exited with code 7 during hello", 7, "no licence found\n"),
        (bad_candidates.HangsInHello, "timeout", "no answer before the deadline during hello", None, ""),
        (bad_candidates.RefusesHello, "harness", "refused as internal: no licence found during hello", None, ""),
        (bad_candidates.SpeaksAnotherVersion, "harness", "speaks version 2 of the candidate", None, ""),
    ],
)
def test_candidate_without_hello_is_not_opened(
    candidate: type, reason: str, message: str, exit_code: int | None, stderr: str, rows_file: Path
) -> None:
    mark = uuid.uuid4().hex
    command = (sys.executable, "-I", "-S", str(SCRIPT), candidate.__name__, str(rows_file))
    with pytest.raises(Died, match=message) as caught:
        Host(Launch(command, {"TEST_MARK": mark}, 1.0 if reason == "timeout" else 20.0))
    assert (caught.value.reason, caught.value.exit_code, caught.value.stderr) == (reason, exit_code, stderr)
    assert list_survivors(mark, []) == []


def test_missing_program_is_a_crash() -> None:
    with pytest.raises(Died, match=r"crash: /nowhere/engine cannot be started: .*No such file"):
        Host(Launch(("/nowhere/engine",)))


@pytest.mark.parametrize(
    ("candidate", "signal"), [(bad_candidates.HangsInScan, "SIGTERM"), (bad_candidates.IgnoresSigterm, "SIGKILL")]
)
def test_hanging_candidate_is_killed(candidate: type, signal: str, rows_file: Path) -> None:
    with open_host(candidate, rows_file, timeout_scale=SHORT) as host:
        get_process(host).grace_seconds = 0.3  # the default would be 10 milliseconds
        start = time.monotonic()
        with pytest.raises(Died, match="timeout: sent no answer before the deadline during scan") as caught:
            scan(host, "/bad")
        assert time.monotonic() - start < SHORT * DEADLINE_SECONDS["scan"] + 0.3 + SLACK_SECONDS
        assert caught.value.reason == "timeout"
        assert (caught.value.exit_code, caught.value.signal) == (None, signal)
        assert caught.value.stderr == "waiting for a lock\n"
        assert_next_request_works(host)


def test_candidate_that_does_not_read_is_a_timeout(rows_file: Path) -> None:
    with open_host(bad_candidates.DoesNotRead, rows_file, timeout_scale=SHORT) as host:
        assert len(scan(host, "/bad")) == 3
        with pytest.raises(Died, match="no answer before the deadline during apply") as caught:
            host.apply(Apply(table="/good", operation=Append(rows="x" * 1_000_000)))
        assert caught.value.reason == "timeout"
        assert_next_request_works(host)


def test_progress_renews_the_deadline(rows_file: Path) -> None:
    with open_host(bad_candidates.SendsProgress, rows_file, timeout_scale=SHORT) as host:
        assert len(scan(host, "/bad")) == 3  # takes 1.6 seconds


def test_endless_progress_is_a_timeout(rows_file: Path) -> None:
    with open_host(bad_candidates.SendsProgressForever, rows_file, timeout_scale=0.003) as host:
        start = time.monotonic()
        with pytest.raises(Died, match="timeout"):
            scan(host, "/bad")
        assert 5 * 0.36 <= time.monotonic() - start < 5 * 0.36 + SLACK_SECONDS


def test_second_line_that_comes_late_is_reported_with_the_next_request(rows_file: Path) -> None:
    with open_host(bad_candidates.PrintsAfterTheAnswer, rows_file) as host:
        assert len(scan(host, "/bad")) == 3
        assert select.select([get_process(host).stdout], [], [], 20)[0]
        with pytest.raises(Died, match="to stdout after the answer to an earlier request") as caught:
            scan(host, "/good")
        assert (caught.value.reason, caught.value.line) == ("harness", "done")
        assert_next_request_works(host)


def test_closed_stdout_is_a_crash(rows_file: Path) -> None:
    with open_host(bad_candidates.ClosesStdout, rows_file) as host:
        get_process(host).grace_seconds = 0.2
        with pytest.raises(Died, match="crash: closed its stdout during scan"):
            scan(host, "/bad")
        assert_next_request_works(host)


def test_crash_of_the_first_request_fails_alone(rows_file: Path) -> None:
    with open_host(bad_candidates.Crashes, rows_file) as host:
        with pytest.raises(Died, match="crash: exited with code 3 during scan") as caught:
            scan(host, "/bad")
        assert caught.value.message.endswith("; fails alone too")
        assert (caught.value.reason, caught.value.exit_code, caught.value.fails_alone) == ("crash", 3, True)
        assert_next_request_works(host)


def test_crash_of_a_later_request_is_repeated_alone(rows_file: Path) -> None:
    with open_host(bad_candidates.Crashes, rows_file) as host:
        assert_next_request_works(host)
        with pytest.raises(Died) as caught:
            scan(host, "/bad")
        assert caught.value.message == "exited with code 3 during scan; fails alone too"
        assert_next_request_works(host)


def test_crash_in_the_second_case_only_names_the_first(rows_file: Path) -> None:
    with open_host(bad_candidates.CrashesInSecondScan, rows_file) as host:
        assert_next_request_works(host)
        with pytest.raises(Died) as caught:
            scan(host, "/bad")
        assert caught.value.message == "killed by SIGSEGV during scan; only after scan of /good"
        assert (caught.value.reason, caught.value.exit_code, caught.value.signal) == ("crash", None, "SIGSEGV")
        assert (caught.value.stderr, caught.value.fails_alone) == ("double free\n", False)
        assert_next_request_works(host)


def test_crash_in_apply_is_not_repeated(rows_file: Path) -> None:
    with open_host(bad_candidates.Crashes, rows_file) as host:
        assert_next_request_works(host)
        with pytest.raises(Died) as caught:
            host.apply(Apply(table="/bad", operation=Append(rows="/rows")))
        assert (caught.value.message, caught.value.fails_alone) == ("exited with code 3 during apply", None)
        assert_next_request_works(host)


def test_exit_after_the_answer_is_reported_with_the_next_request(rows_file: Path) -> None:
    with open_host(bad_candidates.ExitsAfterTheAnswer, rows_file) as host:
        assert len(scan(host, "/bad")) == 3
        while not get_process(host).has_exited():
            time.sleep(0.01)
        with pytest.raises(Died) as caught:
            scan(host, "/good")
        assert caught.value.message == "exited with code 5 during scan; only after scan of /bad"
        assert_next_request_works(host)


def test_leak_is_killed_at_the_memory_limit(rows_file: Path) -> None:
    with open_host(bad_candidates.LeaksMemory, rows_file, memory_limit=150 * 1024 * 1024) as host:
        with pytest.raises(Died, match=r"used \d+ MiB of memory; the limit is 150 MiB during scan") as caught:
            scan(host, "/bad")
        assert (caught.value.reason, caught.value.signal) == ("crash", "SIGKILL")
        assert_next_request_works(host)


def test_processes_that_a_candidate_started_are_killed(rows_file: Path) -> None:
    with open_host(bad_candidates.StartsGrandchild, rows_file) as host:
        with pytest.raises(Died, match="exited with code 3"):
            scan(host, "/bad")
        assert_next_request_works(host)


def test_flood_of_stderr_is_read_and_its_end_kept(rows_file: Path) -> None:
    with open_host(bad_candidates.FloodsStderr, rows_file) as host:
        tracemalloc.start()
        try:
            with pytest.raises(Died, match="exited with code 3") as caught:
                scan(host, "/bad")
            assert tracemalloc.get_traced_memory()[1] < HOST_MEMORY
        finally:
            tracemalloc.stop()
        assert host.traffic.stderr_bytes > 2**30
        assert len(caught.value.stderr) == STDERR_BYTES
        assert caught.value.stderr.endswith("x\nthe last line\n")
        assert_next_request_works(host)


def test_flood_of_progress_is_counted(rows_file: Path) -> None:
    with open_host(bad_candidates.FloodsProgress, rows_file) as host:
        tracemalloc.start()
        try:
            assert len(scan(host, "/bad")) == 3
            assert tracemalloc.get_traced_memory()[1] < HOST_MEMORY
        finally:
            tracemalloc.stop()
        assert host.traffic.progress_messages == 100_000


def test_reason_of_a_process_that_ended_before_the_first_request_is_kept(tmp_path: Path) -> None:
    process = CandidateProcess(Launch(("sh", "-c", "echo no jar >&2")), tmp_path, memory_limit=None)
    assert process.wait_for_exit(10)
    with pytest.raises(ProcessFault, match="ended"):
        process.begin(b"{}\n")
    assert process.stderr == "no jar\n"
    assert process.end("kill").stderr == "no jar\n"


def test_reason_of_a_process_that_ended_between_two_requests_is_kept(tmp_path: Path) -> None:
    script = "echo starting >&2; read x; echo '{}'; read x; echo '{}'; echo disk is full >&2; exit 3"
    process = CandidateProcess(Launch(("sh", "-c", script)), tmp_path, memory_limit=None)
    for number in range(2):
        process.begin(b"{}\n")
        assert process.read_line(time.monotonic() + 10) == b"{}", f"{number=}"
    assert process.wait_for_exit(10)
    with pytest.raises(ProcessFault, match="ended"):
        process.begin(b"{}\n")
    assert process.end("kill").stderr == "disk is full\n"


def test_candidate_that_always_crashes_is_given_up(rows_file: Path) -> None:
    with open_host(bad_candidates.Crashes, rows_file) as host:
        for _ in range(6):
            with pytest.raises(Died, match="exited with code 3"):
                scan(host, "/bad")
        for _ in range(2):
            with pytest.raises(GivenUp, match="died after each of 5 restarts in a row"):
                scan(host, "/good")


def test_answer_between_crashes_resets_the_number_of_restarts(rows_file: Path) -> None:
    with open_host(bad_candidates.Crashes, rows_file) as host:
        for _ in range(4):
            with pytest.raises(Died):
                scan(host, "/bad")
        assert_next_request_works(host)
        for _ in range(5):
            with pytest.raises(Died):
                scan(host, "/bad")
        assert_next_request_works(host)


def test_hello_that_differs_after_a_restart_is_a_harness_error(rows_file: Path) -> None:
    with open_host(bad_candidates.ChangesItsMind, rows_file) as host:
        with pytest.raises(Died, match="crash"):
            scan(host, "/bad")
        with pytest.raises(Died, match="harness: answered hello differently after a restart"):
            scan(host, "/good")


def test_order_of_lists_in_hello_may_change(rows_file: Path) -> None:
    with open_host(bad_candidates.ShufflesHello, rows_file) as host:
        for _ in range(2):
            with pytest.raises(Died, match="crash"):
                scan(host, "/bad")
            assert_next_request_works(host)


def test_fork_of_the_host_does_not_kill_the_candidate(rows_file: Path) -> None:
    with open_host(bad_candidates.Good, rows_file) as host:
        process = get_process(host)
        kill_candidate(process.pid, process.marker, os.getpid() + 1)
        assert_next_request_works(host)


def test_host_adds_less_than_five_milliseconds_to_a_request(rows_file: Path) -> None:
    with open_host(bad_candidates.Good, rows_file) as host:
        durations = []
        for _ in range(50):
            start = time.perf_counter()
            scan(host, "/good")
            durations.append(time.perf_counter() - start)
    assert min(durations) < 0.005  # the mean depends on what else the machine does


def test_memory_of_a_group_is_measured_with_ps_elsewhere() -> None:
    group = os.getpgid(0)
    assert measure_group_memory(group) > 10_000_000
    assert measure_with_ps(group) > 10_000_000
    assert measure_with_ps(2**22 + 1) == measure_group_memory(2**22 + 1) == 0
