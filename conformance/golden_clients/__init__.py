"""Run the test harnesses of other clients, unmodified, on the exported golden tables."""
