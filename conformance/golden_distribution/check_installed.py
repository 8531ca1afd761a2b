"""Check the installed package `deltaspec-golden`: every file of every case is there, with the hash of the index."""

import hashlib
import sys

import deltaspec_golden

cases = deltaspec_golden.find_cases()
wrong = [
    f"{case['path']}/{path}"
    for case in deltaspec_golden.load_index()["cases"]
    for path, file in case["files"].items()
    if hashlib.sha256((cases / case["path"] / path).read_bytes()).hexdigest() != file["sha256"]
]
if wrong or not deltaspec_golden.load_index()["cases"]:
    sys.exit(f"{len(wrong)} files are damaged, for example {wrong[:1]}")
