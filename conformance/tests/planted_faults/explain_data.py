"""Write what the installed `deltaspec explain` and `deltaspec requirements` show of planted faults and permissions.

python -m planted_faults.explain_data      (in conformance/tests; `nox -s explain_data` does it)
"""

import json
import warnings
from collections import defaultdict

from planted_faults.log_examples import build_example, encode_examples

from deltaspec.log_examples import FILE
from deltaspec.requirement_coverage import PERMISSIONS_FILE
from deltaspec.rules import RULES
from planted_tables.permissions.all_permissions import PERMISSIONS


def encode_permissions() -> bytes:
    """Return the content of `permissions.json`, with one line for each requirement that a permission uses."""
    names = defaultdict(list)
    for permission in PERMISSIONS.values():
        names[permission.requirement].append(permission.name)
    lines = [f"{json.dumps(requirement)}: {json.dumps(names[requirement])}" for requirement in sorted(names)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def main() -> None:
    """Write both files."""
    warnings.simplefilter("ignore")
    PERMISSIONS_FILE.write_bytes(encode_permissions())
    examples = {code: example for code in RULES if (example := build_example(code)) is not None}
    FILE.write_bytes(encode_examples(examples))
    print(f"{len(PERMISSIONS)} permissions, {PERMISSIONS_FILE.stat().st_size:,} bytes")
    print(f"{len(examples)} of {len(RULES)} rules have an example, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
