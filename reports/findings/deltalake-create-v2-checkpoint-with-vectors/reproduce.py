"""Create a table with v2 checkpoints and deletion vectors: delta-rs panics.

python reproduce.py        # needs deltalake
"""

import tempfile

from deltalake import DeltaTable, Schema

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.checkpointPolicy": "v2"}

with tempfile.TemporaryDirectory() as directory:
    DeltaTable.create(f"{directory}/table", Schema.from_json(SCHEMA), configuration=PROPERTIES)
