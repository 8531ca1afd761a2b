"""Random damage of a table on disk: bytes flipped, files deleted or truncated, log files deleted, fields changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

Damage = Callable[[Path, Random], str | None]
DAMAGES: dict[str, Damage] = {}
_KEPT = ("commitInfo",)


def _register(name: str) -> Callable[[Damage], Damage]:
    def register(damage: Damage) -> Damage:
        DAMAGES[name] = damage
        return damage

    return register


def draw_damage(table: Path, seed: int) -> tuple[str, str]:
    """Damage a table; return the kind of damage, and what was done."""
    random = Random(seed)
    names = list(DAMAGES)
    name = names[seed % len(names)]
    for _ in range(len(names)):
        done = DAMAGES[name](table, random)
        if done is not None:
            return name, done
        name = names[(names.index(name) + 1) % len(names)]
    raise AssertionError(f"no damage is possible in {table}")


def _list(table: Path, *, log: bool) -> list[Path]:
    files = [path for path in sorted(table.rglob("*")) if path.is_file() and path.stat().st_size]
    return [path for path in files if ("_delta_log" in path.parts) is log]


def _change_file(path: Path, content: bytes, done: str, table: Path) -> str:
    path.write_bytes(content)
    return f"{path.relative_to(table)}: {done}"


@_register("bytes of a data file flipped")
def flip_data(table: Path, random: Random) -> str | None:
    """Flip bits of up to three bytes of a data file or vector."""
    return _flip(table, random, _list(table, log=False))


@_register("bytes of a log file flipped")
def flip_log(table: Path, random: Random) -> str | None:
    """Flip bits of up to three bytes of a file of the log."""
    return _flip(table, random, _list(table, log=True))


def _flip(table: Path, random: Random, files: list[Path]) -> str | None:
    if not files:
        return None
    path = random.choice(files)
    content = bytearray(path.read_bytes())
    places = [random.randrange(len(content)) for _ in range(random.randint(1, 3))]
    for place in places:
        content[place] ^= 1 << random.randrange(8)
    return _change_file(path, bytes(content), f"bytes {places} flipped", table)


@_register("data file deleted")
def delete_data(table: Path, random: Random) -> str | None:
    """Delete a data file or vector."""
    files = _list(table, log=False)
    return _delete(table, random.choice(files)) if files else None


@_register("log file deleted")
def delete_log(table: Path, random: Random) -> str | None:
    """Delete a file of the log."""
    return _delete(table, random.choice(_list(table, log=True)))


def _delete(table: Path, path: Path) -> str:
    path.unlink()
    return f"{path.relative_to(table)}: deleted"


@_register("data file truncated")
def truncate_data(table: Path, random: Random) -> str | None:
    """Cut off the end of a data file or vector."""
    files = _list(table, log=False)
    return _truncate(table, random, random.choice(files)) if files else None


@_register("log file truncated")
def truncate_log(table: Path, random: Random) -> str | None:
    """Cut off the end of a file of the log."""
    return _truncate(table, random, random.choice(_list(table, log=True)))


def _truncate(table: Path, random: Random, path: Path) -> str:
    content = path.read_bytes()
    length = random.randrange(len(content))
    return _change_file(path, content[:length], f"truncated to {length} bytes", table)


@_register("field of the log changed")
def change_field(table: Path, random: Random) -> str | None:
    """Change, add or remove a field of an action in a commit."""
    commits = sorted((table / "_delta_log").glob("*.json"))
    commits = [each for each in commits if each.stem.isdigit()]
    random.shuffle(commits)
    for path in commits:
        lines = path.read_text("utf-8").splitlines()
        numbers = [number for number, line in enumerate(lines) if not line.startswith('{"commitInfo"')]
        if not numbers:
            continue
        number = random.choice(numbers)
        try:
            action: dict[str, Any] = json.loads(lines[number])
        except ValueError:
            continue
        done = _change(action, random)
        if done is not None:
            lines[number] = json.dumps(action, ensure_ascii=False, separators=(",", ":"))
            content = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
            return _change_file(path, content, f"line {number + 1}: {done}", table)
    return None


def _change(action: dict[str, Any], random: Random) -> str | None:
    kind, body = next(iter(action.items()))
    if kind in _KEPT or not isinstance(body, dict) or not body:
        return None
    name = random.choice(sorted(body))
    value = body[name]
    if name == "stats" and isinstance(value, str):
        changed = _change_statistics(value, random)
        if changed is not None:
            body[name] = changed
            return f"{kind}.stats changed"
    match value:
        case bool():
            body[name] = not value
        case int():
            body[name] = max(0, value + random.choice((-1, 1, 1000)))
        case str() if value:
            place = random.randrange(len(value))
            body[name] = value[:place] + random.choice("aZ0 %") + value[place + 1 :]
        case dict() if value:
            key = random.choice(sorted(value))
            del value[key]
            return f"{kind}.{name}.{key} removed"
        case _:
            del body[name]
            return f"{kind}.{name} removed"
    return f"{kind}.{name} changed"


def _change_statistics(text: str, random: Random) -> str | None:
    try:
        statistics = json.loads(text)
    except ValueError:
        return None
    groups = [each for each in ("minValues", "maxValues", "nullCount") if statistics.get(each)]
    if not groups or random.random() < 0.3:
        if "numRecords" not in statistics:
            return None
        statistics["numRecords"] += random.choice((-1, 1))
        return json.dumps(statistics)
    values = statistics[random.choice(groups)]
    name = random.choice(sorted(values))
    match values[name]:
        case bool():
            values[name] = not values[name]
        case int() | float():
            values[name] += random.choice((-1, 1, 1000))
        case str():
            values[name] = "zzz" if random.random() < 0.5 else ""
        case _:
            return None
    return json.dumps(statistics)
