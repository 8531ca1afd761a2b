"""Measure time and memory of deltaspec compared with other programs: `nox -s bench`, `nox -s bench-scale`."""
