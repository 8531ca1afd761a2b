"""Spark's hash partitioning of file actions into parts of a checkpoint. Source: Multi-part checkpoint.

The protocol names the algorithm without defining it (S28). It is 32-bit Murmur3 with seed 42. Bytes after the last
complete word are mixed in one by one, each sign-extended to a word. Each value's hash is the seed of the next one.
"""

from collections.abc import Iterable

SEED = 42
_WORD = 0xFFFFFFFF


def hash_text(text: str, seed: int = SEED) -> int:
    """Return the hash of a string's UTF-8 bytes as an unsigned 32-bit number."""
    data = text.encode("utf-8", "surrogatepass")
    whole = len(data) - len(data) % 4
    state = seed
    for at in range(0, whole, 4):
        state = _mix(state, int.from_bytes(data[at : at + 4], "little"))
    for byte in data[whole:]:
        state = _mix(state, byte if byte < 0x80 else byte | 0xFFFFFF00)
    return _finish(state ^ len(data))


def compute_spark_hash(values: Iterable[str | None]) -> int:
    """Return the hash of several columns of a row: each hash seeds the next, and null leaves it unchanged."""
    state = SEED
    for value in values:
        state = state if value is None else hash_text(value, state)
    return state


def compute_part(values: Iterable[str | None], parts: int) -> int:
    """Return the part, counted from 1, of a row with these keys: the signed hash modulo `parts`."""
    state = compute_spark_hash(values)
    signed = state - (1 << 32) if state >= 1 << 31 else state
    return signed % parts + 1


def _mix(state: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _WORD
    word = _turned(word, 15) * 0x1B873593 & _WORD
    return (_turned(state ^ word, 13) * 5 + 0xE6546B64) & _WORD


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def _finish(state: int) -> int:
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    return state ^ state >> 16
