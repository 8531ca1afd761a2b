"""Base tables that mutations and permissions start from."""
