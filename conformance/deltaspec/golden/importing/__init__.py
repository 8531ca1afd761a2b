"""Read cases that others published: DAT 0.0.3, acceptance workloads, and plain folders of tables."""
