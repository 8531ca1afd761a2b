"""Base tables that planted faults and permissions start from."""
