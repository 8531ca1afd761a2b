"""`python list_files.py TABLE`: the rival's whole process: delta-rs loads the table and lists its files."""

import sys

from deltalake import DeltaTable

print(DeltaTable(sys.argv[1]).get_add_actions().num_rows)
