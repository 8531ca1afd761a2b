"""Check checkpoints, version checksums and log compactions of a table that a client wrote for a case for writers.

    pip install pyarrow
    python check_derived.py CASE TABLE

CASE is a folder that `deltaspec golden export DIR --format writers` wrote, and TABLE the table after its write spec.
Each derived file is compared with the commits of the same table, and with what the case states. The exit code is 1 if
something is wrong.
"""

import json
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq

CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(?:\d{10}\.\d{10}|[0-9a-f-]{36}))?\.(?:parquet|json)")
COMPACTION = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
COMPARED = ("partitionValues", "size", "modificationTime", "baseRowId", "defaultRowCommitVersion")


def read_lines(path):
    """Return the actions of a file with one JSON object a line, as (kind, body)."""
    lines = path.read_text("utf-8").splitlines()
    return [pair for line in lines if line.strip() for pair in json.loads(line).items()]


def identify(body):
    """Return what identifies a data file: its path and its deletion vector."""
    vector = body.get("deletionVector") or {}
    return body["path"], vector.get("storageType"), vector.get("pathOrInlineDv"), vector.get("offset")


class State:
    """The state of a table after some actions."""

    def __init__(self):
        self.live, self.gone, self.transactions, self.domains, self.metadata = {}, set(), {}, {}, {}

    def apply(self, actions):
        """Apply the actions of one commit; its order has no meaning, so files are removed first."""
        for kind, body in sorted(actions, key=lambda pair: pair[0] != "remove"):
            if kind == "remove":
                self.live.pop(identify(body), None)
                self.gone.add(identify(body))
            elif kind == "add":
                self.live[identify(body)] = body
                self.gone.discard(identify(body))
            elif kind == "txn":
                self.transactions[body["appId"]] = body["version"]
            elif kind == "domainMetadata":
                self.domains[body["domain"]] = None if body["removed"] else body["configuration"]
            elif kind == "metaData":
                self.metadata = body
        return self


def replay(log, first, last):
    """Return the state after the commits of a range of versions."""
    state = State()
    for version in range(first, last + 1):
        state.apply(read_lines(log / f"{version:020}.json"))
    return state


def read_rows(path):
    """Return the actions of a checkpoint file as (kind, body), with maps as dictionaries and without nulls."""
    if path.suffix == ".json":
        return read_lines(path)
    rows = pq.read_table(path).to_pylist(maps_as_pydicts="strict")
    return [(kind, body) for row in rows for kind, body in row.items() if body is not None]


def check_checkpoint(log, version, paths, expected, count):
    """Yield what is wrong with a checkpoint."""
    actions = [action for path in paths for action in read_rows(path)]
    sidecars = [body["path"] for kind, body in actions if kind == "sidecar"]
    actions += [action for name in sidecars for action in read_rows(log / "_sidecars" / name)]
    found, wanted = State().apply(actions), replay(log, 0, version)
    for key in wanted.live.keys() ^ found.live.keys():
        yield f"{'misses' if key in wanted.live else 'has'} the file {key[0]}"
    for key in wanted.live.keys() & found.live.keys():
        for name in COMPARED:
            ours, theirs = wanted.live[key].get(name), found.live[key].get(name)
            if ours != theirs:
                yield f"{name} of {key[0]} is {theirs}, but {ours} in the commit"
    for name in ("transactions", "domains"):
        ours, theirs = ({key: each for key, each in getattr(state, name).items() if each is not None}
                        for state in (wanted, found))  # fmt: skip
        if ours != theirs:
            yield f"{name} are {theirs}, but {ours} in the commits"
    yield from compare_stated(found, expected)
    records = [json.loads(body["stats"]).get("numRecords") for body in wanted.live.values() if body.get("stats")]
    deleted = sum((body.get("deletionVector") or {}).get("cardinality", 0) for body in wanted.live.values())
    if (
        count is not None
        and len(records) == len(found.live)
        and None not in records
        and sum(records) - deleted != count
    ):
        yield f"its files have {sum(records) - deleted} rows, expected {count}"


def compare_stated(found, expected):
    """Yield which actions of a case a checkpoint does not have."""
    for kind, body in expected:
        if kind == "txn" and found.transactions.get(body["appId"]) != body["version"]:
            yield f"misses the transaction {body}"
        if kind == "domainMetadata" and found.domains.get(body["domain"]) != body["configuration"]:
            yield f"misses the domain {body}"
        if kind == "metaData":
            names = [
                field["name"] for field in json.loads(found.metadata.get("schemaString", '{"fields": []}'))["fields"]
            ]
            configuration = found.metadata.get("configuration") or {}
            if names != body["columns"]:
                yield f"has the columns {names}, expected {body['columns']}"
            if list(found.metadata.get("partitionColumns") or []) != body["partitionColumns"]:
                yield f"has the partition columns {found.metadata.get('partitionColumns')}"
            if not body["configuration"].items() <= configuration.items():
                yield f"has the configuration {configuration}, expected {body['configuration']}"


def check_checksum(log, version, path, expected):
    """Yield what is wrong with a version checksum."""
    found, wanted = json.loads(path.read_text("utf-8")), replay(log, 0, version)
    sizes = {"numFiles": len(wanted.live), "tableSizeBytes": sum(body["size"] for body in wanted.live.values())}
    for name, value in {**sizes, "numMetadata": 1, "numProtocol": 1}.items():
        if found.get(name) != value:
            yield f"{name} is {found.get(name)}, expected {value}"
    for name, key in (("setTransactions", "appId"), ("domainMetadata", "domain")):
        listed = {each[key]: each for each in found.get(name) or []}
        for each in expected.get(name, ()) if found.get(name) is not None else ():
            if not each.items() <= listed.get(each[key], {}).items():
                yield f"{name} has {listed.get(each[key])}, expected {each}"


def check_compaction(log, first, last, path):
    """Yield what is wrong with a log compaction."""
    found, wanted = State().apply(read_lines(path)), replay(log, first, last)
    for what, ours, theirs in (("added", wanted.live, found.live), ("removed", wanted.gone, found.gone)):
        for key in set(ours) ^ set(theirs):
            yield f"{'misses' if key in ours else 'has'} the {what} file {key[0]}"


def list_problems(case, table):
    """Yield the problems of all derived files of a table, and the derived files of the case that are missing."""
    log = table / "_delta_log"
    specs = {(spec["type"], spec["version"]): (path.stem, spec.get("x-deltaspec", {}))
             for path in sorted((case / "specs").glob("*.json"))
             if (spec := json.loads(path.read_text("utf-8")))["type"] in ("checkpoint", "crc")}  # fmt: skip
    checkpoints, done = {}, set()
    for path in sorted(log.iterdir()):
        if match := CHECKPOINT.fullmatch(path.name):
            checkpoints.setdefault(int(match[1]), []).append(path)
        elif match := COMPACTION.fullmatch(path.name):
            yield from (f"{path.name} {each}" for each in check_compaction(log, int(match[1]), int(match[2]), path))
        elif re.fullmatch(r"\d{20}\.crc", path.name):
            done.add(("crc", version := int(path.stem)))
            _, stated = specs.get(("crc", version), ("", {}))
            yield from (
                f"{path.name}: {each}" for each in check_checksum(log, version, path, stated.get("expected", {}))
            )
    for version, paths in checkpoints.items():
        done.add(("checkpoint", version))
        stem, stated = specs.get(("checkpoint", version), ("", {}))
        expected = pq.read_table(case / "expected" / stem / "expected_data").to_pylist() if stem else []
        rows = [(each["kind"], json.loads(each["action"])) for each in expected]
        problems = check_checkpoint(log, version, paths, rows, stated.get("rows"))
        yield from (f"checkpoint {version} {each}" for each in problems)
    yield from (f"{kind} of version {version} is missing" for kind, version in sorted(specs.keys() - done))


if __name__ == "__main__":
    found = list(list_problems(Path(sys.argv[1]), Path(sys.argv[2])))
    print("\n".join(found) or "all derived files are right")
    sys.exit(bool(found))
