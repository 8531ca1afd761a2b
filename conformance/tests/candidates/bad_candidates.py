"""Candidates that break the protocol, hang, crash or waste memory: `python -I -S bad_candidates.py NAME ROWS`.

A class misbehaves where the table is `/bad`, or in its whole run; any other table has the three rows of the Arrow file
ROWS. Only the standard library is used, so that a process starts in a few milliseconds.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

ROWS = 3


class Good:
    """Answers every request; the base of all others."""

    seq = 0
    scans = 0

    def run(self) -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            self.seq = request["seq"]
            if request.get("table") == "/bad":
                self.misbehave(request)
            else:
                self.answer(request)

    def answer(self, request: dict[str, Any]) -> None:
        match request["op"]:
            case "hello":
                self.send(ok={"name": "bad", "version": "1", "ops": ["snapshot", "scan", "apply"]})
            case "scan":
                self.scans += 1
                self.send_rows(request)
            case "snapshot":
                self.send(ok={"version": 4})
            case "bye":
                self.send(ok={})
                sys.exit(0)

    def misbehave(self, request: dict[str, Any]) -> None:
        self.answer(request)

    def send(self, **fields: Any) -> None:
        self.write(json.dumps({"seq": self.seq, **fields}).encode() + b"\n")

    def send_rows(self, request: dict[str, Any], **fields: Any) -> None:
        shutil.copyfile(sys.argv[2], request["out"])
        self.send(ok={"path": request["out"], "num_rows": ROWS, **fields})

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


class ExitsAtOnce(Good):
    def run(self) -> None:
        print("no licence found", file=sys.stderr)
        sys.exit(7)


class HangsInHello(Good):
    def run(self) -> None:
        time.sleep(1000)


class RefusesHello(Good):
    def answer(self, request: dict[str, Any]) -> None:
        self.send(error={"category": "internal", "message": "no licence found"})


class SpeaksAnotherVersion(Good):
    def answer(self, request: dict[str, Any]) -> None:
        self.send(ok={"name": "bad", "version": "1", "protocol": 2})


class ChangesItsMind(Good):
    """Answers `hello` differently in every process."""

    def answer(self, request: dict[str, Any]) -> None:
        if request["op"] == "hello":
            self.send(ok={"name": "bad", "version": str(os.getpid())})
        else:
            super().answer(request)

    def misbehave(self, request: dict[str, Any]) -> None:
        os._exit(3)


class ShufflesHello(ChangesItsMind):
    """Lists its operations in another order in every process."""

    def answer(self, request: dict[str, Any]) -> None:
        if request["op"] == "hello":
            operations = ["snapshot", "scan"]
            self.send(ok={"name": "bad", "version": "1", "ops": operations[:: 1 if os.getpid() % 2 else -1]})
        else:
            super().answer(request)


class HangsInScan(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        print("waiting for a lock", file=sys.stderr, flush=True)
        time.sleep(1000)


class IgnoresSigterm(HangsInScan):
    def misbehave(self, request: dict[str, Any]) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().misbehave(request)


class DoesNotRead(Good):
    """Closes stdin, so that the next request cannot be delivered, and stays."""

    def misbehave(self, request: dict[str, Any]) -> None:
        self.answer(request)
        os.close(0)
        time.sleep(1000)


class SendsProgressForever(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        while True:
            self.send(progress={"note": "still scanning", "done": 1})
            time.sleep(0.02)


class SendsProgress(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        for _ in range(8):
            time.sleep(0.2)
            self.send(progress={})
        self.answer(request)


class PrintsToStdout(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.write(b"scanning /bad ...\n")
        self.answer(request)


class PrintsAfterTheAnswer(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.answer(request)
        time.sleep(0.05)
        self.write(b"done\n")


class SendsWrongSeq(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.seq += 1
        self.answer(request)


class AnswersTwice(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        answer = json.dumps({"seq": self.seq, "error": {"category": "io"}}).encode() + b"\n"
        self.write(answer + answer)


class SendsLongLine(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send(ok={"version": 1, "domains": {"d": "x" * (9 * 1024 * 1024)}})


class SendsEndlessLine(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        while True:
            self.write(b'{"seq":' + b" " * 1024 * 1024)


class SendsInvalidUtf8(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.write(b'{"seq": %d, "error": {"category": "io", "message": "caf\xe9"}}\n' % self.seq)


class SendsJsonArray(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.write(b"[1]\n")


class SendsDeepJson(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.write(b'{"seq": %d, "ok": %s}\n' % (self.seq, b"[" * 1_000_000 + b"]" * 1_000_000))


class SendsNothingInTheAnswer(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send()


class SendsOkAndError(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send(ok={}, error={"category": "io"})


class SendsUnknownCategory(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send(error={"category": "strange"})


class SendsWrongTypes(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send_rows(request, num_rows="3")


class SendsHugeVersion(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.write(b'{"seq": %d, "ok": {"version": %s}}\n' % (self.seq, b"9" * 10_000))


class SendsNegativeCount(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send_rows(request, num_rows=-1)


class SendsWrongNumRows(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send_rows(request, num_rows=4)


class SendsAnotherPath(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send_rows(request, path="/etc/passwd")


class WritesNoFile(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send(ok={"path": request["out"], "num_rows": ROWS})


class TruncatesTheFile(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        with open(sys.argv[2], "rb") as source, open(request["out"], "wb") as target:
            target.write(source.read()[:-30])
        self.send(ok={"path": request["out"], "num_rows": ROWS})


class WritesAPipe(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        os.mkfifo(request["out"])
        self.send(ok={"path": request["out"], "num_rows": ROWS})


class WritesALink(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        os.symlink("/dev/zero", request["out"])
        self.send(ok={"path": request["out"], "num_rows": ROWS})


class WritesASparseFile(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        with open(request["out"], "wb") as file:
            file.truncate(1 << 40)
        self.send(ok={"path": request["out"], "num_rows": ROWS})


class CrashesInSecondScan(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        if self.scans:
            print("double free", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        self.answer(request)


class Crashes(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        os._exit(3)


class ClosesStdout(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        os.close(1)
        time.sleep(1000)


class ExitsAfterTheAnswer(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.answer(request)
        os._exit(5)


class LeaksMemory(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        kept = []
        while True:
            kept.append(os.urandom(4 * 1024 * 1024))
            time.sleep(0.005)


class StartsGrandchild(Good):
    """Starts one process in its group and one in a session of its own, both with its stdout, and crashes."""

    def misbehave(self, request: dict[str, Any]) -> None:
        command = [sys.executable, "-I", "-S", "-c", "import time; print(end='', flush=True); time.sleep(1000)"]
        for is_own_session in (False, True):
            subprocess.Popen(command, start_new_session=is_own_session)
        os._exit(3)


class SendsNotANumber(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.write(b'{"seq": %d, "error": {"category": "io", "message": "", "retryable": NaN}}\n' % self.seq)


class SendsInfinity(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        self.send(ok={"path": request["out"], "num_rows": float("inf")})


class FloodsProgress(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        line = json.dumps({"seq": self.seq, "progress": {"done": 1}}).encode() + b"\n"
        for _ in range(100):
            self.write(line * 1000)
        self.answer(request)


class FloodsStderr(Good):
    def misbehave(self, request: dict[str, Any]) -> None:
        line = b"x" * 1023 + b"\n"
        for _ in range(1024):
            os.write(2, line * 1024)  # 1 GiB in all
        os.write(2, b"the last line\n")
        os._exit(3)


if __name__ == "__main__":
    globals()[sys.argv[1]]().run()
