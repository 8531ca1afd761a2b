"""Kill `repair apply` at random moments, let it race with writers, and write `reports/repair-apply.md`.

    python -m repair.apply_campaign --kills 200 --races 60 --seed 1      (in conformance/tests; `nox -s repair_apply`)

A trial starts from a damaged table with a plan. After each kill the table must be readable, and no file of the log may
have changed except as the plan states. The same command then continues, or `--undo` undoes, and may be killed as well.
In a race a writer appends rows while the plan is applied: exactly the rows that the plan declares are lost.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
from deltalake import DeltaTable
from helpers.killed_runs import RunServer, start_run_server
from helpers.repair_plans import LOST, read_true_state, write_damaged_table, write_wrong_checkpoint

from deltaspec.candidates.host import Candidate, Died, Host, Refused
from deltaspec.candidates.messages import ApplyAnswer
from deltaspec.candidates.registry import find_launch
from deltaspec.faults.bench import request
from deltaspec.faults.workload import Workload, build_create
from deltaspec.output_files import write_file
from deltaspec.repair.journal import JOURNAL_FILE
from deltaspec.repair.plan_format import RepairPlan
from deltaspec.repair.planner import plan_repair

PAGE = Path(__file__).parents[3] / "reports/repair-apply.md"
ENGINES = ("deltalake", "delta-spark")
MOST_RUNS = 12
"""Runs of one trial with kills; the last one is not killed."""
HEAD = """# Repairs that are killed or raced

`nox -s repair_apply` writes this page. `deltaspec repair apply` is killed (SIGKILL) before a random step that changes a
file, or up to 10 ms later. The same command continues, or `--undo` undoes, and may be killed again. After each kill
delta-rs reads the table, no commit differs, and every file that is gone has its copy in the plan. At the end the log
and the rows are those that the plan declares, or the log is the one before.

In the races a writer appends rows at a random moment of the application. Every acknowledged row exists once, only the
rows are lost that the plan declares, no commit is overwritten, and delta-rs reads the files that the commits define.

"""


class Damaged(msgspec.Struct, frozen=True):
    """A damaged table with its plan, and copies of both."""

    place: Path
    rows_after: frozenset[int]
    """Ids of the rows that the plan leaves."""

    @property
    def table(self) -> Path:
        return self.place / "t"

    @property
    def plan(self) -> Path:
        return self.place / "plan"

    def save(self) -> None:
        for each in (self.table, self.plan):
            shutil.copytree(each, each.with_suffix(".saved"))

    def restore(self) -> None:
        for each in (self.table, self.plan):
            shutil.rmtree(each)
            shutil.copytree(each.with_suffix(".saved"), each)

    def read_log(self) -> dict[str, bytes]:
        return read_log(self.table)

    def read_plan(self) -> RepairPlan:
        return msgspec.json.decode((self.plan / "plan.json").read_bytes(), type=RepairPlan)


def read_log(table: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted((table / "_delta_log").rglob("*")):
        if path.is_file():
            found[path.relative_to(table / "_delta_log").as_posix()] = path.read_bytes()
    return found


def is_commit(name: str) -> bool:
    return name.endswith(".json") and name[:20].isdigit() and len(name) == 25


def main() -> None:
    """Run the campaign and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--races", type=int, default=60, help="divided among the engines")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=PAGE)
    arguments = parser.parse_args()
    lines, faults = [], []
    with tempfile.TemporaryDirectory() as folder, start_run_server() as server:
        started = time.monotonic()
        counts, found = run_kills(server, Path(folder), arguments.kills, arguments.seed)
        faults += found
        lines += render("Kills", counts, arguments.seed, time.monotonic() - started)
        engines = [each for each in arguments.engines.split(",") if each and arguments.races]
        for engine in engines:
            started = time.monotonic()
            number = arguments.races // len(engines)
            counts, found = run_races(server, Path(folder), engine, number, arguments.seed)
            faults += found
            lines += render(f"Races with {engine}", counts, arguments.seed, time.monotonic() - started)
    lines += ["## Faults", "", *(f"- {each}" for each in faults or ["none"])]
    write_file(arguments.output, (HEAD + "\n".join(lines) + "\n").encode())
    sys.exit(1 if faults else 0)


def render(title: str, counts: Counter[str], seed: int, seconds: float) -> list[str]:
    rows = [f"| {name} | {number:,} |" for name, number in sorted(counts.items())]
    return [f"## {title}", "", f"Seed {seed}, {seconds:,.0f} s.", "", "| what | number |", "|-|-|", *rows, ""]


def build_small_table(place: Path) -> Damaged:
    """A missing file, and a checkpoint and hint that omit another file."""
    damaged = Damaged(place, frozenset(range(20, 30)))
    write_damaged_table(damaged.table)
    plan_repair(str(damaged.table), output=str(damaged.plan), level="files")
    damaged.save()
    return damaged


def build_history(place: Path) -> Damaged:
    """The same, and the plan sets aside all older files of the log."""
    damaged = Damaged(place, frozenset(range(20, 30)))
    write_damaged_table(damaged.table)
    commit = damaged.table / "_delta_log/00000000000000000001.json"
    commit.write_bytes(commit.read_bytes() + commit.read_bytes().splitlines(keepends=True)[-1])
    plan_repair(str(damaged.table), output=str(damaged.plan), level="files", choose=["history=set-aside"])
    damaged.save()
    return damaged


def run_kills(server: RunServer, folder: Path, number: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Kill applications until there were `number` kills; return counts and faults."""
    counts, faults = Counter[str](), list[str]()
    tables = [build_small_table(folder / "small"), build_history(folder / "history")] if number else []
    steps = {}
    for each in tables:
        counted, error = server.apply(each.plan)
        assert counted is not None, each.place
        assert not error, (each.place, error)
        steps[each.place.name] = counted
    rng = random.Random(f"deltaspec repair kills {seed}")
    while counts["kills"] < number:
        damaged = rng.choice(tables)
        damaged.restore()
        counts["trials"] += 1
        try:
            kill_until_done(server, damaged, rng, steps[damaged.place.name], counts)
        except AssertionError as fault:
            faults.append(f"kill trial {counts['trials']}, {damaged.place.name}: {fault}")
    return counts, faults


def kill_until_done(server: RunServer, damaged: Damaged, rng: random.Random, steps: int, counts: Counter[str]) -> None:
    """Apply and undo a plan with kills, until one of both ends; check the table after each run."""
    before = damaged.read_log()
    undoing = False
    for run in range(MOST_RUNS):
        kill_at = rng.randint(1, steps) if run < MOST_RUNS - 1 else None
        seconds = rng.choice([0.0, rng.uniform(0.0, 0.01)])
        done, error = server.apply(damaged.plan, kill_at, seconds, undo=undoing)
        if done is None:
            counts["kills"] += 1
            counts["kills during undo"] += undoing
            check_after_kill(damaged, before, counts)
            has_begun = b'"begin"' in (damaged.plan / JOURNAL_FILE).read_bytes() if has_journal(damaged) else False
            undoing = undoing or (has_begun and rng.random() < 0.3)
            continue
        assert error == "", error
        if undoing:
            check_undone(damaged, before)
            counts["undone"] += 1
        else:
            check_applied(damaged, before)
            counts["applied"] += 1
        return


def has_journal(damaged: Damaged) -> bool:
    return (damaged.plan / JOURNAL_FILE).exists()


def check_after_kill(damaged: Damaged, before: dict[str, bytes], counts: Counter[str]) -> None:
    """Check that readers get one of the states before and after, and that nothing but the planned files changed."""
    now = damaged.read_log()
    plan = damaged.read_plan()
    aside = {each.name for each in (*plan.set_aside, *plan.set_aside_after)}
    for name, data in before.items():
        if name not in now:
            copy = damaged.plan / "aside" / name
            assert name in aside, f"{name} is gone"
            assert copy.read_bytes() == data, f"{name} is gone, and its copy differs"
        elif now[name] != data:
            assert name in aside, f"{name} was changed"
            assert now[name] == (damaged.plan / "files" / name).read_bytes(), f"{name} was changed"
    files = {Path(each).name for each in DeltaTable(str(damaged.table)).file_uris()}
    assert files in ({LOST}, {LOST, "c.parquet"}, set(), {"c.parquet"}), f"delta-rs reads {files}"
    counts["reads after kills"] += 1


def check_applied(damaged: Damaged, before: dict[str, bytes]) -> None:
    now = damaged.read_log()
    plan = damaged.read_plan()
    aside = {each.name for each in (*plan.set_aside, *plan.set_aside_after)}
    created = {path.name: path.read_bytes() for path in (damaged.plan / "files").iterdir()}
    expected = {name: data for name, data in before.items() if name not in aside} | created
    assert now == expected, f"the log has {sorted(now)}, expected {sorted(expected)}"
    ids = DeltaTable(str(damaged.table)).to_pyarrow_table(columns=["id"])["id"].to_pylist()
    assert sorted(ids) == sorted(damaged.rows_after), f"delta-rs reads the ids {sorted(ids)}"


def check_undone(damaged: Damaged, before: dict[str, bytes]) -> None:
    now, commit = damaged.read_log(), damaged.read_plan().commit
    assert commit is not None
    left = {name: data for name, data in now.items() if name != commit.name}
    assert left == before, f"the log has {sorted(now)}, expected {sorted(before)}"


def run_races(server: RunServer, folder: Path, engine: str, number: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Let a writer append while a plan is applied; return counts and faults."""
    counts, faults = Counter[str](), list[str]()
    rng = random.Random(f"deltaspec repair races {engine} {seed}")
    with Host(find_launch(engine)) as host:
        base = build_written_table(host, folder / engine)
        started = time.monotonic()
        server.apply(copy_table(base, folder / engine / "first").plan)
        seconds = time.monotonic() - started
        for trial in range(number):
            place = copy_table(base, folder / engine / f"trial-{trial}")
            counts["trials"] += 1
            try:
                race(server, host, place, rng, rng.uniform(0, 1.1) * seconds, counts)
            except AssertionError as fault:
                faults.append(f"race {trial} with {engine}: {fault}")
            shutil.rmtree(place.place)
    return counts, faults


def build_written_table(host: Candidate, place: Path) -> Damaged:
    """A table that an engine wrote, without one of its files, and with a checkpoint that omits another one."""
    damaged = Damaged(place, frozenset())
    damaged.table.mkdir(parents=True)
    workload = Workload(random.Random(0), ("append",), 0)
    for step in (build_create((), {}), *(workload.build_append(20) for _ in range(3))):
        request(host, damaged.table, step, place)
    lost, other, *_ = sorted(add.path for add in read_true_state(damaged.table).snapshot.files.values())
    write_wrong_checkpoint(damaged.table, other)
    (damaged.table / lost).unlink()
    plan_repair(str(damaged.table), output=str(damaged.plan), level="files")
    return damaged


def copy_table(base: Damaged, place: Path) -> Damaged:
    """Copy a table and its plan to a location that no engine has in a cache."""
    copy = Damaged(place, base.rows_after)
    shutil.copytree(base.table, copy.table)
    shutil.copytree(base.plan, copy.plan)
    path = copy.plan / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "table": str(copy.table)}), "utf-8")
    return copy


def race(
    server: RunServer, host: Candidate, damaged: Damaged, rng: random.Random, delay: float, counts: Counter[str]
) -> None:
    """Apply a plan, and let a writer append after a delay."""
    before, plan = damaged.read_log(), damaged.read_plan()
    base_ids = read_ids(damaged.table)
    workload = Workload(rng, ("append",), 1_000_000)
    steps = [workload.build_append(rng.randint(1, 20)) for _ in range(rng.randint(1, 3))]
    answers: list[ApplyAnswer | Refused | Died] = []

    def append() -> None:
        time.sleep(delay)
        for step in steps:
            try:
                answers.append(request(host, damaged.table, step, damaged.place))
            except (Refused, Died) as fault:
                answers.append(fault)

    writer = threading.Thread(target=append)
    writer.start()
    _, error = server.apply(damaged.plan)
    writer.join()
    has_lost = "make a new plan" in error
    assert not error or has_lost, error
    acknowledged = [step for step, answer in zip(steps, answers, strict=True) if isinstance(answer, ApplyAnswer)]
    counts["the plan was applied" if not error else "another writer was first: nothing was changed"] += 1
    counts["appends acknowledged"] += len(acknowledged)
    counts["appends refused"] += len(steps) - len(acknowledged)
    check_commits(damaged, before, len(acknowledged) + (not error), plan, is_applied=not error)
    expected = base_ids + Counter(row["id"] for step in acknowledged for row in step.operation["rows"])
    assert read_ids(damaged.table) == expected, "rows were lost or duplicated"
    counts["rows compared"] += expected.total()
    if has_lost:
        again = damaged.place / "again"
        plan_repair(str(damaged.table), output=str(again), level="files")
        _, error = server.apply(again)
        assert error == "", error
        assert read_ids(damaged.table) == expected, "rows were lost or duplicated by the second plan"
    live = {Path(each).name for each in DeltaTable(str(damaged.table)).file_uris()}
    true = {add.path for add in read_true_state(damaged.table).snapshot.files.values()}
    assert live == true, f"delta-rs reads {len(live)} files, and the commits define {len(true)}"


def check_commits(
    damaged: Damaged, before: dict[str, bytes], number: int, plan: RepairPlan, *, is_applied: bool
) -> None:
    """Check that no commit was overwritten, and that every acknowledged one exists."""
    now = damaged.read_log()
    assert not [name for name in now if name.startswith(".deltaspec")], "temporary files are left"
    changed = [name for name in before if is_commit(name) and now.get(name) != before[name]]
    assert changed == [], f"commits were changed: {changed}"
    new = sorted(name for name in now if is_commit(name) and name not in before)
    first = plan.version + 1
    assert new == [f"{first + index:020}.json" for index in range(number)], f"new commits: {new}, expected {number}"
    assert plan.commit is not None
    ours = (damaged.plan / "files" / plan.commit.name).read_bytes()
    assert [now[name] == ours for name in new].count(True) == is_applied, "the commit of the plan is not as reported"
    if is_applied:
        assert now[plan.commit.name] == ours


def read_ids(table: Path) -> Counter[int]:
    """Return the ids of the rows of all live files that exist, as the commits define them."""
    paths = [table / add.path for add in read_true_state(table).snapshot.files.values()]
    return Counter(
        each for path in paths if path.exists() for each in pq.read_table(path, columns=["id"])["id"].to_pylist()
    )


if __name__ == "__main__":
    main()
