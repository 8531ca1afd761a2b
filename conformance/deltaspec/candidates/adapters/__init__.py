"""Adapters of known engines: one module each, with a class `Engine` for `candidates.serve`."""
