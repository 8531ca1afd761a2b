"""Permissions: valid tables that use what the protocol permits."""
