"""Ids of bugs that a validator should find in a table after the write."""

_NUMBERS = {
    "cdf": [3, 4, 6],
    "ckpt": [1, 2, 3, 4, 11, 12, 16, 18],
    "clean": [1, 2],
    "cm": [3, 4, 5, 7, 9, 12, 16, 17],
    "crc": [1, 4],
    "dv": [4, 7, 11, 12, 13, 16],
    "ict": [1],
    "lc": [1],
    "log": [1, 6, 9, 13, 17, 18],
    "part": [2, 5, 6, 8, 9, 12],
    "path": [3, 10],
    "proto": [1, 2, 8, 11],
    "rt": [1, 2],
    "stat": [1, 2, 3, 4, 9, 11, 12, 14, 15, 16, 20, 21, 23, 26],
    "txn": [1],
    "vac": [4],
    "wr": [1, 2, 3, 4, 5, 7, 8],
}

IDS = frozenset(f"{area}-{number:03}" for area, numbers in _NUMBERS.items() for number in numbers)
