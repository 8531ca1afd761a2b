"""The log: file names, segments, reconciliation, checkpoints, compactions, checksums, clean-up."""
