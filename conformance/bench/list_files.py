"""`python list_files.py TABLE`: load the table with delta-rs and list its files."""

import sys

from deltalake import DeltaTable

print(DeltaTable(sys.argv[1]).get_add_actions().num_rows)
