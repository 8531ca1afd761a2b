"""Imports every module of mutations, so that `MUTATIONS` is complete."""

import deltaspec_generators.mutations_checkpoints
import deltaspec_generators.mutations_claims
import deltaspec_generators.mutations_files
import deltaspec_generators.mutations_log
import deltaspec_generators.mutations_state  # noqa: F401 - registers its mutations, as the others do
from deltaspec_generators.mutations import MUTATIONS

__all__ = ["MUTATIONS"]
