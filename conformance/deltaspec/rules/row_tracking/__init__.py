"""Rules over row tracking: assigned and materialized row ids, and their history."""
